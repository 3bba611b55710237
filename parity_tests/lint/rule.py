"""What a rule is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from parity_tests.lint.kinds import Kinds
from parity_tests.lint.records import Match


@dataclass(frozen=True)
class Rule:
    """What a rule looks for, and what its user can do.

    `trigger` is searched in the text of a file first: a file without it is not parsed.
    """

    code: str
    title: str
    explanation: str
    trigger: re.Pattern[str]
    check: Callable[[Kinds], Iterator[Match]]

    @classmethod
    def read(cls, module: ModuleType) -> Rule:
        """Read the rule of a module, whose docstring is "CODE: title." and the explanation."""
        head, _, explanation = (inspect.getdoc(module) or "").partition("\n\n")
        code, _, title = head.partition(": ")
        return cls(code, title.removesuffix("."), explanation, module.TRIGGER, module.check)
