"""The rules, one file each, whose docstring is what a user reads of it.

Codes are grouped by subject and never used for another rule: CP0 comments of lint itself, CP1
constants of jaxprs, CP2 classes and parameters of jaxprs, CP3 the flag, CP4 captured arrays, CP5
lowered modules, compiled programs and printed jaxprs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from parity_tests.lint.ignores import CODE, EXPLANATION, TITLE
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


_FILES = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
RULES = tuple(sorted(map(Rule.read, _FILES), key=lambda rule: rule.code))
TITLES = {CODE: TITLE, **{rule.code: rule.title for rule in RULES}}
EXPLANATIONS = {CODE: EXPLANATION, **{rule.code: rule.explanation for rule in RULES}}
CODES = tuple(TITLES)
