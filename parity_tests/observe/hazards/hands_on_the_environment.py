"""Hazard: all environment variables are copied, or handed on to a process, or all JAX settings are.

JAX's flag is among them, so the copy is another one after the flip, and the process may decide by
it. Look-alike: a program that does so and is traced alike in both forms; it is not listed. Nor is
it where another read explains more.
"""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.advice import advice
from parity_tests.observe.environment import FLAG
from parity_tests.observe.hazards.both_forms import BothForms, read_at
from reports.rows import Hazard

_NAME = "the environment with JAX's flag"
_FIX = advice("environment", variable=FLAG.upper())
# These are read in passing, and are listed only where the program changes, too.
_WEAK = ("environment", "text", "equations")


def find(both: BothForms) -> Iterator[Hazard]:
    """Find the lines that copy the environment or hand it on, where nothing else is read."""
    told = list(both.told())
    if any(each.site.subject not in _WEAK for each in told):
        return
    for each in told:
        if each.site.subject == "environment" and (each.changes or each.in_calls):
            before, after = each.before.count, each.after.count
            sees = f"in legacy the flag is {before} there, in simplified {after}"
            yield read_at("hands on the environment", each, _NAME, sees, _FIX)
