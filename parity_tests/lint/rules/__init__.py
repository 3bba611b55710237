"""The rules, one file each. Codes are grouped by subject and never used for another rule.

CP0 comments of lint itself, CP1 constants of jaxprs, CP2 classes and parameters of jaxprs,
CP3 the flag, CP4 captured arrays, CP5 lowered modules, compiled programs and printed jaxprs.
"""

from parity_tests.lint.ignores import CODE, EXPLANATION, TITLE
from parity_tests.lint.rules import (
    donated_arrays,
    guarded_arrays,
    jaxpr_text,
    literal_as_scalar,
    literal_decides,
    lowered_in_avals,
    memory_analysis,
    module_text,
    open_before_closed,
    outvars_looked_up,
    private_tracing,
    raw_executable,
    reads_consts,
    reads_constvars,
    reads_flag,
    removed_names,
    replaces_consts,
    scan_params,
    sets_flag,
    unwraps_forever,
    written_arrays,
)

RULES = (
    reads_consts.RULE,
    replaces_consts.RULE,
    reads_constvars.RULE,
    literal_as_scalar.RULE,
    literal_decides.RULE,
    outvars_looked_up.RULE,
    private_tracing.RULE,
    unwraps_forever.RULE,
    open_before_closed.RULE,
    removed_names.RULE,
    scan_params.RULE,
    reads_flag.RULE,
    sets_flag.RULE,
    written_arrays.RULE,
    donated_arrays.RULE,
    guarded_arrays.RULE,
    module_text.RULE,
    raw_executable.RULE,
    lowered_in_avals.RULE,
    memory_analysis.RULE,
    jaxpr_text.RULE,
)
TITLES = {CODE: TITLE, **{rule.code: rule.title for rule in RULES}}
EXPLANATIONS = {CODE: EXPLANATION, **{rule.code: rule.explanation for rule in RULES}}
CODES = tuple(TITLES)
