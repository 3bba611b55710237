"""The rules, each a function whose docstring is what a user reads of it.

Codes are grouped by subject and never used for another rule: CP0 comments of lint itself, CP1
constants of jaxprs, CP2 classes and parameters of jaxprs, CP3 the flag, CP4 captured arrays, CP5
lowered modules, compiled programs and printed jaxprs.
"""

from importlib import import_module
from pkgutil import iter_modules

from parity_tests.lint.ignores import CODE, EXPLANATION, TITLE
from parity_tests.lint.rule import Rule

_FILES = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
_FOUND = [each for file in _FILES for each in vars(file).values() if isinstance(each, Rule)]
RULES = tuple(sorted(_FOUND, key=lambda each: each.code))
TITLES = {CODE: TITLE, **{each.code: each.title for each in RULES}}
EXPLANATIONS = {CODE: EXPLANATION, **{each.code: each.explanation for each in RULES}}
CODES = tuple(TITLES)
