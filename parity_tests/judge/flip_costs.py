"""The costs of a flip, as reasons of its verdict: time and memory."""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.judge import beyond_doubt
from parity_tests.judge.across_flip import AcrossFlip, lines_of
from parity_tests.judge.reading_reasons import read_that_changes
from reports.rows import (
    FlipReason,
    Hazard,
    Observation,
    StageTimes,
    TimeComparison,
    TimeMetric,
    metrics,
)
from reports.rows.metric_records import Metric
from reports.views.figures import humanise_bytes, humanise_ratio, humanise_seconds
from reports.views.texts import counted

_ROUNDS = "constparity run --rounds 5 judges them"
TIMES_NOT_JUDGED = FlipReason(
    outcome="safe", kind="note", what="times were not judged", action=_ROUNDS
)

# About a millisecond of one core. A smaller folding is a hazard without a price.
OPERATIONS_PER_CALL = 1e7


def costs(flip: AcrossFlip, before: Observation, after: Observation) -> Iterator[FlipReason]:
    """Yield the reasons that times and sizes are."""
    for time in flip.times:
        yield from of_time(flip, time)
    if all(time.verdict == "not measured" for time in flip.times):
        yield from _without_rounds(flip, before, after)
    for metric in metrics.METRICS:
        yield from of_size(flip, metric, before, after)


def of_time(flip: AcrossFlip, time: TimeComparison) -> Iterator[FlipReason]:
    """Yield the reason that a time is where rounds judged it slower."""
    if time.verdict == "slower":
        ratio = f"{humanise_ratio(time.ratio)} ({time.low:.2f} to {time.high:.2f})"
        yield _slower(flip, time.metric, time.ratio, f"{time.metric} takes {ratio} of what it took")


def _without_rounds(
    flip: AcrossFlip, before: Observation, after: Observation
) -> Iterator[FlipReason]:
    """Yield what the processes at hand leave beyond doubt, and whether the rest is open."""
    if before.times is None or after.times is None:
        yield TIMES_NOT_JUDGED
        return
    again = flip.times_again
    measured = ((before.times, after.times), *again)
    confirmed = beyond_doubt.slower_in_all(measured) if again else ()
    for stage in confirmed:
        once = f"{stage} takes {_once(stage, before.times, after.times)} of what it took"
        of_again = f"; measured again, {' and '.join(_once(stage, *each) for each in again)}"
        yield _slower(flip, stage, _ratio(stage, before.times, after.times), once + of_again)
    call = beyond_doubt.calls(before.times, after.times)
    if call is None or call.is_open or (call.is_slower and "call" not in confirmed):
        yield TIMES_NOT_JUDGED
    elif call.is_faster:
        once = _once("call", before.times, after.times)
        yield FlipReason(outcome="safe", kind="note", what=f"call takes {once} of what it took")


def _once(stage: TimeMetric, before: StageTimes, after: StageTimes) -> str:
    """Write the ratio of a stage in words, as one process of each side has it."""
    call = beyond_doubt.calls(before, after) if stage == "call" else None
    if call is None:
        old, new = getattr(before, stage), getattr(after, stage)
        seconds = f"{humanise_seconds(new)} after {humanise_seconds(old)}"
        return f"{humanise_ratio(new / old)} ({seconds})"
    interval = f"{humanise_ratio(call.low)} to {humanise_ratio(call.high)}"
    left, right = call.samples
    each = f"{left} calls each" if left == right else f"{left} calls before and {right} after"
    return f"{humanise_ratio(call.ratio)} ({interval}, {each})"


def _ratio(stage: TimeMetric, before: StageTimes, after: StageTimes) -> float:
    """Return the ratio of a stage that both sides have measured."""
    call = beyond_doubt.calls(before, after) if stage == "call" else None
    if call is not None:
        return call.ratio
    ratio: float = getattr(after, stage) / getattr(before, stage)
    return ratio


def is_work(flip: AcrossFlip, hazard: Hazard) -> bool:
    """Say whether a hazard stands for so much work at every call that it is a price.

    Measured calls outrank the estimate: XLA does not fold everything that it could.
    """
    if (hazard.operations or 0) < OPERATIONS_PER_CALL:
        return False
    times = [each.times for each in (flip.before, flip.after) if each]
    if len(times) < 2 or times[0] is None or times[1] is None:
        return True
    call = beyond_doubt.calls(times[0], times[1])
    return call is None or call.is_slower or call.is_open


def _slower(flip: AcrossFlip, stage: TimeMetric, ratio: float, what: str) -> FlipReason:
    """Return the reason that a slower stage is, with its probable cause."""
    [metric] = [each for each in metrics.METRICS if each.stage == stage]
    folded, read = flip.hazard("folded by legacy alone"), _read_that_costs(flip, stage)
    if read:
        where = lines_of(read)
        action = read[0].fix if read[0].changes_program else flip.how_to_find_the_culprit
    elif metric.folding_helps and folded:
        where, action = lines_of(folded), folded[0].fix
        what += f": {folded[0].what}"
    elif not flip.hoisted:
        again = "no captured array is hoisted: measure again with more --rounds"
        # Two measurements that agree beyond doubt leave nothing to measure.
        where, action = "", flip.how_to_find_the_culprit if flip.times_again else again
    else:
        arrays = counted(len(flip.hoisted), "captured array")
        where = flip.largest
        action = (
            f"each call hands over {arrays} as const args: raise the embed threshold (constparity "
            "sweep recommends one), or keep this array inlined (constant_policy)"
        )
    return FlipReason(
        outcome="safe but slower or larger",
        kind="time",
        subject=stage,
        ratio=ratio,
        what=what,
        where=where,
        action=action,
    )


def _read_that_costs(flip: AcrossFlip, stage: TimeMetric) -> tuple[Hazard, ...] | None:
    """Return a read that may decide how long a stage takes: Python's work, or another program's."""
    of_flag = flip.hazard("reads the flag")
    is_of_python = stage == "trace" or bool(
        flip.after and flip.after.effects and flip.after.effects.found
    )
    return read_that_changes(flip) or (of_flag if is_of_python else None)


def of_size(
    flip: AcrossFlip, metric: Metric, before: Observation, after: Observation
) -> Iterator[FlipReason]:
    """Yield the reason that a metric is where it grows by more than its declared limit."""
    limit = metric.larger
    if limit is None or not (limit.only_where(before) and limit.only_where(after)):
        return
    old, new = metric.read(before), metric.read(after)
    if old is None or new is None:
        return
    if new - old > limit.bytes and new - old > limit.share * old:
        folded = flip.hazard("folded by legacy alone")
        yield FlipReason(
            outcome="safe but slower or larger",
            kind="size",
            subject=metric.name,
            ratio=new / old if old else None,
            what=f"{limit.what}: {humanise_bytes(old)} against {humanise_bytes(new)}",
            where=lines_of(folded) if folded else flip.largest,
            action=folded[0].fix
            if folded
            else "keep this array inlined (constant_policy), or pass it as an argument",
        )
