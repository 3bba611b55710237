"""All that a verdict on one program rests on."""

from __future__ import annotations

from dataclasses import dataclass

from parity_tests.judge.not_repeatable import NotRepeatable
from reports.rows import (
    Comparison,
    DriftAttribution,
    Hazard,
    Observation,
    TimeComparison,
    TooLate,
)


@dataclass(frozen=True)
class Findings:
    """What was found of one program on all sides; the texts are reasons why a part is missing.

    The failure of every observation in `observed` counts, in a pair or not. `measured_again` has
    the two sides of the flip once more where their times stood apart. `not_run` says why nothing
    was compared at all, `no_hazards` why hazards were not detected, `no_arbiter` why the arbiter's
    outputs are not there, and `no_drift` why the cause of a difference was not looked for.
    `not_repeatable` says what of a side changes from run to run, where the sides differ and it was
    run again. `too_late` says what its module set when JAX had started already.
    """

    observed: tuple[Observation, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    times: tuple[TimeComparison, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    drift: tuple[DriftAttribution, ...] = ()
    measured_again: tuple[Observation, ...] = ()
    not_run: str = ""
    no_hazards: str = ""
    no_arbiter: str = ""
    no_drift: str = ""
    not_repeatable: NotRepeatable | None = None
    too_late: TooLate | None = None

    @property
    def checks(self) -> frozenset[str]:
        """The names of the checks that sides were held to by themselves."""
        return frozenset(check.name for each in self.observed for check in each.checks)
