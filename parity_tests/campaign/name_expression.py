"""The expression of `-k`: words joined by and, or and not, as pytest has it.

A word is true of a program where it is a part of its name or of a tag, in capitals or not. Python's
parser reads the expression: each word becomes a name first, since "under-jit" or "a.b" is none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

_WORD = re.compile(r"[^\s()]+")
_OPERATORS = ("and", "or", "not")

# Says whether the expression is true of these texts.
Matches = Callable[[Sequence[str]], bool]


class NameExpressionError(ValueError):
    """An expression cannot be read; the message has it and says how one is written."""


@lru_cache
def parse(expression: str) -> Matches:
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
    return lambda texts: _value(tree, [any(w in t.lower() for t in texts) for w in words])


_ALLOWED = (ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.Name, ast.Load)


def _value(node: ast.expr, is_true: Sequence[bool]) -> bool:
    if isinstance(node, ast.BoolOp):
        joined = all if isinstance(node.op, ast.And) else any
        return joined(_value(each, is_true) for each in node.values)
    if isinstance(node, ast.UnaryOp):
        return not _value(node.operand, is_true)
    assert isinstance(node, ast.Name)
    return is_true[int(node.id[1:])]


def _unreadable(expression: str) -> NameExpressionError:
    return NameExpressionError(
        f"cannot read {expression!r}: write words, parts of names or tags, joined by and, or and "
        "not, as in 'scan and not grad'"
    )
