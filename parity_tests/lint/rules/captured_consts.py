"""The rules of captured arrays as `.consts` and constvars of jaxprs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import Module, dotted_tail, keyword_of
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.rule import rule
from parity_tests.lint.uses import Purpose, Use, uses_of

_SAYS = {
    Purpose.COUNTED: "are counted here",
    Purpose.EACH_VISITED: "are visited here",
    Purpose.INDEXED: "are looked up by number here",
    Purpose.COMPARED: "are compared here",
    Purpose.CHANGED: "are changed here",
    Purpose.ESCAPES: "are passed on here without their jaxpr",
}


@rule(re.compile(r"\.(consts|literals)\b"))
def reads_consts(kinds: Kinds) -> Iterator[Match]:
    """CP101: `.consts` of a jaxpr is read as the list of captured arrays.

    Today a closed jaxpr has captured arrays in `.consts` (`.literals` is its older name). After the
    flip they are Literals, among `eqn.invars` and `jaxpr.outvars`; tracers of an outer function and
    typed keys (`jax.random.key`) alone stay in `.consts`. Code that counts, visits, compares or
    changes `.consts` then finds no array, and says nothing about it.

        closed = jax.make_jaxpr(f)(x)
        size = sum(c.nbytes for c in closed.consts)   # 0 after the flip

    What to do: find captured arrays in the Literals as well.

        for eqn in closed.jaxpr.eqns:
            for atom in eqn.invars:
                if isinstance(atom, jax.extend.core.Literal):
                    ...  # atom.val may be an array of any shape, or a number

    Code that does with them what it does with the values of Literals is right in both forms, and is
    not reported: `found = list(closed.consts)` and then `found.append(atom.val)`, or `visit(const)`
    and `visit(atom.val)`, in one function.

    Code that hands `.consts` on together with its jaxpr, as `jax.core.eval_jaxpr(closed.jaxpr,
    closed.consts, *args)` does, works in both forms and is not reported. Neither is
    `zip(jaxpr.constvars, consts)`.
    """
    module = kinds.module
    for node, value in kinds.attributes(Kind.CONSTS, "consts", "literals"):
        found = [each for each in uses_of(kinds, node) if each.purpose in _SAYS]
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
    message = f"captured arrays {says}; after the flip they are Literals, and not in `.{name}`"
    return module.match(node, message, confidence)


_OWN = re.compile(r"(^|_)(consts?|const_?vals?|literals|const_args|closed_over)(_|$|\d)", re.I)


@rule(re.compile(r"\b(eval_jaxpr|ClosedJaxpr)\b|\bconsts="))
def replaces_consts(kinds: Kinds) -> Iterator[Match]:
    """CP102: other values replace the captured arrays of a jaxpr.

    Code that evaluates a jaxpr with other values than its own `.consts` changes the captured arrays
    of a program: `jax.core.eval_jaxpr(closed.jaxpr, new_values, x)`. After the flip the jaxpr has
    no constvars, and this raises because there are more values than variables; values that were
    taken from `.consts` one by one are none, and nothing is changed.

    What to do: make the arrays arguments of the traced function, and pass other values there. From
    JAX 0.11.1 on, `jax.jit(f).trace(x).closure_convert()` makes the captured arrays arguments.
    """
    for call in kinds.module.nodes(cst.Call):
        values = _values(kinds, call)
        confidence = _confidence(kinds, values) if values is not None else None
        if values is not None and confidence is not None:
            yield kinds.module.match(
                values,
                "other values stand for the captured arrays of a jaxpr; "
                "after the flip it has no constvars that could take them",
                confidence,
            )


def _values(kinds: Kinds, call: cst.Call) -> cst.BaseExpression | None:
    """Return what a call gives to a jaxpr as its captured arrays."""
    name, args = kinds.module.last_name(call.func), call.args
    named = keyword_of(call, "consts")
    if name in ("eval_jaxpr", "ClosedJaxpr"):
        if len(args) < 2 or not kinds.is_a(args[0].value, Kind.JAXPR):
            return None
        return named or (args[1].value if not args[1].star and not args[1].keyword else None)
    if name == "replace" and isinstance(call.func, cst.Attribute):
        return named if kinds.is_a(call.func.value, Kind.JAXPR) else None
    return None


def _confidence(kinds: Kinds, values: cst.BaseExpression) -> Confidence | None:
    """Return how sure it is that these are not the jaxpr's own captured arrays; None if they are.

    What a name or an unknown call holds may be the jaxpr's own.
    """
    if kinds.is_a(values, Kind.CONSTS):
        return None
    if isinstance(values, cst.List | cst.Tuple):
        is_made = any(isinstance(each, cst.Element) for each in values.elements)
        return Confidence.HIGH if is_made else None
    if isinstance(values, cst.ListComp | cst.GeneratorExp):
        return Confidence.HIGH if kinds.is_a(values.for_in.iter, Kind.CONSTS) else Confidence.LOW
    code = kinds.module.code(values)
    return None if any(map(_OWN.search, re.findall(r"\w+", code))) else Confidence.LOW


_CONSTVARS_ARE = {**_SAYS, Purpose.ESCAPES: "are passed on here without their values"}
_UNSURE = (Purpose.EACH_VISITED, Purpose.ESCAPES)


@rule(re.compile(r"\.constvars\b"))
def reads_constvars(kinds: Kinds) -> Iterator[Match]:
    """CP103: `.constvars` of a jaxpr is read as the variables of captured arrays.

    Today the captured arrays of a jaxpr have variables, its `.constvars`. After the flip there are
    none: captured arrays are Literals. Code that counts constvars, numbers them or looks variables
    up among them then takes a program for one that captures nothing.

        is_constant = atom in jaxpr.constvars   # never true after the flip

    What to do: look for Literals as well, `isinstance(atom, jax.extend.core.Literal)`, before the
    atom is looked up: a Literal cannot be hashed.

    Code that pairs constvars with `.consts`, or takes them together with `.invars`, works in both
    forms and is not reported. Neither is a loop that gives each constvar a value.
    """
    module = kinds.module
    for node, value in kinds.attributes(Kind.CONSTVARS, "constvars"):
        if value.is_open or is_with_invars(kinds, node):  # those of open jaxprs: CP108
            continue
        found = [each for each in uses_of(kinds, node) if each.purpose in _CONSTVARS_ARE]
        found.sort(key=lambda use: use.purpose in _UNSURE)
        if found:
            purpose = found[0].purpose
            confidence = Confidence.LOW if purpose in _UNSURE else value.confidence
            says = f"constvars {_CONSTVARS_ARE[purpose]}"
            then = "after the flip there are none for captured arrays"
            yield module.match(node, f"{says}; {then}", confidence)


def is_with_invars(kinds: Kinds, node: cst.Attribute) -> bool:
    """Say whether constvars are taken together with invars, or given to a new jaxpr."""
    for each in kinds.module.around(node):
        if isinstance(each, cst.Arg) and each.keyword is not None:
            return each.keyword.value == "constvars"
        if isinstance(each, cst.BaseStatement | cst.BaseSmallStatement):
            return False
        if isinstance(each, cst.BinaryOperation | cst.List | cst.Tuple | cst.Call):
            code = kinds.module.code(each)
            if re.search(r"\binvars\b", code):
                return True
    return False


# -- where values go: the list that takes them in, the function that is called with each -----------

# The result of these calls holds their arguments.
_KEEPERS = (
    "list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "chain", "enumerate", "sum",
    "max", "any", "all", "len", "asarray", "array", "shape", "tree_leaves", "filter", "dict", "zip",
)  # fmt: skip
_MAPS = ("map", "tree_map", "safe_map")
_TAKERS = ("append", "extend", "add", "update", "insert", "appendleft", "setdefault")


def sinks_of(module: Module, node: cst.CSTNode) -> set[str]:
    """Return the places, of the same function, that the values of an expression go to.

    These are "found" for `found += values` and `found.append(value)`, "visit()" for a call with a
    value or with each of them, and "yield".

    Example::

        sinks_of(module, node) == {"found"}
    """
    return set(_Sinks(module).of(node))


class _Sinks:
    """Follows each expression once, for names may depend on themselves."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.seen: set[cst.CSTNode] = set()

    def of(self, node: cst.CSTNode) -> Iterator[str]:
        parent = self.module.parent(node)
        if parent is None or node in self.seen:
            return
        self.seen.add(node)
        if isinstance(parent, cst.Arg):
            yield from self._of_argument(parent)
        elif isinstance(parent, cst.For | cst.CompFor) and parent.iter is node:
            for name in _names_in(parent.target):
                for access in self.module.accesses(name):
                    yield from self.of(access)
        elif isinstance(parent, cst.Assign):
            for target in parent.targets:
                if isinstance(target.target, cst.Name):
                    yield target.target.value
                    for access in self.module.accesses(target.target):
                        yield from self.of(access)
        elif isinstance(parent, cst.AugAssign) and parent.value is node:
            yield self.module.code(parent.target)
        elif isinstance(parent, cst.Yield | cst.From):
            yield "yield"
        elif _holds(parent, node):
            yield from self.of(parent)

    def _of_argument(self, arg: cst.Arg) -> Iterator[str]:
        call = self.module.parent(arg)
        if not isinstance(call, cst.Call):
            return
        name = dotted_tail(call.func)
        if name in _TAKERS and isinstance(call.func, cst.Attribute):
            yield self.module.code(call.func.value)
        elif name in _MAPS:
            yield f"{self.module.code(call.args[0].value)}()"
            yield from self.of(call)
        elif name in _KEEPERS:
            yield from self.of(call)
        elif name not in ("isinstance", "type", "print", "zip"):
            yield f"{self.module.code(call.func)}()"
            yield from self.of(call)


def _holds(parent: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Say whether what goes into an expression is, or is of, the value of the one around it."""
    if isinstance(parent, cst.Attribute | cst.Subscript):
        return parent.value is node
    if isinstance(parent, cst.ListComp | cst.GeneratorExp | cst.SetComp):
        return parent.elt is node
    if isinstance(parent, cst.IfExp):
        return parent.test is not node
    return isinstance(
        parent,
        cst.BinaryOperation
        | cst.Element
        | cst.StarredElement
        | cst.List
        | cst.Tuple
        | cst.Set
        | cst.NamedExpr,
    )


def _names_in(target: cst.BaseExpression) -> Iterator[cst.Name]:
    if isinstance(target, cst.Name):
        yield target
    elif isinstance(target, cst.Tuple | cst.List):
        for each in target.elements:
            yield from _names_in(each.value)
