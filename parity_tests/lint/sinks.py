"""Where values go: the list that takes them in, the function that is called with each of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.module import Module, dotted_tail

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
