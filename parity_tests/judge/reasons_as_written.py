"""The rules of the flip verdict for a program that is called as it is written."""

from __future__ import annotations

from collections.abc import Sequence

from parity_tests.advice import advice
from parity_tests.exception_texts import are_alike, first_line
from parity_tests.judge import calls_as_written
from parity_tests.judge.across_flip import AcrossFlip, lines_of, of_read, read_that_changes
from reports.rows import Comparison, Failure, FlipReason, Hazard
from reports.rows.check_names import AS_WRITTEN, DONATING
from reports.rows.flip import TRAITS
from reports.rows.observation import OF_LIMITS

_FORBIDDEN = "Disallowed"  # XLA says so of a transfer that a guard stops
_DONATED = "Attempt to donate a buffer"  # and so of one that is an argument of the call as well

_HIJAX = "a result of a hijax type"  # `observe.stages` says so where JAX's compiled stage fails

_DELETED = "has been deleted"  # of an array that a call before has consumed

# Later calls of the traced program are more than those that are made of it as it is written.
_OF_FIRST_CALL = ("trace", "lower", "compile", "first call", DONATING)


def hazard_behind(flip: AcrossFlip, failure: Failure) -> tuple[Hazard, ...] | None:
    """Return the first hazards that explain a failure after the flip."""
    such = "forbidden transfers" if _FORBIDDEN in failure.message else "other failures"
    return next((each for each in flip.hazards if TRAITS[each[0].kind].explains == such), None)


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
        made = (*flip.before.as_written, *flip.after.as_written)
        failures = [each.failure for each in made if each.failure]
        return FlipReason(
            outcome="could not compare", kind="failure", what=what, action=_of_untold(failures)
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


def _of_untold(failures: Sequence[Failure]) -> str:
    """Return what helps where calls could not be compared."""
    if any(map(calls_as_written.is_kept_outside, failures)):
        return advice("own state")
    limits = [each.kind for each in failures if each.kind in OF_LIMITS]
    return advice(limits[0] if limits else "fails today")


def of_new_failure(flip: AcrossFlip, number: int, failure: Failure) -> FlipReason:
    """Return the reason for a call as written that fails after the flip alone."""
    said = calls_as_written.new_failure_in_words(flip.left, flip.right, number, failure)
    what = f"as it is written, {said}"
    if (read := read_that_changes(flip)) is not None:
        return of_read("failure", what, read)
    cause = hazard_behind(flip, failure)
    return FlipReason(
        outcome="different",
        kind="failure",
        subject=AS_WRITTEN,
        what=what,
        where=lines_of(cause) if cause else failure.where,
        action=cause[0].fix if cause else what_helps(failure.message) or advice("between calls"),
    )


def of_later_failure(flip: AcrossFlip) -> FlipReason | None:
    """Return the remark that a later call fails before the flip already; None where none does.

    The first call decides whether calls are compared, so a program is safe beside this.

    Example::

        of_later_failure(flip).what
        # "as it is written, call 2 fails in both forms: RuntimeError: Array has been deleted"
    """
    if flip.as_written is None or flip.as_written.outcome not in ("equal", "different"):
        return None
    assert flip.before is not None
    assert flip.after is not None
    number = calls_as_written.failure_before(flip.before, flip.after)
    today, then = (
        each.as_written[number - 1].failure if number else None
        for each in (flip.before, flip.after)
    )
    if today is None:
        return None
    said = calls_as_written.in_words(today)
    if then is None:
        how = f"fails on {flip.left} today and works on {flip.right}: {said}"
    elif are_alike(said, calls_as_written.in_words(then)):
        how = f"fails in both forms: {said}"
    else:
        how = f"fails in both forms: {said}; otherwise on {flip.right}: "
        how += calls_as_written.in_words(then)
    return FlipReason(
        outcome="safe",
        kind="failure",
        subject=AS_WRITTEN,
        what=f"as it is written, call {number} {how}",
        where=today.where,
        action=advice("fails today" if then else "works after"),
    )


def what_helps(message: str) -> str:
    """Return what helps with a failure by what JAX and XLA say of it; "" where that is not known.

    Example::

        what_helps("Attempt to donate a buffer which is also used") == advice("donated")
    """
    if "device-to-device" in message or "incompatible devices" in message:
        return advice("same devices")
    if _FORBIDDEN in message:
        return advice("on the device")
    if _DONATED in message:
        return advice("donated")
    return advice("between calls") if _DELETED in message else ""


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
        action=advice("results of arrays" if _HIJAX in failure.message else "jitted apart"),
    )
