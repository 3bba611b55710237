"""CP505: the text of a jaxpr is compared.

A printed jaxpr has captured arrays as variables before the semicolon today, and as `[...]` in the
place of operands after the flip; all other variables have other letters then. A text that was kept
is not equal any more, and a hash of it is another one.

What to do: keep one expected text for each form, compare equations and not texts, or search for the
name of a primitive, which stays; searching is not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import dotted_tail
from parity_tests.lint.records import Match

TRIGGER = re.compile(r"jaxpr")

_COMPARERS = ("assertEqual", "assertMultiLineEqual", "assertExpectedInline", "assert_equal", "hash",
              "md5", "sha256", "sha1")  # fmt: skip


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    message = (
        "the text of a jaxpr is compared; captured arrays are printed otherwise after the flip"
    )
    for node in module.nodes(cst.Comparison):
        if all(isinstance(each.operator, cst.Equal | cst.NotEqual) for each in node.comparisons):
            sides = [node.left, *(each.comparator for each in node.comparisons)]
            yield from _texts(kinds, node, sides, message)
    for call in module.nodes(cst.Call):
        if dotted_tail(call.func) in _COMPARERS:
            yield from _texts(kinds, call, [each.value for each in call.args], message)


def _texts(
    kinds: Kinds, node: cst.CSTNode, sides: list[cst.BaseExpression], message: str
) -> Iterator[Match]:
    found = [kinds.of(_stripped(side)) for side in sides]
    texts = [each for each in found if each is not None and each.kind is Kind.JAXPR_TEXT]
    # Two jaxprs of one process are printed in the same form.
    if texts and (len(texts) < 2 or len(texts) < len(sides)):
        yield kinds.module.match(node, message, min(each.confidence for each in texts))


def _stripped(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the text that .strip() and .encode() are called on."""
    while (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in ("strip", "rstrip", "lstrip", "encode", "replace")
    ):
        node = node.func.value
    return node
