"""All that a verdict on one program rests on."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from reports.rows import (
    Comparison,
    DriftAttribution,
    Hazard,
    Observation,
    Side,
    TimeComparison,
    TooLate,
)

# A metric, with the path of the output leaf where it is "outputs".
Difference = tuple[str, str]

FAILURE: Difference = ("failure", "")


@dataclass(frozen=True)
class NotRepeatable:
    """One side of a program gives other results when it is run again.

    `what` says what changed from run to run, `where` on which lines, `action` how to keep it from
    changing. `explained` has the differences between sides that are as large between runs of one
    side. With `is_ours` they explain nothing: the side is ours, and stock JAX of its mode repeats
    itself, so our pipeline is at fault. `trace` is the printed jaxpr of one run where the traced
    program changed, else "", and `calls_python` says that outputs alone changed, of a program with
    callbacks.
    """

    side: Side
    what: str
    where: str = ""
    action: str = ""
    explained: frozenset[Difference] = field(default_factory=frozenset)
    trace: str = ""
    calls_python: bool = False
    is_ours: bool = False

    def explains(self, comparison: Comparison, checks: Collection[str]) -> bool:
        """Say whether two sides differ here as runs of one side do.

        `checks` are the names of the checks of a side: a program that is another at every trace may
        fail them, and nothing says why.
        """
        if FAILURE in self.explained or comparison.metric in checks:
            return True
        if comparison.metric == "outputs" and not comparison.leaves:
            return False  # a side failed, or the types differ: the values were not compared
        paths = [leaf.path for leaf in comparison.leaves if leaf.rung == "mismatch"] or [""]
        return all((comparison.metric, path) in self.explained for path in paths)


@dataclass(frozen=True)
class Findings:
    """What was found of one program on all sides; the texts are reasons why a part is missing.

    The failure of every observation in `observed` counts, in a pair or not. `measured_again` has
    the two sides of the flip once more where their times stood apart. `not_run` says why nothing
    was compared at all, `no_hazards` why hazards were not detected, `no_arbiter` why the arbiter's
    outputs are not there, and `no_drift` why the cause of a difference was not looked for.
    `not_repeatable` says what of a side changes from run to run, where the sides differ and it was
    run again. `too_late` says what its module set when JAX had started already. `proved_only` says
    that both forms are proved one computation, and it was not run.
    """

    observed: tuple[Observation, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    times: tuple[TimeComparison, ...] = ()
    hazards: tuple[Hazard, ...] = ()
    drift: tuple[DriftAttribution, ...] = ()
    measured_again: tuple[Observation, ...] = ()
    not_run: str = ""
    proved_only: bool = False
    no_hazards: str = ""
    no_arbiter: str = ""
    no_drift: str = ""
    not_repeatable: NotRepeatable | None = None
    too_late: TooLate | None = None

    @property
    def checks(self) -> frozenset[str]:
        """The names of the checks that sides were held to by themselves."""
        return frozenset(check.name for each in self.observed for check in each.checks)
