"""The rule of the flip verdict for code that reads jaxprs or the flag, and is changed by it."""

from __future__ import annotations

from collections.abc import Sequence

from parity_tests.advice import advice
from parity_tests.judge.across_flip import AcrossFlip, lines_of
from reports.rows import FlipReason, Hazard, ReasonKind
from reports.rows.hazard import READS


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
    blames = ("different", "placed otherwise")
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


def of_read(kind: ReasonKind, what: str, read: tuple[Hazard, ...]) -> FlipReason:
    """Return the reason for a failure or difference, in words, that a read explains.

    Example::

        of_read("outputs", "outputs: 1 of 1 leaf differs", hazards).action
    """
    return FlipReason(
        outcome="different",
        kind=kind,
        what=f"{what}; {read[0].what}",
        where=lines_of(read),
        action=read[0].fix,
    )
