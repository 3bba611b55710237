"""The rules of the flip verdict for a program that is called as it is written."""

from __future__ import annotations

from parity_tests.advice import advice
from parity_tests.exception_texts import first_line
from parity_tests.judge import calls_as_written
from parity_tests.judge.across_flip import AcrossFlip, lines_of
from parity_tests.judge.reading_reasons import of_read, read_that_changes
from reports.rows import Comparison, Failure, FlipReason, HazardKind
from reports.rows.check_names import AS_WRITTEN

_FORBIDDEN = "Disallowed"  # XLA says so of a transfer that a guard stops
_DONATED = "Attempt to donate a buffer"  # and so of one that is an argument of the call as well

# Later calls of the traced program are more than those that are made of it as it is written.
_OF_FIRST_CALL = ("trace", "lower", "compile", "first call", "donating call")


def hazards_behind(failure: Failure) -> tuple[HazardKind, ...]:
    """Return the kinds of hazards for which a side fails so."""
    if _FORBIDDEN in failure.message:
        return ("implicit transfer",)
    return "captured and donated", "incompatible devices"


def of_calls(flip: AcrossFlip, comparison: Comparison) -> FlipReason:
    """Return the reason for calls as written that differ across the flip, or say nothing of it.

    Example::

        of_calls(flip, comparison).what
        # "as it is written, call 2 gives other values at the only output: ..."
    """
    assert flip.before is not None
    assert flip.after is not None
    what = f"as it is written, {comparison.detail}"
    if comparison.outcome == "not compared":
        failure = flip.before.as_written[0].failure
        is_kept = failure is not None and calls_as_written.is_kept_outside(failure)
        name = "own state" if is_kept else "fails today"
        return FlipReason(
            outcome="could not compare", kind="failure", what=what, action=advice(name)
        )
    failing = calls_as_written.failure_after(flip.before, flip.after)
    if failing:
        return of_new_failure(flip, *failing)
    if (read := read_that_changes(flip)) is not None:
        return of_read("outputs", what, read)
    cause = flip.hazard("writeable NumPy array")
    return FlipReason(
        outcome="different",
        kind="outputs",
        subject=AS_WRITTEN,
        what=what,
        where=lines_of(cause) if cause else "",
        action=cause[0].fix if cause else advice("between calls"),
    )


def of_new_failure(flip: AcrossFlip, number: int, failure: Failure) -> FlipReason:
    """Return the reason for a call as written that fails after the flip alone."""
    call = "a call" if failure.kind == "crash" else f"call {number}"
    what = (
        f"as it is written, {call} works on {flip.left} and fails on {flip.right}: "
        f"{failure.type}: {first_line(failure.message)}"
    )
    if (read := read_that_changes(flip)) is not None:
        return of_read("failure", what, read)
    cause = flip.hazard(*hazards_behind(failure))
    return FlipReason(
        outcome="different",
        kind="failure",
        subject=AS_WRITTEN,
        what=what,
        where=lines_of(cause) if cause else failure.where,
        action=cause[0].fix if cause else _action(failure),
    )


def _action(failure: Failure) -> str:
    """Return what helps where no hazard of the traced program is behind a failure."""
    if "device-to-device" in failure.message or "incompatible devices" in failure.message:
        return advice("same devices")
    if _FORBIDDEN in failure.message:
        return advice("on the device")
    return advice("donated" if _DONATED in failure.message else "between calls")


def of_failure(flip: AcrossFlip, failure: Failure) -> FlipReason | None:
    """Return the reason where constparity's jit of a program fails; None if that of it is told.

    So it is where the program fails as it is written too, or was not called.
    """
    assert flip.before is not None
    assert flip.after is not None
    compared, works = flip.as_written, calls_as_written.works_on_both(flip.before, flip.after)
    works = works and failure.stage in _OF_FIRST_CALL
    if compared is None or compared.outcome != "equal" or not works:
        if failure.runs_as_written and flip.before.failure:
            return _not_compared(failure, "as it is written it runs")
        return None
    return _not_compared(failure, f"as it is written it runs, {compared.detail} on both sides")


def _not_compared(failure: Failure, runs: str) -> FlipReason:
    return FlipReason(
        outcome="could not compare",
        kind="failure",
        what=f"what it costs is not known: {runs}, and within a jit of constparity's it does not: "
        f"{failure.kind} in {failure.stage}: {failure.type}: {first_line(failure.message)}",
        where=failure.where,
        action=advice("jitted apart"),
    )
