"""The rules, one file each, whose docstring is what a user reads of it.

Codes are grouped by subject and never used for another rule: CP0 comments of lint itself, CP1
constants of jaxprs, CP2 classes and parameters of jaxprs, CP3 the flag, CP4 captured arrays, CP5
lowered modules, compiled programs and printed jaxprs.
"""

from importlib import import_module
from pkgutil import iter_modules

from parity_tests.lint.ignores import CODE, EXPLANATION, TITLE
from parity_tests.lint.rule import Rule

_FILES = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
RULES = tuple(sorted(map(Rule.read, _FILES), key=lambda rule: rule.code))
TITLES = {CODE: TITLE, **{rule.code: rule.title for rule in RULES}}
EXPLANATIONS = {CODE: EXPLANATION, **{rule.code: rule.explanation for rule in RULES}}
CODES = tuple(TITLES)
