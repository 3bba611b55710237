"""CP105: a decision by which operands are Literals.

Code that asks whether all or certain operands of an equation are Literals finds scalars today.
After the flip captured arrays are Literals, too: an equation such as `x * table`, with two
variables today, then matches a pattern for a variable and a number, and work on captured arrays
alone counts as work on Literals.

    if tuple(map(type, eqn.invars)) == (Var, Literal): ...   # also `x * table` after the flip

What to do: say what is meant. For numbers ask `atom.aval.shape == ()` as well; for values that are
known let constvars and Literals pass alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import dotted_tail
from parity_tests.lint.records import Confidence, Match

TRIGGER = re.compile(r"\bLiteral\b")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for call in module.nodes(cst.Call):
        if dotted_tail(call.func) in ("all", "any") and len(call.args) == 1:
            asked = _asked_of_each(kinds, call.args[0].value)
            if asked is not None:
                message = (
                    f"{dotted_tail(call.func)}() asks whether operands are Literals; "
                    "after the flip captured arrays are"
                )
                yield module.match(call, message, asked)
    for comparison in module.nodes(cst.Comparison):
        confidence = _compares_types(kinds, comparison)
        if confidence is not None:
            yield module.match(
                comparison,
                "the types of operands are compared; after the flip captured arrays are Literals",
                confidence,
            )


def _asked_of_each(kinds: Kinds, node: cst.BaseExpression) -> Confidence | None:
    if not isinstance(node, cst.GeneratorExp | cst.ListComp):
        return None
    test = node.elt
    if isinstance(test, cst.UnaryOperation):
        return None  # "not a Literal": asks for variables, as any reader does
    if not isinstance(test, cst.Call) or dotted_tail(test.func) != "isinstance":
        return None
    if len(test.args) != 2 or not _is_literal(kinds, test.args[1].value):
        return None
    source = kinds.of(node.for_in.iter)
    return source.confidence if source is not None and source.kind is Kind.ATOMS else None


def _compares_types(kinds: Kinds, node: cst.Comparison) -> Confidence | None:
    sides = [node.left, *(each.comparator for each in node.comparisons)]
    if not any(_has_literal(kinds, side) for side in sides):
        return None
    for call in (each for each in sides if isinstance(each, cst.Call)):
        inner = call.args[0].value if call.args else None
        if (
            isinstance(inner, cst.Call)
            and dotted_tail(inner.func) == "map"
            and len(inner.args) == 2
        ):
            source = kinds.of(inner.args[1].value)
            if source is not None and source.kind is Kind.ATOMS:
                return source.confidence
    return None


def _has_literal(kinds: Kinds, node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Tuple | cst.List) and any(
        _is_literal(kinds, each.value) for each in node.elements
    )


def _is_literal(kinds: Kinds, node: cst.BaseExpression) -> bool:
    return dotted_tail(node) == "Literal" and kinds.is_jax_class(node)
