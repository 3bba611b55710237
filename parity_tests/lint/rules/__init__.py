"""The rules, one file each. Codes are grouped by subject and never used for another rule.

CP0 comments of lint itself, CP1 constants of jaxprs, CP2 classes and parameters of jaxprs,
CP3 the flag, CP4 captured arrays, CP5 lowered modules, compiled programs and printed jaxprs.
"""

from parity_tests.lint.ignores import CODE, EXPLANATION, TITLE
from parity_tests.lint.rules import reads_consts

RULES = (reads_consts.RULE,)
TITLES = {CODE: TITLE, **{rule.code: rule.title for rule in RULES}}
EXPLANATIONS = {CODE: EXPLANATION, **{rule.code: rule.explanation for rule in RULES}}
CODES = tuple(TITLES)
