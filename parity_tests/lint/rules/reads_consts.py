"""CP101: `.consts` of a jaxpr is read as the list of captured arrays.

Today a closed jaxpr has captured arrays in `.consts` (`.literals` is its older name). After the
flip `.consts` is empty: captured arrays are Literals, among `eqn.invars` and `jaxpr.outvars`. Code
that counts, visits, compares or changes `.consts` then finds none, and says nothing about it.

    closed = jax.make_jaxpr(f)(x)
    size = sum(c.nbytes for c in closed.consts)   # 0 after the flip

What to do: find captured arrays in the Literals as well.

    for eqn in closed.jaxpr.eqns:
        for atom in eqn.invars:
            if isinstance(atom, jax.extend.core.Literal):
                ...  # atom.val may be an array of any shape

Code that does with them what it does with the values of Literals is right in both forms, and is not
reported: `found = list(closed.consts)` and then `found.append(atom.val)`, or `visit(const)` and
`visit(atom.val)`, in one function.

Code that hands `.consts` on together with its jaxpr, as `jax.core.eval_jaxpr(closed.jaxpr,
closed.consts, *args)` does, works in both forms and is not reported. Neither is
`zip(jaxpr.constvars, consts)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import Module
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.sinks import sinks_of
from parity_tests.lint.uses import Purpose, Use, uses_of

TRIGGER = re.compile(r"\.(consts|literals)\b")

_SAYS = {
    Purpose.COUNTED: "are counted here",
    Purpose.EACH_VISITED: "are visited here",
    Purpose.INDEXED: "are looked up by number here",
    Purpose.COMPARED: "are compared here",
    Purpose.CHANGED: "are changed here",
    Purpose.ESCAPES: "are passed on here without their jaxpr",
}


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for node in module.nodes(cst.Attribute):
        if node.attr.value not in ("consts", "literals"):
            continue
        value = kinds.of(node)
        if value is None or value.kind is not Kind.CONSTS:
            continue
        found = [each for each in uses_of(module, kinds, node) if each.purpose in _SAYS]
        # What is looked into tells more than what is passed on.
        found.sort(key=lambda use: use.purpose is Purpose.ESCAPES)
        if found and not _goes_with_literals(kinds, node):
            yield _match(module, node, found[0], value.confidence)


def _goes_with_literals(kinds: Kinds, node: cst.Attribute) -> bool:
    """Say whether values of Literals go where the captured arrays go, in the same function."""
    module = kinds.module
    function = module.enclosing(node, cst.FunctionDef)
    sinks = sinks_of(module, node) if function is not None else set()
    return any(
        not sinks.isdisjoint(sinks_of(module, each))
        for each in (module.nodes_in(function, cst.Attribute) if function and sinks else ())
        if each.attr.value == "val"
        and kinds.is_a(each.value, Kind.ATOM)
        and module.enclosing(each, cst.FunctionDef) is function
    )


def _match(module: Module, node: cst.Attribute, use: Use, confidence: Confidence) -> Match:
    line = module.place(use.node).line
    says = _SAYS[use.purpose]
    if line != module.place(node).line:
        says = says.replace("here", f"in line {line}")
    if use.purpose is Purpose.ESCAPES:
        confidence = Confidence.LOW
    name = node.attr.value
    message = f"captured arrays {says}; after the flip `.{name}` is empty and they are Literals"
    return module.match(node, message, confidence)
