"""What a value is used for: handed on together with its jaxpr, or looked into."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import Module, dotted_tail, is_called


class Purpose(Enum):
    """What a list is used for."""

    HANDED_ON = auto()  # together with its jaxpr, or spread into arguments: the same in both forms
    COUNTED = auto()
    EACH_VISITED = auto()
    INDEXED = auto()
    COMPARED = auto()
    CHANGED = auto()
    ESCAPES = auto()  # returned, stored, or given to a function that is not known


@dataclass(frozen=True)
class Use:
    """A use of a list, and the node that shows it."""

    purpose: Purpose
    node: cst.CSTNode


_WRAPPERS = ("list", "tuple", "copy", "asarray", "array")
_VISITORS = (
    "map", "tree_map", "safe_map", "unsafe_map", "tree_leaves", "leaves", "flatten",
    "tree_flatten", "enumerate", "sum", "any", "all", "sorted", "set", "frozenset", "next", "iter",
    "reversed", "filter", "max", "min", "prod", "zip", "safe_zip", "dict",
)  # fmt: skip
_CHANGERS = ("append", "extend", "insert", "pop", "remove", "clear", "sort")
_EVALUATORS = ("eval_jaxpr", "ClosedJaxpr", "Jaxpr", "jaxpr_as_fun", "core_call", "replace")
_EQUAL = ("assertEqual", "assert_equal")
_MOST_STEPS = 8


def uses_of(kinds: Kinds, node: cst.CSTNode, steps: int = 0) -> Iterator[Use]:
    """Yield what the value of an expression is used for; names are followed in their function."""
    parent = kinds.module.parent(node)
    if isinstance(parent, cst.Arg):
        yield from _as_argument(kinds, parent, steps)
    elif isinstance(parent, cst.Element | cst.StarredElement):
        yield from _as_element(kinds, parent, steps)
    elif isinstance(parent, cst.Assign):
        for target in parent.targets:
            yield from _as_assigned(kinds, target.target, steps)
    elif isinstance(parent, cst.AnnAssign | cst.NamedExpr) and parent.value is node:
        yield from _as_assigned(kinds, parent.target, steps)
    elif isinstance(parent, cst.For | cst.CompFor) and parent.iter is node:
        yield Use(_of_visit(kinds, parent, steps), parent)
    elif isinstance(parent, cst.Subscript) and parent.value is node:
        yield from _as_indexed(kinds, parent, steps)
    elif isinstance(parent, cst.Attribute) and parent.attr.value in _CHANGERS:
        if kinds.is_a(node, Kind.CONSTS, Kind.CONSTVARS) and isinstance(node, cst.Attribute):
            yield Use(Purpose.CHANGED, parent)  # and not a copy of it
    elif isinstance(parent, cst.BinaryOperation | cst.IfExp | cst.BooleanOperation):
        yield from _as_part(kinds, parent, node, steps)
    elif _is_asserted_empty(kinds.module, node):
        yield Use(Purpose.HANDED_ON, node)
    elif isinstance(parent, cst.Comparison | cst.ComparisonTarget):
        yield Use(Purpose.COMPARED, parent)
    elif isinstance(parent, cst.If | cst.While | cst.Assert | cst.UnaryOperation | cst.Match):
        yield Use(Purpose.COUNTED, parent)
    elif not isinstance(parent, cst.Expr | cst.Del):
        yield Use(Purpose.ESCAPES, node)


def _as_argument(kinds: Kinds, arg: cst.Arg, steps: int) -> Iterator[Use]:
    call = kinds.module.parent(arg)
    if not isinstance(call, cst.Call):
        return
    name = dotted_tail(call.func)
    if arg.star == "*" or name in _EVALUATORS or _goes_with_jaxpr(kinds, call, arg):
        yield Use(Purpose.HANDED_ON, call)
    elif name == "len":
        is_same = (
            _is_compared_with_count(kinds, call)
            or _is_bound(kinds.module, call, steps)
            or _is_asserted_empty(kinds.module, call)
        )
        yield Use(Purpose.HANDED_ON if is_same else Purpose.COUNTED, call)
    elif name == "bool":
        yield Use(Purpose.COUNTED, call)
    elif name in _WRAPPERS and steps < _MOST_STEPS:
        yield from uses_of(kinds, call, steps + 1)
    elif name in _VISITORS:
        yield Use(_of_visit(kinds, call, steps), call)
    else:
        yield Use(Purpose.ESCAPES, call)


def _is_asserted_empty(module: Module, node: cst.CSTNode) -> bool:
    """Say whether an assertion says that nothing is captured; it holds after the flip as well."""
    test = module.parent(node)
    if test is None or not isinstance(module.parent(test), cst.Assert):
        return False
    if isinstance(test, cst.UnaryOperation):
        return isinstance(test.operator, cst.Not)
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    [target] = test.comparisons
    nothing = module.code(target.comparator) in ("0", "[]", "()")
    return nothing and isinstance(target.operator, cst.Equal)


def _is_bound(module: Module, count: cst.CSTNode, steps: int) -> bool:
    """Say whether a count only says where the captured arrays end among other values.

    `args[: len(consts)]` and `offset += len(consts)` are right for any count.
    """
    parent = module.parent(count)
    if isinstance(parent, cst.BinaryOperation | cst.AugAssign):
        return isinstance(parent.operator, cst.Add | cst.Subtract | cst.AddAssign)
    if isinstance(parent, cst.Slice):
        return True
    if isinstance(parent, cst.Arg):
        return is_called(module.parent(parent), "slice")
    target = parent.targets[0].target if isinstance(parent, cst.Assign) else None
    if not isinstance(target, cst.Name) or steps >= _MOST_STEPS:
        return False
    found = module.accesses(target)
    return bool(found) and all(_is_bound(module, each, steps + 1) for each in found)


def _is_compared_with_count(kinds: Kinds, count: cst.Call) -> bool:
    """Say whether a count is compared with that of the variables or the values of a jaxpr."""
    above = kinds.module.parent(count)
    if isinstance(above, cst.Arg) and above.keyword and "consts" in above.keyword.value:
        return True  # prim.bind(*consts, num_consts=len(consts))
    if isinstance(above, cst.DictElement) and "consts" in kinds.module.code(above.key):
        return True  # the same, by way of a dictionary
    around = kinds.module.enclosing(count, cst.Comparison, cst.Call)
    if isinstance(around, cst.Comparison):
        sides = [around.left, *(each.comparator for each in around.comparisons)]
    elif isinstance(around, cst.Call) and dotted_tail(around.func) in _EQUAL:
        sides = [each.value for each in around.args]
    else:
        return False
    others = [each for each in sides if each is not count and isinstance(each, cst.Call)]
    return any(
        dotted_tail(each.func) == "len"
        and (
            kinds.is_a(each.args[0].value, Kind.CONSTS, Kind.CONSTVARS)
            or dotted_tail(each.args[0].value) in ("consts", "constvars", "literals")
        )
        for each in others
        if each.args
    )


def _of_visit(kinds: Kinds, node: cst.CSTNode, steps: int) -> Purpose:
    """Return what each element is visited for: to be wrapped for an interpreter, or else.

    `interpret(jaxpr, [wrapped(c) for c in consts])` has as many values as there are constvars.
    """
    made = kinds.module.parent(node) if isinstance(node, cst.CompFor) else node
    if made is None or isinstance(node, cst.For) or steps >= _MOST_STEPS:
        return Purpose.EACH_VISITED
    purposes = {each.purpose for each in uses_of(kinds, made, steps + 1)}
    return Purpose.HANDED_ON if purposes == {Purpose.HANDED_ON} else Purpose.EACH_VISITED


def _goes_with_jaxpr(kinds: Kinds, call: cst.Call, arg: cst.Arg) -> bool:
    """Say whether a call takes the jaxpr, or its variables, beside its captured arrays."""
    return any(
        other is not arg
        and (
            kinds.is_a(_first_part(other.value), *_WITH_CONSTS)
            or "constvars" in kinds.module.code(other.value)
        )
        for other in call.args
    )


_WITH_CONSTS = (Kind.JAXPR, Kind.CONSTVARS, Kind.CONSTS)


def _first_part(node: cst.BaseExpression) -> cst.BaseExpression:
    while isinstance(node, cst.BinaryOperation):
        node = node.left
    return node


def _as_element(
    kinds: Kinds, element: cst.Element | cst.StarredElement, steps: int
) -> Iterator[Use]:
    whole = kinds.module.parent(element)
    if whole is None or steps >= _MOST_STEPS:
        return
    if isinstance(element, cst.StarredElement):  # [*consts, *others] is a list like it
        yield from uses_of(kinds, whole, steps + 1)
        return
    assign = kinds.module.parent(whole)
    place = list(whole.elements).index(element) if isinstance(whole, cst.Tuple) else None
    if isinstance(assign, cst.Assign) and place is not None:
        for target in assign.targets:
            parts = target.target
            if isinstance(parts, cst.Tuple) and place < len(parts.elements):
                yield from _as_assigned(kinds, parts.elements[place].value, steps)
            else:
                yield Use(Purpose.ESCAPES, whole)
    else:
        yield Use(Purpose.ESCAPES, whole)


def _as_assigned(kinds: Kinds, target: cst.CSTNode, steps: int) -> Iterator[Use]:
    if not isinstance(target, cst.Name):
        is_taken_apart = isinstance(target, cst.Tuple | cst.List)
        yield Use(Purpose.INDEXED if is_taken_apart else Purpose.ESCAPES, target)
        return
    found = kinds.module.accesses(target)
    if any(_is_extended(kinds.module, each) for each in found):
        return  # a list that is built from it, for a new jaxpr
    for access in found:
        if steps < _MOST_STEPS:
            yield from uses_of(kinds, access, steps + 1)


def _is_extended(module: Module, access: cst.CSTNode) -> bool:
    parent = module.parent(access)
    return isinstance(parent, cst.Attribute) and parent.attr.value in ("append", "extend")


def _as_indexed(kinds: Kinds, node: cst.Subscript, steps: int) -> Iterator[Use]:
    is_part = any(isinstance(each.slice, cst.Slice) for each in node.slice)
    if is_part and steps < _MOST_STEPS:
        yield from uses_of(kinds, node, steps + 1)
    elif _is_picked(kinds.module, node):
        yield Use(Purpose.HANDED_ON, node)
    else:
        yield Use(Purpose.INDEXED, node)


def _is_picked(module: Module, node: cst.Subscript) -> bool:
    """Say whether a part of the captured arrays is picked for a new jaxpr.

    `ClosedJaxpr(jaxpr, [consts[i] for i in used])` picks as many constvars.
    """
    comprehension = module.parent(node)
    return isinstance(comprehension, cst.ListComp) and is_called(
        module.call_with(comprehension), *_EVALUATORS
    )


def _as_part(kinds: Kinds, parent: cst.CSTNode, node: cst.CSTNode, steps: int) -> Iterator[Use]:
    if isinstance(parent, cst.IfExp) and parent.test is node:
        yield Use(Purpose.COUNTED, parent)
    elif steps < _MOST_STEPS:
        yield from uses_of(kinds, parent, steps + 1)
