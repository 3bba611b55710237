"""CP104: the value of a Literal is used as a scalar.

Today a Literal holds a scalar. After the flip it may hold any captured array. `float(atom.val)`,
`atom.val == 0` in a condition, `hash(atom.val)` and `atom.val.item()` then raise, or decide by one
element.

What to do: ask for the shape first, `if atom.aval.shape == ():`, and treat other Literals as arrays
that are known. Code that returns `atom.val` as the value of an atom works in both forms and is not
reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import dotted_tail
from parity_tests.lint.records import Confidence, Match

TRIGGER = re.compile(r"\.val\b")

_SCALAR = ("float", "int", "bool", "complex", "hash", "round")
_SHAPE = re.compile(r"\b(shape|ndim|size|isscalar|item_size|is_scalar)\b")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for node in module.nodes(cst.Attribute):
        if node.attr.value != "val":
            continue
        value = kinds.of(node.value)
        if value is None or value.kind is not Kind.ATOM:
            continue
        how = _as_scalar(kinds, node)
        # An assertion is about a program whose Literals are known.
        is_asserted = module.enclosing(node, cst.Assert) is not None
        if how and not is_asserted and not _asks_for_shape(kinds, node):
            message = f"{how}; after the flip a Literal may hold a captured array of any shape"
            yield module.match(node, message, min(value.confidence, Confidence.HIGH))


def _as_scalar(kinds: Kinds, node: cst.Attribute) -> str:
    parent = kinds.module.parent(node)
    call = kinds.module.parent(parent) if parent is not None else None
    if isinstance(parent, cst.Arg) and isinstance(call, cst.Call):
        name = dotted_tail(call.func)
        return f"{name}() of a Literal's value" if name in _SCALAR else ""
    if isinstance(parent, cst.Attribute) and parent.attr.value in ("item", "__hash__"):
        return f".{parent.attr.value}() of a Literal's value"
    if isinstance(parent, cst.Comparison | cst.ComparisonTarget) and not _is_identity(kinds, node):
        return "a Literal's value is compared as a scalar"
    if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
        return "a Literal's value is taken for true or false"
    if isinstance(parent, cst.If | cst.While):
        return "a Literal's value is taken for true or false"
    return ""


def _is_identity(kinds: Kinds, node: cst.Attribute) -> bool:
    comparison = kinds.module.enclosing(node, cst.Comparison)
    operators = comparison.comparisons if comparison is not None else ()
    return all(isinstance(each.operator, cst.Is | cst.IsNot) for each in operators)


def _asks_for_shape(kinds: Kinds, node: cst.Attribute) -> bool:
    function = kinds.module.enclosing(node, cst.FunctionDef, cst.Lambda)
    return function is not None and _SHAPE.search(kinds.module.code(function)) is not None
