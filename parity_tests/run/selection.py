"""Which of the programs that targets name are run: by name, by tag, and by target.

The expression of `-k` is words joined by and, or and not, as pytest has it. A word is true of a
program where it is a part of its name or of a tag, in capitals or not. Python's parser reads the
expression: each word becomes a name first, since "under-jit" or "a.b" is none.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from parity_tests.processes.protocol import Listed
from reports.rows import Row

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

            parse_expression("rlax and scan").value([False, None]) == False
        """
        return _value(self.tree, is_true)


@lru_cache
def parse_expression(expression: str) -> NameExpression:
    """Read an expression. Raises `NameExpressionError`.

    Example::

        parse_expression("scan and not (grad or vmap)")(["scan under jit"]) == True
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


class Selection(Row):
    """What a program must be to be run; without anything, every program is.

    `expression` is that of `-k`. A program has one of the `tags`. `targets` are programs as
    `target_key` writes them; None means all, and an empty tuple none.
    """

    expression: str = ""
    tags: tuple[str, ...] = ()
    targets: tuple[str, ...] | None = None

    def takes(self, program: Listed) -> bool:
        """Say whether a program is run. Raises `NameExpressionError`.

        Example::

            Selection(expression="scan or cond", tags=("slow",)).takes(program)
        """
        return (
            (
                not self.expression.strip()
                or parse_expression(self.expression)([program.name, *program.tags])
            )
            and (not self.tags or bool(set(self.tags) & set(program.tags)))
            and (self.targets is None or target_key(program.target) in self.targets)
        )


def target_key(target: str) -> str:
    """Write a target so that two ways to name one file are one text.

    Example::

        target_key("./programs/../model.py:step") == "model.py:step"
    """
    module_part, colon, name = target.rpartition(":")
    is_file = module_part.endswith(".py") or os.sep in module_part
    return f"{os.path.relpath(module_part) if is_file else module_part}{colon}{name}"
