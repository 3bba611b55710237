"""What a rule is: a function whose docstring is what a user reads of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from parity_tests.lint.kinds import Kinds
from parity_tests.lint.records import Match

Check: TypeAlias = Callable[[Kinds], Iterator[Match]]


@dataclass(frozen=True)
class Rule:
    """What a rule looks for, and what its user can do.

    `trigger` is searched in the text of a file first: a file without it is not parsed.
    """

    code: str
    title: str
    explanation: str
    trigger: re.Pattern[str]
    check: Check


def rule(trigger: re.Pattern[str]) -> Callable[[Check], Rule]:
    """Make a rule of a function, whose docstring is "CODE: title." and the explanation."""

    def made(check: Check) -> Rule:
        head, _, explanation = (inspect.getdoc(check) or "").partition("\n\n")
        code, _, title = head.partition(": ")
        return Rule(code, title.removesuffix("."), explanation, trigger, check)

    return made
