"""Hazard: code that reads JAX's flag, `jax_use_simplified_jaxpr_constants`, and decides by it.

It takes its other way on the day of the flip, and fails once the flag is gone. Look-alikes: code
that reads another flag, or that reads this one and traces the same program all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.advice import advice
from parity_tests.observe.hazards.both_forms import BothForms, read_at
from reports.rows import Hazard

_FIX = advice("flag")


def find(both: BothForms) -> Iterator[Hazard]:
    """Find the lines that read the flag."""
    for told in both.told():
        if told.site.subject == "flag":
            before, after = bool(told.before.count), bool(told.after.count)
            sees = f"in legacy it is {before}, in simplified {after}"
            yield read_at("reads the flag", told, "jax_use_simplified_jaxpr_constants", sees, _FIX)
