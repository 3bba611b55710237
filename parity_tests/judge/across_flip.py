"""What was found of one program on the two sides of the flip, looked up by the flip's rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from parity_tests.advice import advice
from parity_tests.evidence.tolerance_ladder import REACH
from parity_tests.judge.findings import Findings
from parity_tests.judge.sides import Sides, mode_of
from reports.rows import (
    CapturedArray,
    Comparison,
    DriftAttribution,
    FlipOutcome,
    FlipReason,
    Hazard,
    HazardKind,
    Observation,
    ReasonKind,
    Side,
    StageTimes,
    TimeComparison,
)
from reports.rows.check_names import AS_WRITTEN, PLACED
from reports.rows.flip import READS, TRAITS
from reports.views.ledger import grouped, listed, place


@dataclass(frozen=True)
class AcrossFlip:
    """The findings of a program across the flip: `left` is the side before it, `right` after it."""

    findings: Findings
    left: Side
    right: Side

    @cached_property
    def before(self) -> Observation | None:
        """What was observed before the flip."""
        return self.findings.on(self.left)

    @cached_property
    def after(self) -> Observation | None:
        """What was observed after the flip."""
        return self.findings.on(self.right)

    @property
    def comparisons(self) -> list[Comparison]:
        """The comparisons across the flip."""
        return [each for each in self.findings.comparisons if self._is_across(each)]

    @property
    def is_not_here(self) -> bool:
        """Whether this machine cannot run the program in either form."""
        both = [each.failure for each in (self.before, self.after) if each is not None]
        return bool(both) and all(each is not None and each.kind == "not here" for each in both)

    @property
    def as_written(self) -> Comparison | None:
        """The comparison of the calls as written; None where they were not made on both sides."""
        return next((each for each in self.comparisons if each.metric == AS_WRITTEN), None)

    @property
    def placed_as_written(self) -> Comparison | None:
        """The comparison of where calls as written put their outputs, as `as_written`."""
        return next((each for each in self.comparisons if each.metric == PLACED), None)

    @property
    def times(self) -> list[TimeComparison]:
        """The times that were judged across the flip."""
        return [each for each in self.findings.times if self._is_across(each)]

    @property
    def times_again(self) -> tuple[tuple[StageTimes, StageTimes], ...]:
        """The times before and after, of processes that ran one after the other."""
        before, after = (
            [each.times for each in self.findings.measured_again if each.side == side]
            for side in (self.left, self.right)
        )
        return tuple((old, new) for old, new in zip(before, after, strict=False) if old and new)

    @property
    def drift(self) -> DriftAttribution | None:
        """The cause of the difference in outputs, where it was looked for."""
        return next((each for each in self.findings.drift if self._is_across(each)), None)

    @property
    def hazards(self) -> list[tuple[Hazard, ...]]:
        """The hazards, those that say the same of several arrays together."""
        return grouped(self.findings.hazards)

    def hazard(self, kind: HazardKind) -> tuple[Hazard, ...] | None:
        """Return the first hazards of a kind."""
        return next((group for group in self.hazards if group[0].kind == kind), None)

    @property
    def hoisted(self) -> list[CapturedArray]:
        """The captured arrays that the side after the flip hoists."""
        ledger = self.after.ledger if self.after else ()
        return [array for array in ledger if array.fate == "hoisted"]

    @property
    def written(self) -> list[CapturedArray]:
        """The captured arrays that the program writes to while it is called."""
        return [array for array in (self.after.ledger if self.after else ()) if array.written]

    @property
    def largest(self) -> str:
        """The line of the largest array that is hoisted; "" where none is, or none is known."""
        largest = max(self.hoisted, key=lambda array: array.bytes, default=None)
        return place(largest.file, largest.line) if largest and largest.file else ""

    @property
    def how_to_find_the_culprit(self) -> str:
        """What to do about a difference: the culprit is an array only if one is hoisted."""
        if not self.hoists_nothing:
            culprit = advice("culprit")
            # The program is traced alike in both forms: its text and its constants decide nothing
            # then, but callbacks may read them.
            if read := next((group for group in self._reads if may_decide(group[0])), None):
                what = TRAITS[read[0].kind].reads
                fields = {"what": what, "places": _places(read), "culprit": culprit}
                return advice("read, else culprit", **fields)
            return culprit
        if self._reads:
            return advice("read", places=_places(self._reads[0]))
        return advice("other read")

    @property
    def how_to_find_the_culprit_of_failure(self) -> str:
        """What to do about a new failure: an array that is inlined again is what it was."""
        action = self.how_to_find_the_culprit
        if action != advice("culprit"):
            return action
        return advice("culprit of failure")

    @property
    def _reads(self) -> list[tuple[Hazard, ...]]:
        return [group for group in self.hazards if group[0].kind in READS]

    @property
    def deciding_read(self) -> tuple[Hazard, ...] | None:
        """The first reads that may decide another program, though it was not traced otherwise."""
        return next((group for group in self._reads if group[0].fix != advice("nothing")), None)

    @property
    def hoists_nothing(self) -> bool:
        """Whether the flip hoists no array, for all that is known of a side that failed after it.

        Where the side before the flip works, it has captured what the other one would hoist.
        """
        if self.after is not None and self.after.failure is None:
            return not self.hoisted
        before = self.before
        if before is None or before.failure is not None:
            return False
        return all(array.fate == "embedded" for array in before.ledger)

    def _is_across(self, each: Comparison | TimeComparison | DriftAttribution) -> bool:
        return (each.left, each.right) == (self.left, self.right)


def may_decide(read: Hazard) -> bool:
    """Say whether a read may decide something, where the program is traced alike in both forms."""
    return read.kind != "reads jaxpr constants" or read.fix != advice("nothing")


def _places(hazards: Sequence[Hazard]) -> str:
    return listed(list(dict.fromkeys(place(each.file, each.line) for each in hazards)))


def lines_of(hazards: Sequence[Hazard]) -> str:
    """Return the lines and the arrays that hazards of one kind are about."""
    return listed([f"{place(each.file, each.line)} ({each.array})" for each in hazards])


# -- a difference that sides of one mode show as well ----------------------------------------------


def pair_before_flip(flip: AcrossFlip, comparison: Comparison) -> Sides | None:
    """Return two sides of the mode before the flip that differ in the same metric, and as much.

    None where there are none. Two sides of the mode after it say nothing: stock JAX alone reads its
    flag, so `simplified` differs from `jax-simplified` where a program does.

    Example::

        pair_before_flip(flip, outputs) == ("legacy", "jax-legacy")
    """
    for each in flip.findings.comparisons:
        is_alike = each.metric == comparison.metric and each.outcome == "different"
        as_much = _distance(each) * REACH >= _distance(comparison)
        if is_alike and as_much and mode_of(each.left) == mode_of(each.right) == mode_of(flip.left):
            return each.left, each.right
    return None


def what_differs_too(pair: Sides) -> str:
    """Say of two sides of one mode that they differ."""
    left, right = pair
    return f"{left} and {right} of one mode differ as much, so the flip alone is not the cause"


def what_helps(pair: Sides) -> str:
    """Return what to do where two sides of one mode differ."""
    left, right = pair
    return advice("one mode", left=left, right=right)


def _distance(comparison: Comparison) -> float:
    return max((leaf.max_abs for leaf in comparison.leaves), default=0.0)


# -- code that reads jaxprs or the flag, and is changed by it --------------------------------------


def read_that_changes(flip: AcrossFlip) -> tuple[Hazard, ...] | None:
    """Return the first read for which the program is another one after the flip.

    A read that changes nothing, as `.consts` that is handed to `eval_jaxpr`, explains nothing.
    """
    return next((group for group in flip.hazards if group[0].changes_program), None)


# What to do about a read that decides nothing, where another reason stands before it.
_NOT_THE_CAUSE = advice("not the cause")


def said_once(reasons: Sequence[FlipReason]) -> list[FlipReason]:
    """Leave out what is said of a read by itself where a failure or difference is laid to it.

    Beside outputs that are placed elsewhere, a read that decides nothing is said not to be the
    cause.

    Example::

        said_once([difference_by_the_read, the_read]) == [difference_by_the_read]
    """
    blames = ("different", "placed otherwise", "agrees here, not proved")
    blamed = {(each.where, each.action) for each in reasons if each.outcome in blames}
    named = " ".join(each.action for each in reasons if each.outcome != "safe")
    is_placed_elsewhere = any(each.kind == "placement" for each in reasons)
    return [
        _beside(each) if is_placed_elsewhere else each
        for each in reasons
        if each.outcome != "safe"
        or not each.where
        or ((each.where, each.action) not in blamed and not _is_named(each, named))
    ]


def _beside(reason: FlipReason) -> FlipReason:
    if reason.subject not in READS or reason.action != advice("nothing"):
        return reason
    return reason.model_copy(update={"action": _NOT_THE_CAUSE})


def _is_named(reason: FlipReason, actions: str) -> bool:
    """Say whether an action already sends the reader to the line of a read."""
    return reason.subject in READS and reason.where.split(" (")[0] in actions


def of_read(
    kind: ReasonKind,
    what: str,
    read: tuple[Hazard, ...],
    outcome: FlipOutcome = "different",
) -> FlipReason:
    """Return the reason for what is seen across the flip, in words, that a read explains.

    Example::

        of_read("outputs", "outputs: 1 of 1 leaf differs", hazards).action
    """
    return FlipReason(
        outcome=outcome,
        kind=kind,
        what=f"{what}; {read[0].what}",
        where=lines_of(read),
        action=read[0].fix,
    )
