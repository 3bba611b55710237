"""The expression of `-k`: words joined by and, or and not, as pytest has it.

A word is true of a program where it is a part of its name or of a tag, in capitals or not. Python's
parser reads the expression: each word becomes a name first, since "under-jit" or "a.b" is none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_WORD = re.compile(r"[^\s()]+")
_OPERATORS = ("and", "or", "not")


class NameExpressionError(ValueError):
    """An expression cannot be read; the message has it and says how one is written."""


@dataclass(frozen=True)
class NameExpression:
    """An expression that was read: its words, in small letters, and what joins them."""

    words: tuple[str, ...]
    tree: ast.expr

    def __call__(self, texts: Sequence[str]) -> bool:
        """Say whether the expression is true of these texts."""
        return bool(self.value([any(w in t.lower() for t in texts) for w in self.words]))

    def value(self, is_true: Sequence[bool | None]) -> bool | None:
        """Say whether the expression is true, of which word each is; None where it is not known.

        Example::

            parse("rlax and scan").value([False, None]) == False
        """
        return _value(self.tree, is_true)


@lru_cache
def parse(expression: str) -> NameExpression:
    """Read an expression. Raises `NameExpressionError`.

    Example::

        parse("scan and not (grad or vmap)")(["scan under jit"]) == True
    """
    words: list[str] = []

    def named(match: re.Match[str]) -> str:
        if match[0] in _OPERATORS:
            return match[0]
        words.append(match[0].lower())
        return f"w{len(words) - 1}"

    try:
        tree = ast.parse(f"({_WORD.sub(named, expression)})", mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise _unreadable(expression) from error
    if any(not isinstance(node, _ALLOWED) for node in ast.walk(tree)):
        raise _unreadable(expression)
    return NameExpression(tuple(words), tree)


_ALLOWED = (ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.Name, ast.Load)


def _value(node: ast.expr, is_true: Sequence[bool | None]) -> bool | None:
    if isinstance(node, ast.BoolOp):
        # What is false decides an `and`, and what is true an `or`, whatever is not known.
        decides = isinstance(node.op, ast.Or)
        values = [_value(each, is_true) for each in node.values]
        if decides in values:
            return decides
        return None if None in values else not decides
    if isinstance(node, ast.UnaryOp):
        value = _value(node.operand, is_true)
        return None if value is None else not value
    assert isinstance(node, ast.Name)
    return is_true[int(node.id[1:])]


def _unreadable(expression: str) -> NameExpressionError:
    return NameExpressionError(
        f"cannot read {expression!r}: write words, parts of names or tags, joined by and, or and "
        "not, as in 'scan and not grad'"
    )
