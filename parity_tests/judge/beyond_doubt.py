"""Times, and limits exceeded, that one process of each side leaves beyond doubt.

The calls of one process are few and share its luck, so only what is coarse can be told from them.
The interval of a ratio goes from the fast calls of the right side over the slow calls of the left
one to the opposite. A tenth of the calls at each end is left out, because a single call may wait
for the machine.

Each bound is exact and assumes no shape of the distribution: two samples of one distribution stand
apart like this at most once in 1,000 draws. If leaving calls out makes that more likely, none is
left out; if the calls are too few all the same, there is no interval.

That holds for independent calls. A process that runs beside others may be slow as a whole, so a
campaign measures both sides twice more, one process after the other, and a time is slower only
where each process after the flip is slower than each one before it. Other work on the machine
stretches a few calls of a process to many times the rest, and no interval is left; medians that
exceed the limits threefold in every process are slower all the same. A program that compiles for
long is measured once where each slower time exceeds its limits threefold.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reports.rows import Failure, Observation, StageTimes, TimeMetric

ERROR = 1e-3  # of each bound
LEFT_OUT = 10  # one of so many calls, at each end
FACTOR = 2.0
SECONDS_APART = 100e-6  # less is the price of a thread that wakes up, not of a program

# Stages that a process takes once.
ONCE: tuple[TimeMetric, ...] = ("trace", "lower", "compile")
FACTOR_ONCE = 3.0
SECONDS_ONCE = 0.5

FAR = 3.0  # times the limits
LEAST_CALLS = 3  # of a process, for a median

# An idle machine takes about as much of the clock as of its processors, or less.
BUSY = 1.25
LEAST_CLOCK = 1.0  # seconds


@dataclass(frozen=True)
class CallRatio:
    """The ratio of two medians, its interval, and the seconds between the two sides.

    They are at least `apart`, which is negative where the samples overlap, and the right side takes
    at most `at_most` more.
    """

    ratio: float
    low: float
    high: float
    apart: float
    at_most: float
    samples: tuple[int, int]

    @property
    def is_open(self) -> bool:
        """Whether the calls leave it open if the right side takes more than twice the time."""
        return not self.is_slower and self.high > FACTOR and self.at_most > SECONDS_APART

    @property
    def is_slower(self) -> bool:
        """Whether the right side takes more than twice the time, beyond doubt."""
        return self.exceeds(1.0)

    def exceeds(self, times: float) -> bool:
        """Say whether the right side is slower by so many times the limits, beyond doubt."""
        return self.low > times * FACTOR and self.apart > times * SECONDS_APART

    @property
    def is_faster(self) -> bool:
        """Whether the right side takes less than half the time, beyond doubt."""
        return self.high < 1 / FACTOR and self.apart > SECONDS_APART


def calls(left: StageTimes, right: StageTimes) -> CallRatio | None:
    """Return the ratio of the calls of two sides; None where they are too few for an interval.

    Example::

        calls(before.times, after.times).is_slower
    """
    return _ratio(left.call_seconds, right.call_seconds)


def slower_stages(
    left: StageTimes, right: StageTimes, limits: float = 1.0
) -> tuple[TimeMetric, ...]:
    """Return the stages that take longer on the right, beyond what one process may come to.

    `limits` says how many times the limits are exceeded.

    Example::

        slower_stages(before.times, after.times) == ("call",)
    """
    found = []
    for stage in ONCE:
        old, new = getattr(left, stage), getattr(right, stage)
        if new > limits * FACTOR_ONCE * old and new - old > limits * SECONDS_ONCE:
            found.append(stage)
    ratio = calls(left, right)
    return (*found, "call") if ratio and ratio.exceeds(limits) else tuple(found)


def seem_slower(left: StageTimes, right: StageTimes, limits: float = 1.0) -> bool:
    """Say whether the median call on the right is slower by so many times the limits.

    Example::

        seem_slower(before.times, after.times, beyond_doubt.FAR)
    """
    if min(len(left.call_seconds), len(right.call_seconds)) < LEAST_CALLS:
        return False
    old, new = statistics.median(left.call_seconds), statistics.median(right.call_seconds)
    return new > limits * FACTOR * old and new - old > limits * SECONDS_APART


def may_be_slower(left: StageTimes, right: StageTimes) -> bool:
    """Say whether a stage is slower on the right, or calls seem to be by far: to measure again.

    Example::

        may_be_slower(before.times, after.times)
    """
    return bool(slower_stages(left, right)) or seem_slower(left, right, FAR)


def is_settled(left: StageTimes, right: StageTimes) -> bool:
    """Say whether one process of each side is enough: more take long, and little can change.

    Example::

        is_settled(before.times, after.times)
    """
    is_long = left.is_long or right.is_long
    return is_long and slower_stages(left, right) == slower_stages(left, right, FAR)


def slower_in_all(pairs: Sequence[tuple[StageTimes, StageTimes]]) -> tuple[TimeMetric, ...]:
    """Return the stages that take longer in each process on the right than in each on the left.

    Example::

        slower_in_all([(before.times, after.times), *measured_again]) == ("compile",)
    """
    lefts, rights = zip(*pairs, strict=True)
    # One process of each side has no medians to confirm others.
    by_far: list[TimeMetric] = ["call"] if len(pairs) > 1 else []
    found = [
        {*slower_stages(left, right), *(by_far if seem_slower(left, right, FAR) else [])}
        for left in lefts
        for right in rights
    ]
    return tuple(each for each in (*ONCE, "call") if all(each in stages for stages in found))


def waiting(times: Iterable[StageTimes]) -> str:
    """Say how long processes waited that trace, lower and compile; "" where that is not much.

    Other work on the machine lengthens what they take of the clock, and not of its processors.

    Example::

        waiting([before.times, after.times])
    """
    known = [each for each in times if each.processor is not None]
    clock = sum(each.trace + each.lower + each.compile for each in known)
    processor = sum(each.processor or 0.0 for each in known)
    if clock < LEAST_CLOCK or clock < BUSY * processor:
        return ""
    return (
        f"the machine is busy: tracing, lowering and compiling took {clock:.1f} s of the clock and "
        f"{processor:.1f} s of its processors, so times are longer than on an idle one"
    )


def _ratio(left: Sequence[float], right: Sequence[float]) -> CallRatio | None:
    without = len(left) // LEFT_OUT, len(right) // LEFT_OUT
    sizes = len(left), len(right)
    possible = (each for each in (without, (0, 0)) if chance_apart(sizes, each) <= ERROR)
    skipped = next(possible, None)
    if skipped is None or min(*left, *right) <= 0:
        return None
    (fast, slow), (right_fast, right_slow) = (
        (ordered[skip], ordered[-1 - skip])
        for ordered, skip in zip((sorted(left), sorted(right)), skipped, strict=True)
    )
    return CallRatio(
        ratio=statistics.median(right) / statistics.median(left),
        low=right_fast / slow,
        high=right_slow / fast,
        apart=max(right_fast - slow, fast - right_slow),
        at_most=right_slow - fast,
        samples=sizes,
    )


def chance_apart(sizes: tuple[int, int], skipped: tuple[int, int] = (0, 0)) -> float:
    """Return the chance that two samples of one distribution stand apart, but for the skipped.

    The right one's smallest but `skipped[1]` then lies above the left one's largest but
    `skipped[0]`. All orders of the samples are equally likely (a negative hypergeometric law).

    Example::

        chance_apart((3, 3)) == 1 / 20
    """
    (n, m), (of_left, of_right) = sizes, skipped
    if not n or not m:
        return 1.0
    orders = sum(
        math.comb(below + of_right, of_right)
        * math.comb(n - below + m - of_right - 1, m - of_right - 1)
        for below in range(n - of_left, n + 1)
    )
    return orders / math.comb(n + m, n)


# -- a limit that one side exceeds -----------------------------------------------------------------

# A side that stays this far below a limit leaves no doubt that another one should, too.
_FAR_BELOW = 10


def is_beyond_doubt(failure: Failure, other: Observation) -> bool:
    """Say whether a side exceeded a limit that another side stays far below.

    Example::

        is_beyond_doubt(after.failure, before)
    """
    needed = taken(other, failure)
    return failure.limit is not None and needed is not None and needed * _FAR_BELOW < failure.limit


def taken(observation: Observation, failure: Failure) -> float | None:
    """Return what a side took of the resource that a failure is about; None where not measured."""
    times, memory = observation.times, observation.host_memory
    if failure.kind == "timeout" and times is not None:
        return times.trace + times.lower + times.compile + times.first_call
    if failure.kind == "memory" and memory is not None:
        return max(memory.trace_and_lower, memory.compile)
    return None
