"""The rules of captured arrays that moved: from constvars to invars, and out of a traced stage."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds, Value
from parity_tests.lint.kinds.values import CONVERTERS
from parity_tests.lint.module import Module, dotted_tail
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.rule import rule
from parity_tests.lint.rules.captured_consts import is_with_invars
from parity_tests.lint.uses import Purpose, uses_of

_PAIR = ("zip", "map", "safe_map", "safe_zip", "unsafe_map", "_safe_map", "dict", "partial",
         "len", "enumerate")  # fmt: skip


@rule(re.compile(r"\btrace_to_jaxpr"))
def private_tracing(kinds: Kinds) -> Iterator[Match]:
    """CP107: invars of private tracing are paired with own inputs.

    `trace_to_jaxpr_dynamic` is a private function of JAX. Until 0.11.0 the captured arrays of its
    jaxpr are in `.constvars`; from 0.11.1 on they lead `.invars`; after the flip they are Literals.
    Code that pairs `.invars` with its own inputs, or numbers them, fails in one of these forms
    ("length mismatch"), or pairs the wrong ones.

    What to do: trace with `jax.make_jaxpr`, whose `.jaxpr.invars` are the arguments in every form
    and version. Pairing these is not reported.
    """
    for node, value in _numbered(kinds):
        if value.is_private:
            message = (
                "invars of private tracing are paired with own inputs; captured arrays are among "
                "them in some versions of JAX"
            )
            yield kinds.module.match(node, message, value.confidence)


def _numbered(kinds: Kinds) -> Iterator[tuple[cst.Attribute, Value]]:
    """Yield invars of jaxprs that are counted, numbered or paired with something."""
    for node, value in kinds.attributes(Kind.INVARS, "invars"):
        if is_with_constvars(kinds, node):
            continue
        call = kinds.module.enclosing(node, cst.Call)
        is_paired = call is not None and dotted_tail(call.func) in _PAIR
        parent = kinds.module.parent(node)
        if is_paired or (isinstance(parent, cst.Subscript) and parent.value is node):
            yield node, value


def is_with_constvars(kinds: Kinds, node: cst.CSTNode) -> bool:
    """Say whether invars are taken together with constvars."""
    for each in kinds.module.around(node):
        if isinstance(each, cst.BaseStatement | cst.BaseSmallStatement):
            return False
        if re.search(r"\bconstvars\b", kinds.module.code(each)):
            return True
    return False


@rule(re.compile(r"\bconstvars\b|\bJaxpr\("))
def open_constvars(kinds: Kinds) -> Iterator[Match]:
    """CP108: constvars are read from an open jaxpr.

    Until JAX 0.11.0 a jaxpr that is made with `Jaxpr(constvars=...)`, and without values, has these
    variables in `.constvars`. From 0.11.1 on the constvars of a jaxpr are those that have values:
    here `.constvars` is empty, and the variables lead `.invars`. Code that looks up values for
    `.constvars`, or counts `.invars`, then passes too few, or pairs the wrong ones.

        body = Jaxpr(constvars=outer, invars=[x], outvars=outs, eqns=eqns)
        eval_jaxpr(body, [env[v] for v in body.constvars], x)   # [] from 0.11.1 on

    What to do: keep the list that the jaxpr was made with, or split
    `[*jaxpr.constvars, *jaxpr.invars]` by the number of own inputs; this sequence is the same in
    all versions. A jaxpr that is closed first, `ClosedJaxpr(body, values)`, has its constvars in
    all versions, and is not reported.
    """
    module = kinds.module
    for node, value in kinds.attributes(Kind.CONSTVARS, "constvars"):
        if is_with_invars(kinds, node):
            continue
        if value.is_open and _is_used(module, node):
            yield module.match(node, f"{_OPEN} `.constvars` is empty", value.confidence)
        elif not value.is_open and _is_looked_up(module, node):
            confidence = min(value.confidence, Confidence.MEDIUM)
            message = "values are looked up for constvars; where the jaxpr is open, from JAX 0.11.1"
            yield module.match(node, f"{message} on there are none", confidence)
    for node, value in _numbered(kinds):
        if value.is_open:
            message = f"{_OPEN} its constvars lead `.invars`"
            yield module.match(node, message, value.confidence)


_OPEN = "this jaxpr was made with constvars and no values; from JAX 0.11.1 on"


def _is_used(module: Module, node: cst.Attribute) -> bool:
    """Say whether constvars are read, and not only handed to the same jaxpr made anew."""
    call = module.enclosing(node, cst.Call)
    return call is None or dotted_tail(call.func) not in ("replace", "Jaxpr")


def _is_looked_up(module: Module, node: cst.Attribute) -> bool:
    """Say whether each constvar is looked up in a table that this function does not fill with it.

    A table of a closed jaxpr is filled from `.consts` and is right in all versions.
    """
    loop = module.parent(node)
    if not isinstance(loop, cst.CompFor) or not isinstance(loop.target, cst.Name):
        return False
    function = module.enclosing(node, cst.FunctionDef)
    if function is None or len(re.findall(r"\bconstvars\b", module.code(function.body))) > 1:
        return False
    return any(_is_key(module, each) for each in module.accesses(loop.target))


def _is_key(module: Module, access: cst.CSTNode) -> bool:
    index = module.parent(access)
    return isinstance(index, cst.Index) and index.value is access


_LOOKED_INTO = (Purpose.COUNTED, Purpose.EACH_VISITED, Purpose.INDEXED, Purpose.COMPARED,
                Purpose.CHANGED)  # fmt: skip


@rule(re.compile(r"\.(closure_convert|with_consts_as_arg)\("))
def converted_consts(kinds: Kinds) -> Iterator[Match]:
    """CP109: the captured arrays that a traced stage hands out are relied on.

    `consts, fun = jax.jit(f).trace(x).closure_convert()` and `.with_consts_as_arg()`, from JAX
    0.11.1 on, return the captured arrays of a program today. After the flip they return none: the
    arrays stay in the program as Literals. Code that casts, counts, places or differentiates these
    arrays then does nothing, and says nothing about it.

        consts, fun = jax.jit(f).trace(x).closure_convert()
        fun([c.astype(jnp.bfloat16) for c in consts], x)   # nothing is cast after the flip

    What to do: make the arrays arguments of the function, `jax.jit(f).trace(weights, x)`.
    Code that only hands them on to the function that was returned, or spreads them into operands,
    works in both forms and is not reported. `jax.closure_convert(f, x)` is another function, which
    hands out values that are being differentiated, today and after the flip.
    """
    for call in kinds.module.nodes(cst.Call):
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in CONVERTERS:
            continue
        traced = kinds.of(call.func.value)
        if traced is None or traced.kind is not Kind.TRACED:
            continue
        message = (
            f"the captured arrays that {call.func.attr.value}() returns are used here; "
            "after the flip it returns none"
        )
        for node in _arrays_of(kinds.module, call):
            sure = _relied_on(kinds, node)
            if sure is not None:
                yield kinds.module.match(node, message, min(sure, traced.confidence))


def _relied_on(kinds: Kinds, node: cst.CSTNode) -> Confidence | None:
    """Return how sure it is that arrays are needed there; None where an empty list does as well."""
    purposes = {each.purpose for each in uses_of(kinds, node)}
    if not purposes.isdisjoint(_LOOKED_INTO):
        return Confidence.HIGH
    call = kinds.module.call_with(node)
    is_own = call is not None and kinds.is_a(call.func, Kind.CONVERTED, Kind.TRACED)
    return Confidence.LOW if Purpose.ESCAPES in purposes and not is_own else None


def _arrays_of(module: Module, call: cst.Call) -> Iterator[cst.CSTNode]:
    """Yield where the first item of what a call returns is read."""
    above = module.parent(call)
    if isinstance(above, cst.Subscript) and module.code(above.slice[0].slice) == "0":
        yield above
    for target in (each.target for each in above.targets) if isinstance(above, cst.Assign) else ():
        if isinstance(target, cst.Tuple | cst.List) and len(target.elements) == 2:
            yield from module.accesses(target.elements[0].value)
        for read in map(module.parent, module.accesses(target)):
            if isinstance(read, cst.Subscript) and module.code(read.slice[0].slice) == "0":
                yield read
