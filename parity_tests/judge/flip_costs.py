"""The costs and gains of a flip, as reasons of its verdict: time, memory and work."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping

from parity_tests.advice import advice
from parity_tests.judge import beyond_doubt
from parity_tests.judge.across_flip import AcrossFlip, lines_of, read_that_changes
from parity_tests.judge.comparison import LEFT_INLINED, left_inlined, named
from parity_tests.judge.proofs import part
from reports.rows import (
    FlipReason,
    Hazard,
    MovedArray,
    Observation,
    StageTimes,
    TimeMetric,
    metrics,
)
from reports.rows.metric_records import Larger, Metric
from reports.views.figures import (
    humanise_bytes,
    humanise_count,
    humanise_ratio,
    humanise_seconds,
)
from reports.views.ledger import place
from reports.views.texts import counted

TIMES_NOT_JUDGED = FlipReason(
    outcome="safe", kind="note", what="times were not judged", action=advice("judge times")
)
_TAKES: dict[TimeMetric, str] = {
    "trace": "tracing takes",
    "lower": "lowering takes",
    "compile": "compiling takes",
    "cached compile": "compiling from the cache takes",
    "first call": "the first call takes",
    "call": "each call takes",
    "dispatch": "the dispatch of each call takes",
}
# Sizes of what XLA keeps of constants: they are larger where it folds less.
_FOLDED = ("device memory of constants", "serialized bytes", "temporary bytes")

# About a millisecond of one core. A smaller folding is a hazard without a price.
OPERATIONS_PER_CALL = 1e7
# Scalar operations of a core in a second, where each takes long.
_FEWEST_A_SECOND = 1e8
_LARGE = 2**20  # bytes of a result that a call writes at a price


def costs(flip: AcrossFlip, before: Observation, after: Observation) -> Iterator[FlipReason]:
    """Yield the reasons that more work, times and sizes are."""
    yield from _of_work(flip, before, after)
    yield from _of_flops(flip, before, after)
    yield from _of_arrays(before, after)
    for time in flip.times:
        if time.verdict == "slower":
            interval = f"{time.low:.2f}x to {time.high:.2f}x"
            yield _slower(flip, time.metric, time.ratio, None, interval)
    if all(time.verdict == "not measured" for time in flip.times):
        yield from _without_rounds(flip, before, after)
    for metric, limit, old, new in _limited(before, after):
        if limit.is_exceeded(old, new):
            yield _larger(flip, metric, limit, old, new)


def _without_rounds(
    flip: AcrossFlip, before: Observation, after: Observation
) -> Iterator[FlipReason]:
    """Yield what the processes at hand leave beyond doubt, and whether the rest is open."""
    if before.times is None or after.times is None:
        yield TIMES_NOT_JUDGED
        return
    again = flip.times_again
    measured = ((before.times, after.times), *again)
    is_settled = not again and beyond_doubt.is_settled(before.times, after.times)
    confirmed = beyond_doubt.slower_in_all(measured) if again or is_settled else ()
    for stage in confirmed:
        once = _once(stage, before.times, after.times)
        of_again = f"; measured again {' and '.join(_once(stage, *each) for each in again)}"
        if is_settled:
            staging = humanise_seconds(max(before.times.staging, after.times.staging))
            of_again = f"; measured once, because a run takes {staging} to compile"
        old, new = _seconds(stage, before.times), _seconds(stage, after.times)
        yield _slower(flip, stage, new / old, new - old, once + of_again)
    if "call" in confirmed:
        return
    call = beyond_doubt.calls(before.times, after.times)
    if beyond_doubt.seem_slower(before.times, after.times):
        ratio = _seconds("call", after.times) / _seconds("call", before.times)
        seemed = f"each call seemed to take {humanise_ratio(ratio)} as long"
        what = f"{TIMES_NOT_JUDGED.what}: {seemed}"
        yield TIMES_NOT_JUDGED.model_copy(update={"what": what})
    elif call is None or call.is_open or call.is_slower:
        yield TIMES_NOT_JUDGED


def _once(stage: TimeMetric, before: StageTimes, after: StageTimes) -> str:
    """Write the times of a stage and their ratio, as one process of each side has them."""
    old, new = _seconds(stage, before), _seconds(stage, after)
    said = f"{humanise_seconds(new)} after {humanise_seconds(old)}"
    call = beyond_doubt.calls(before, after) if stage == "call" else None
    if call is None:
        return said
    left, right = call.samples
    each = f"{left} calls each" if left == right else f"{left} calls before and {right} after"
    return f"{said} ({humanise_ratio(call.low)} to {humanise_ratio(call.high)}, {each})"


def _seconds(stage: TimeMetric, times: StageTimes) -> float:
    """Return the seconds of a stage that was measured."""
    if stage == "call":
        return statistics.median(times.call_seconds)
    seconds: float = getattr(times, stage.replace(" ", "_"))
    return seconds


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


def _slower(
    flip: AcrossFlip, stage: TimeMetric, ratio: float, more: float | None, measured: str
) -> FlipReason:
    """Return the reason that a slower stage is: how much, its probable cause, the measurements."""
    cause, where, action = _cause_of(flip, stage)
    said = f"{_TAKES[stage]} {humanise_ratio(ratio)} as long"
    return FlipReason(
        outcome="safe but slower or larger",
        kind="time",
        subject=stage,
        ratio=ratio,
        more=more,
        what=f"{said}{f': {cause}' if cause else ''}; {measured}",
        where=where,
        action=action,
    )


def _cause_of(flip: AcrossFlip, stage: TimeMetric) -> tuple[str, str, str]:
    """Return why a stage is slower if that is known, with the lines, and what helps."""
    [metric] = [each for each in metrics.METRICS if each.stage == stage]
    if read := _read_that_costs(flip, stage):
        helps = read[0].fix if read[0].changes_program else flip.how_to_find_the_culprit
        return "", lines_of(read), helps
    if metric.folding_helps and (folded := _folded(flip, stage)):
        cause = f"XLA no longer folds {folded[0].gist}" if folded[0].gist else folded[0].what
        return cause, lines_of(folded), folded[0].fix
    if stage == "first call" and (of_numpy := flip.hazard("writeable NumPy array")):
        return "NumPy arrays go to the device", lines_of(of_numpy), of_numpy[0].fix
    if not flip.hoisted:
        # Two measurements that agree beyond doubt leave nothing to measure.
        again = flip.how_to_find_the_culprit if flip.times_again else advice("measure again")
        return "", "", again
    if not metric.folding_helps:
        helps = advice("compile culprit") if stage == "compile" else flip.how_to_find_the_culprit
        return "", flip.largest, helps
    return _cause_in_calls(flip)


def _folded(flip: AcrossFlip, stage: TimeMetric) -> tuple[Hazard, ...] | None:
    """Return the work that XLA folds no more, unless it is too little to take so much longer."""
    folded = flip.hazard("folded by legacy alone")
    times = [each.times for each in (flip.before, flip.after) if each and each.times]
    if not folded or len(times) < 2 or folded[0].operations is None:
        return folded
    if stage == "call" and not all(each.call_seconds for each in times):
        return folded
    old, new = (_seconds(stage, each) for each in times)
    return folded if folded[0].operations >= (new - old) * _FEWEST_A_SECOND else None


def _cause_in_calls(flip: AcrossFlip) -> tuple[str, str, str]:
    """Return what else XLA did with the values of captured arrays, and does no more."""
    if (moved := _moved(flip)) and moved.bytes >= _LARGE:
        return _of_moved(flip, moved)
    flops = [
        each.executable.flops or 0 if each and each.executable else 0
        for each in (flip.before, flip.after)
    ]
    if flops[1] > 1.1 * flops[0]:
        return "XLA computes more", flip.largest, advice("computes more")
    return "", flip.largest, advice("tune")


def _moved(flip: AcrossFlip) -> MovedArray | None:
    return flip.after.jaxpr.moved if flip.after and flip.after.jaxpr else None


def _of_moved(flip: AcrossFlip, moved: MovedArray) -> tuple[str, str, str]:
    where = place(moved.file, moved.line) if moved.file else flip.largest
    action = advice("convert before")
    return f"XLA no longer folds {moved.what}", where, action


def _read_that_costs(flip: AcrossFlip, stage: TimeMetric) -> tuple[Hazard, ...] | None:
    """Return a read that may decide how long a stage takes: Python's work, or another program's."""
    of_flag = flip.hazard("reads the flag")
    is_of_python = stage == "trace" or bool(
        flip.after and flip.after.effects and flip.after.effects.found
    )
    return read_that_changes(flip) or (of_flag if is_of_python else None)


def _limited(before: Observation, after: Observation) -> Iterator[tuple[Metric, Larger, int, int]]:
    """Yield the metrics that have a limit here, with it and the two values."""
    for metric in metrics.METRICS:
        limit = metric.larger
        if limit is not None and limit.only_where(before) and limit.only_where(after):
            old, new = metric.read(before), metric.read(after)
            if old is not None and new is not None:
                yield metric, limit, old, new


def _larger(flip: AcrossFlip, metric: Metric, limit: Larger, old: int, new: int) -> FlipReason:
    """Return the reason that a metric is which grows by more than its limit."""
    said = f"{limit.what}: {humanise_bytes(old)} against {humanise_bytes(new)}"
    cause, where, action = _cause_of_size(flip, metric, new - old)
    return FlipReason(
        outcome="safe but slower or larger",
        kind="size",
        subject=metric.name,
        ratio=new / old if old else None,
        more=new - old,
        what=f"{said}, for {cause}" if cause else said,
        where=where,
        action=action,
    )


def _cause_of_size(flip: AcrossFlip, metric: Metric, more: int) -> tuple[str, str, str]:
    """Return why a size is larger if that is known, with the lines, and what helps."""
    if metric.name in _FOLDED:
        if folded := flip.hazard("folded by legacy alone"):
            return "", lines_of(folded), folded[0].fix
        if (moved := _moved(flip)) and 2 * moved.bytes >= more:
            return _of_moved(flip, moved)
    if flip.hoists_nothing:  # a library's operation holds the array, and JAX inlines it at each use
        return "", "", advice("pass as argument")
    return "", flip.largest, advice("inline")


# -- gains: the same limits, the other way round ---------------------------------------------------


def gains(flip: AcrossFlip, before: Observation, after: Observation) -> Iterator[FlipReason]:
    """Yield what is faster or smaller after the flip, as `safe` reasons.

    Example::

        [each.what for each in gains(flip, before, after)] == ["compile 60.0 s to 670 ms"]
    """
    for time in flip.times:
        if time.verdict == "faster":
            said = f"{time.metric} takes {humanise_ratio(time.ratio)} as long"
            yield _gain(time.metric, said, time.ratio, None)
    if before.times and after.times and all(t.verdict == "not measured" for t in flip.times):
        for stage in beyond_doubt.slower_stages(after.times, before.times):
            old, new = (getattr(each, stage) for each in (before.times, after.times))
            said = f"{stage} {humanise_seconds(old)} to {humanise_seconds(new)}"
            yield _gain(stage, said, new / old, new - old)
    for metric, limit, old, new in _limited(before, after):
        if limit.is_exceeded(new, old):
            said = f"{limit.what} {humanise_bytes(old)} to {humanise_bytes(new)}"
            yield _gain(metric.name, said, new / old, new - old)


def _gain(subject: str, what: str, ratio: float, more: float | None) -> FlipReason:
    return FlipReason(
        outcome="safe", kind="gain", subject=subject, what=what, ratio=ratio, more=more
    )


# -- more work, larger modules: what a flip changes beside captured arrays -------------------------

# The migration explains more equations in legacy alone, and constants there alone. The comparisons
# say where there is more (`reports/rows/metric_rules.py`); the reasons name the operations and the
# arrays.

_OF_WORK = ("working equations", "operations of a call", "working StableHLO operations")
# XLA's own count has to double, by about a tenth of a millisecond, before it is a price.
_MORE_FLOPS = 2.0
_FLOPS_PER_CALL = 1_000_000
_LISTED = 6  # operations in one sentence


def is_told_here(metric: str) -> bool:
    """Say whether a difference in a metric has its reason here, in more words."""
    return metric in _OF_WORK or metric == LEFT_INLINED


def _of_work(flip: AcrossFlip, before: Observation, after: Observation) -> Iterator[FlipReason]:
    """Yield one reason where a program computes more than captured arrays explain."""
    differ = (each.metric in _OF_WORK and each.outcome == "different" for each in flip.comparisons)
    if not any(differ):
        return
    old, new = _equations(before), _equations(after)
    if old == new:  # the same equations may be lowered to more
        old, new = _operations(before), _operations(after)
    read = read_that_changes(flip) or flip.deciding_read
    estimates = tuple(each.jaxpr.operations or 0 if each.jaxpr else 0 for each in (before, after))
    # Forms that nothing was seen to make two may be two by JAX's own rules, as those of `vmap`.
    search = "one program" if part(before, after) else "reads the flag somewhere"
    is_more = (estimates[1], sum(new.values())) > (estimates[0], sum(old.values()))
    yield FlipReason(
        outcome="safe but slower or larger" if is_more else "safe",
        kind="structure or count",
        subject="operations",
        what=f"the program computes {'more' if is_more else 'less'} after the flip, which no "
        f"captured array explains: {_changed(old, new) or 'loops of other lengths'}; about "
        f"{humanise_count(estimates[0])} operations before and {humanise_count(estimates[1])} "
        "after",
        where=lines_of(read) if read else "",
        action=read[0].fix if read else advice(search),
    )


def _equations(side: Observation) -> Mapping[str, int]:
    return (side.jaxpr and side.jaxpr.working_equations) or {}


def _operations(side: Observation) -> Mapping[str, int]:
    return (side.stablehlo and side.stablehlo.working_operations) or {}


def _changed(old: Mapping[str, int], new: Mapping[str, int]) -> str:
    """Name what is there more or less often, the largest change first."""
    changes = {name: new.get(name, 0) - old.get(name, 0) for name in {**old, **new}}
    largest = sorted((name for name in changes if changes[name]), key=lambda n: -abs(changes[n]))
    listed = [f"{name} {old.get(name, 0)} before and {new.get(name, 0)} after" for name in largest]
    more = len(listed) - _LISTED
    return ", ".join([*listed[:_LISTED], *([f"and {more} others"] if more > 0 else [])])


def _of_flops(flip: AcrossFlip, before: Observation, after: Observation) -> Iterator[FlipReason]:
    """Yield the reason that XLA's count of operations is where it doubles.

    Work on captured arrays alone is left to its hazard and the measured calls.
    """
    old, new = (each.executable.flops if each.executable else None for each in (before, after))
    if old is None or new is None or flip.hazard("folded by legacy alone"):
        return
    if new > _MORE_FLOPS * old and new - old > _FLOPS_PER_CALL:
        repeated = flip.hazard("hoisted more than once")
        yield FlipReason(
            outcome="safe but slower or larger",
            kind="structure or count",
            subject="operations",
            what=f"XLA counts {humanise_count(new)} floating-point operations of a call after the "
            f"flip and {humanise_count(old)} before",
            where=lines_of(repeated) if repeated else flip.largest,
            action=repeated[0].fix if repeated else advice("computes more"),
        )


def _of_arrays(before: Observation, after: Observation) -> Iterator[FlipReason]:
    """Yield the reason that captured arrays are which stay inlined after the flip."""
    if arrays := left_inlined(before, after):
        size = humanise_bytes(sum(array.bytes for array in arrays))
        yield FlipReason(
            outcome="safe but slower or larger",
            kind="size",
            subject="inlined arrays",
            what=f"not hoisted and still inlined: {counted(len(arrays), 'captured array')} of "
            f"{size}, so compile time and memory stay as before the flip",
            where=named(arrays),
            action=advice("pass as argument"),
        )
