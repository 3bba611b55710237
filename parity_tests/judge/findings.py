"""All that a verdict on one program rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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
from reports.rows.claims import Claim

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
    that both forms are proved one computation, and it was not run. `apart` has the claims of forms
    that part with their places.
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
    apart: tuple[Claim, ...] = ()

    def on(self, side: Side) -> Observation | None:
        """Return what was observed on a side."""
        return next((each for each in self.observed if each.side == side), None)

    @property
    def checks(self) -> frozenset[str]:
        """The names of the checks that sides were held to by themselves."""
        return frozenset(check.name for each in self.observed for check in each.checks)


# -- notes: what a reader should know beside a verdict, and what decides none ----------------------

# A check that failed says nothing of the side, and the programs after one that changed its process
# have run in a new process.

_RAN_ELSEWHERE = "other programs ran in other processes"


def notes(findings: Findings) -> tuple[str, ...]:
    """Return the notes on a program, each once for all the sides that it is about.

    Example::

        notes(findings) == ("legacy: the check 'flag flips' was not made: it raised ...",)
    """
    sides_of: dict[str, list[Side]] = {}
    for observation in findings.observed:
        for check in observation.checks:
            if not check.measured:
                text = f"the check {check.name!r} was not made: {check.statement}"
                sides_of.setdefault(text, []).append(observation.side)
        for change in observation.changed_process:
            sides_of.setdefault(f"{change}; {_RAN_ELSEWHERE}", []).append(observation.side)
    return (*_told(sides_of, findings.observed), *of_hazards(findings))


def what_it_changed(observed: Sequence[Observation]) -> str:
    """Say in one line what a program changed for its process; "" where it changed nothing.

    Example::

        what_it_changed(row.observations)
        # "the program closes stdout; other programs ran in other processes"
    """
    sides_of: dict[str, list[Side]] = {}
    for observation in observed:
        for change in observation.changed_process:
            sides_of.setdefault(change, []).append(observation.side)
    return "; ".join([*_told(sides_of, observed), _RAN_ELSEWHERE]) if sides_of else ""


def _told(sides_of: Mapping[str, list[Side]], observed: Sequence[Observation]) -> list[str]:
    """Name the sides of each text, unless it is about all of them."""
    everywhere = {observation.side for observation in observed}
    return [
        text if set(sides) == everywhere else f"{', '.join(dict.fromkeys(sides))}: {text}"
        for text, sides in sides_of.items()
    ]


def of_hazards(findings: Findings) -> Iterator[str]:
    """Yield the note that the hazards of a program are not known, where they are not."""
    if findings.no_hazards:
        yield (
            "the hazards of the flip were not detected, for which the program is traced in "
            f"simplified form: {findings.no_hazards}"
        )
