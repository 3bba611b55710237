"""Sweep: one program over the embed threshold, and which threshold to choose.

The rule is in `recommend`. Thresholds under which compiling takes more than 10 % longer than under
the smallest one are left out. Of the others it takes the smallest whose call is within 5 % of their
fastest. Small, because a hoisted array is in no module and no executable. Both slacks are widened
to the noise of the measurement. Where all thresholds are within them there is nothing to choose;
and where it takes the noise for that, it is not known whether there is.

A preamble under the smallest threshold is measured beside them. It is recommended where its call is
faster still and compiling keeps to the same limit. Where another call is 3 times as fast or more,
no limit of compile time counts: of the rows that are not 3 times as slow as the fastest, the one
that compiles in the shortest time is recommended.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from engine.runtime import executable_cache
from parity_tests.experiments.interleaved_timing import (
    figures,
    interleaved,
    noise,
    not_far_behind,
    ratio,
)
from parity_tests.experiments.variants import Variants
from parity_tests.observe.environment import describe
from parity_tests.processes.protocol import Progress
from parity_tests.program import Program
from parity_tests.targets import digest_of
from reports.rows import now
from reports.rows.experiments import Sweep, SweepPoint, SweepQuestion
from reports.views.figures import humanise_seconds
from reports.views.texts import counted

CALL_SLACK = 0.05
COMPILE_SLACK = 0.10
CALLS_PER_SAMPLE = 4
PREAMBLE = -1  # beside thresholds: the smallest of them, with a preamble


@executable_cache.unshared()  # a threshold is compiled several times, to time it
def sweep(
    program: Program, question: SweepQuestion, tell: Progress = lambda done, total, text: None
) -> Sweep:
    """Measure a program under each threshold. Raises whatever the program raises.

    Example::

        sweep(targets.load_one("my_model.py:step"), SweepQuestion(thresholds=(0, 32, 1024)))
    """
    timed = _timed(Variants(program), sorted(set(question.thresholds)), question.samples, tell)
    call_noise, compile_noise = noise(timed.calls.values()), noise(timed.compiles.values())
    points, preamble = timed.points(), timed.preamble()
    chosen, reason = recommend(points, preamble, call_noise=call_noise, compile_noise=compile_noise)
    return Sweep(
        created=now(),
        environment=describe(),
        program=program.name,
        source=program.source,
        digest=digest_of(Path(program.source.rpartition(":")[0])),
        points=points,
        call_noise=call_noise,
        compile_noise=compile_noise,
        recommended=None if chosen == PREAMBLE else chosen,
        preamble=preamble,
        precompute_constants="auto" if chosen == PREAMBLE else "off",
        reason=reason,
    )


@dataclass(frozen=True)
class _Timed:
    """A program lowered under each threshold, and the times of each different program, in seconds.

    `same_as` has the smallest threshold that hoists as many arrays: it gives the same program,
    which is compiled and timed once. The program with a preamble is `PREAMBLE`.
    """

    lowered: dict[int, Any]
    same_as: dict[int, int]
    compiled: dict[int, Any]
    compiles: dict[int, list[float]]
    calls: dict[int, list[float]]
    dispatches: dict[int, list[float]]

    def points(self) -> tuple[SweepPoint, ...]:
        """Return the row of each threshold."""
        return tuple(self._point(threshold, same) for threshold, same in self.same_as.items())

    def preamble(self) -> SweepPoint | None:
        """Return the row of the preamble, if it has work."""
        return self._point(min(self.same_as), PREAMBLE) if PREAMBLE in self.lowered else None

    def _point(self, threshold: int, same: int) -> SweepPoint:
        return SweepPoint(
            threshold=threshold,
            **figures(self.lowered[same], self.compiled[same]),
            compile_seconds=statistics.median(self.compiles[same]),
            call_seconds=statistics.median(self.calls[same]),
            dispatch_seconds=statistics.median(self.dispatches[same]),
        )


def _timed(variants: Variants, thresholds: Sequence[int], samples: int, tell: Progress) -> _Timed:
    tell(0, 0, f"lowering under {counted(len(thresholds), 'threshold')}")
    lowered = {each: variants.lower_under(each) for each in thresholds}
    # A smaller threshold hoists all that a larger one does: an equal number is an equal program.
    first = {len(lowered[each].const_args): each for each in reversed(thresholds)}
    compiles = interleaved(
        {each: partial(_fresh_compilation, variants, each) for each in first.values()},
        samples,
        tell=tell,
        what=f"compiling {counted(len(first), 'variant')}",
    )
    tell(0, 0, "compiling the variants that are called")
    compiled = {each: lowered[each].compile() for each in first.values()}
    tell(0, 0, "compiling with a preamble")
    begun = time.perf_counter()
    with_preamble = variants.lower_with_preamble(thresholds[0])
    compiled_with_it = with_preamble.compile()
    if with_preamble.as_text() != lowered[thresholds[0]].as_text():
        # Once, and not for a median: later programs share the results of the preamble.
        compiles[PREAMBLE] = [time.perf_counter() - begun]
        lowered[PREAMBLE], compiled[PREAMBLE] = with_preamble, compiled_with_it
    calls = interleaved(
        {each: partial(_warm_call, variants, compiled[each]) for each in compiled},
        samples * CALLS_PER_SAMPLE,
        tell=tell,
        what="calling",
    )
    dispatches = interleaved(
        {each: partial(_dispatch, variants, compiled[each]) for each in compiled},
        samples * CALLS_PER_SAMPLE,
        tell=tell,
        what="dispatching",
    )
    same_as = {each: first[len(lowered[each].const_args)] for each in thresholds}
    return _Timed(lowered, same_as, compiled, compiles, calls, dispatches)


def _fresh_compilation(variants: Variants, threshold: int) -> Callable[[], object]:
    compilation: Callable[[], object] = variants.lower_under(threshold).compile
    return compilation


def _warm_call(variants: Variants, compiled: Any) -> Callable[[], object]:
    return partial(variants.call, compiled)


def _dispatch(variants: Variants, compiled: Any) -> Callable[[], object]:
    """Prepare a call that is not waited for, when no other call is under way."""
    variants.call(compiled)
    return partial(compiled, *variants.args, **variants.kwargs)


def recommend(
    points: Sequence[SweepPoint],
    preamble: SweepPoint | None = None,
    *,
    call_noise: float = 0.0,
    compile_noise: float = 0.0,
) -> tuple[int | None, str]:
    """Return the threshold to choose and why; None where there is nothing to choose.

    `PREAMBLE` stands for the preamble. A noise is how far equal measurements are apart, as a ratio
    less 1. The rule is at the head of this file.
    """
    points = sorted(points, key=lambda point: point.threshold)
    call_slack, compile_slack = max(CALL_SLACK, call_noise), max(COMPILE_SLACK, compile_noise)
    chosen, reason = _threshold_recommended(points, call_slack, compile_slack)
    differ = len({point.const_args for point in points}) > 1
    rows = {point.threshold: point for point in (points if differ else points[:1])}
    now = rows[points[0].threshold if chosen is None else chosen]
    best = now.threshold
    if preamble is not None:
        rows[PREAMBLE] = preamble
        limit = points[0].compile_seconds * (1 + compile_slack)
        is_faster = preamble.call_seconds * (1 + call_slack) < now.call_seconds
        best = PREAMBLE if is_faster and preamble.compile_seconds <= limit else best
    best = not_far_behind(
        best,
        {each: row.call_seconds for each, row in rows.items()},
        {each: row.compile_seconds for each, row in rows.items()},
    )
    if best == now.threshold:
        return chosen, reason
    faster = now.call_seconds / rows[best].call_seconds
    longer = rows[best].compile_seconds / now.compile_seconds
    return best, (
        f"a call takes {humanise_seconds(rows[best].call_seconds)}, "
        f"{humanise_seconds(now.call_seconds)} under {now.threshold} ({faster:.1f} times as fast); "
        f"compiling takes {longer:.1f} times as long"
    )


def _threshold_recommended(
    points: Sequence[SweepPoint], call_slack: float, compile_slack: float
) -> tuple[int | None, str]:
    """Choose among thresholds alone, in ascending order."""
    if len({point.const_args for point in points}) == 1:
        return None, "no difference: the same arrays are hoisted under every threshold"
    calls = ratio([point.call_seconds for point in points])
    compiles = ratio([point.compile_seconds for point in points])
    if calls <= 1 + CALL_SLACK and compiles <= 1 + COMPILE_SLACK:
        within = f"{CALL_SLACK:.0%} for a call and {COMPILE_SLACK:.0%} to compile"
        return None, f"no difference: all times are within {within}"
    if calls <= 1 + call_slack and compiles <= 1 + compile_slack:
        noises = [f"{call_slack:.0%} for a call"] if call_slack > CALL_SLACK else []
        noises += [f"{compile_slack:.0%} to compile"] if compile_slack > COMPILE_SLACK else []
        vary = f"times vary by {' and '.join(noises)} from run to run"
        return None, f"not known: {vary}; give more --samples"
    smallest = points[0]
    compile_limit = smallest.compile_seconds * (1 + compile_slack)
    eligible = [point for point in points if point.compile_seconds <= compile_limit]
    fastest = min(point.call_seconds for point in eligible)
    chosen = next(p for p in eligible if p.call_seconds <= fastest * (1 + call_slack))
    left_out = len(points) - len(eligible)
    beside = (
        f"; {counted(left_out, 'threshold')} left out, compiling more than {compile_slack:.0%} "
        f"longer than {smallest.threshold}"
        if left_out
        else ""
    )
    quickest = min(points, key=lambda point: point.compile_seconds)
    if chosen.compile_seconds > quickest.compile_seconds * (1 + compile_slack):
        times = chosen.compile_seconds / quickest.compile_seconds
        beside += f"; {quickest.threshold} would compile {times:.1f} times as fast"
    return chosen.threshold, (
        f"the smallest threshold with a call within {call_slack:.0%} of the fastest "
        f"({humanise_seconds(chosen.call_seconds)}, fastest {humanise_seconds(fastest)}){beside}"
    )
