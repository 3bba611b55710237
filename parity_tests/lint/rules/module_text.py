"""CP501: the text of a module is searched for constants or numbered arguments.

Today captured arrays are constants in a lowered module. After the flip they are arguments of its
main function, before those of the user, with the attribute `jax.const`. Code that searches the
text for constants finds fewer, and arguments that are named by their number, `%arg0`, are others.

What to do: look for a captured array among constants and arguments alike, and count the arguments
without `jax.const = true`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import text_of
from parity_tests.lint.records import Confidence, Match

TRIGGER = re.compile(r"as_text\(")

_CONSTANT = re.compile(r"constant|dense<")
_ARGUMENT = re.compile(r"%arg\d|@main\(|parameter\(\d")
_SEARCHES = ("find", "count", "index", "rfind", "split", "search", "findall", "finditer", "match",
             "fullmatch", "startswith", "assertIn", "assertNotIn", "assertRegex", "check_count",
             "contains", "sub")  # fmt: skip


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for text in module.nodes(cst.SimpleString, cst.ConcatenatedString):
        content = text_of(text)
        if content is None or not (_CONSTANT.search(content) or _ARGUMENT.search(content)):
            continue
        confidence = _searched(kinds, text)
        if confidence is None:
            continue
        what = (
            "constants; after the flip captured arrays are arguments"
            if _CONSTANT.search(content)
            else "numbered arguments; after the flip captured arrays come before them"
        )
        yield module.match(text, f"the text of a module is searched for {what}", confidence)


def _searched(kinds: Kinds, text: cst.CSTNode) -> Confidence | None:
    """Return how sure it is that a text is searched for in that of a module; None if it is not."""
    above = kinds.module.parent(text)
    if isinstance(above, cst.Comparison):
        return _best(kinds, [each.comparator for each in above.comparisons])
    call = kinds.module.parent(above) if isinstance(above, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return None
    function = call.func
    name = function.attr.value if isinstance(function, cst.Attribute) else ""
    name = function.value if isinstance(function, cst.Name) else name
    if name not in _SEARCHES:
        return None
    others: list[cst.BaseExpression] = [each.value for each in call.args]
    if isinstance(function, cst.Attribute):
        others.append(function.value)
    return _best(kinds, others)


def _best(kinds: Kinds, nodes: list[cst.BaseExpression]) -> Confidence | None:
    found = [kinds.of(node) for node in nodes]
    return max(
        (each.confidence for each in found if each and each.kind is Kind.MODULE_TEXT), default=None
    )
