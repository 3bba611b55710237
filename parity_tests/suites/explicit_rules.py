"""What the marker `constparity` asks of a test: tolerances, metrics, and an expected difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from reports.rows.comparison import LeafComparison
from reports.rows.suite import SuiteDifference, SuiteMetric, metric_of

METRICS: tuple[SuiteMetric, ...] = get_args(SuiteMetric)
_NAMES = ("rtol", "atol", "metrics", "xfail")


class MarkerError(ValueError):
    """The marker is written wrongly; the message says how it is written."""


@dataclass(frozen=True)
class Rules:
    """The rules of one test.

    With `rtol` or `atol` these decide on outputs, in the place of the ladder; `xfail` is the reason
    of a difference that is expected, "" where none is.
    """

    rtol: float | None = None
    atol: float | None = None
    metrics: tuple[SuiteMetric, ...] = METRICS
    xfail: str = ""

    def compares(self, row: SuiteDifference) -> bool:
        """Say whether a difference is in a metric that the test compares."""
        return metric_of(row) in self.metrics

    def judged(self, leaf: LeafComparison, left: Any, right: Any) -> LeafComparison:
        """Return how two leaves compare under the tolerances of the test, as `np.allclose` has it.

        Bits decide where both tolerances are 0.
        """
        if (self.rtol is None and self.atol is None) or leaf.rung == "bitwise":
            return leaf
        rtol, atol = self.rtol or 0.0, self.atol or 0.0
        is_close = _are_close(left, right, rtol, atol)
        note = f"{leaf.note}; " if leaf.note else ""
        return leaf.model_copy(
            update={
                "rung": "tolerance" if is_close else "mismatch",
                "note": f"{note}rtol = {rtol:g}, atol = {atol:g} by the marker",
            }
        )


def rules_of(arguments: Sequence[Any], named: Mapping[str, Any]) -> Rules:
    """Return the rules that a marker with these arguments makes. Raises `MarkerError`."""
    if arguments:
        raise MarkerError(f"constparity takes named arguments alone: {', '.join(_NAMES)}")
    for name in named:
        if name not in _NAMES:
            raise MarkerError(f"constparity has no argument {name!r}; it has {', '.join(_NAMES)}")
    xfail = named.get("xfail")
    if xfail is not None and not (isinstance(xfail, str) and xfail):
        raise MarkerError("xfail must be the reason of the difference that is expected")
    return Rules(
        rtol=_tolerance("rtol", named.get("rtol")),
        atol=_tolerance("atol", named.get("atol")),
        metrics=_metrics(named.get("metrics")),
        xfail=xfail or "",
    )


def _tolerance(name: str, value: Any) -> float | None:
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value < math.inf:
        raise MarkerError(f"{name} must be a number from 0 on, and is {value!r}")
    return float(value)


def _metrics(value: Any) -> tuple[SuiteMetric, ...]:
    if value is None:
        return METRICS
    asked = (value,) if isinstance(value, str) else tuple(value)
    found = tuple(each for each in METRICS if each in asked)
    if not found or len(found) != len(set(asked)):
        raise MarkerError(f"metrics must be some of {', '.join(METRICS)}, and are {value!r}")
    return found


def _are_close(left: Any, right: Any, rtol: float, atol: float) -> bool:
    if left.shape != right.shape or left.dtype != right.dtype or not (rtol or atol):
        return False  # leaves of equal bits never come here
    one, other = (
        each if each.dtype.kind in "biuc" else each.astype(np.float64) for each in (left, right)
    )
    return bool(np.allclose(one, other, rtol=rtol, atol=atol, equal_nan=True))
