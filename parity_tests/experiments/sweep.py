"""Sweep: one program over the embed threshold, and which threshold to choose.

The rule, in `recommend`: of the thresholds under which compiling takes at most 10 % longer than
under the smallest one, the smallest whose call is within 5 % of their fastest. Small, because each
array that is hoisted is one that is not in the module and in every executable again. Both slacks
are widened to the noise of the measurement, and where all thresholds are within them there is
nothing to choose.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from engine.runtime import executable_cache
from parity_tests.experiments.interleaved_timing import figures, interleaved, noise, ratio
from parity_tests.experiments.variants import Variants
from parity_tests.observe.environment import describe
from parity_tests.program import Program
from reports.rows.experiments import Sweep, SweepPoint, SweepQuestion
from reports.views.texts import counted

CALL_SLACK = 0.05
COMPILE_SLACK = 0.10
CALLS_PER_SAMPLE = 4


@executable_cache.unshared()  # a threshold is compiled several times, to time it
def sweep(program: Program, question: SweepQuestion) -> Sweep:
    """Measure a program under each threshold. Raises whatever the program raises.

    sweep(targets.load_one("my_model.py:step"), SweepQuestion(thresholds=(0, 32, 1024)))
    """
    variants = Variants(program)
    thresholds = sorted(set(question.thresholds))
    lowered = {each: variants.lower_under(each) for each in thresholds}
    # What a larger threshold hoists, a smaller one hoists too: of equal number is the same program.
    first = {len(lowered[each].const_args): each for each in reversed(thresholds)}
    compiles = interleaved(
        {each: partial(_fresh_compilation, variants, each) for each in first.values()},
        question.samples,
    )
    compiled = {each: lowered[each].compile() for each in first.values()}
    calls = interleaved(
        {each: partial(_warm_call, variants, compiled[each]) for each in first.values()},
        question.samples * CALLS_PER_SAMPLE,
    )
    dispatches = interleaved(
        {each: partial(_dispatch, variants, compiled[each]) for each in first.values()},
        question.samples * CALLS_PER_SAMPLE,
    )
    points = []
    for threshold in thresholds:
        same = first[len(lowered[threshold].const_args)]
        points.append(
            SweepPoint(
                threshold=threshold,
                **figures(lowered[same], compiled[same]),
                compile_seconds=statistics.median(compiles[same]),
                call_seconds=statistics.median(calls[same]),
                dispatch_seconds=statistics.median(dispatches[same]),
            )
        )
    call_noise, compile_noise = noise(calls.values()), noise(compiles.values())
    recommended, reason = recommend(points, call_noise=call_noise, compile_noise=compile_noise)
    return Sweep(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        environment=describe(),
        program=program.name,
        source=program.source,
        points=tuple(points),
        call_noise=call_noise,
        compile_noise=compile_noise,
        recommended=recommended,
        reason=reason,
    )


def recommend(
    points: Sequence[SweepPoint], *, call_noise: float = 0.0, compile_noise: float = 0.0
) -> tuple[int | None, str]:
    """Return the threshold to choose and why; None where there is nothing to choose.

    The noises are how far the times are from themselves, as a ratio less 1; the rule is at the head
    of this file.

        recommend(points)[0] == 32
    """
    points = sorted(points, key=lambda point: point.threshold)
    if len({point.const_args for point in points}) == 1:
        return None, "no difference: the same arrays are hoisted under every threshold"
    call_slack, compile_slack = max(CALL_SLACK, call_noise), max(COMPILE_SLACK, compile_noise)
    within = f"{call_slack:.0%} for a call and {compile_slack:.0%} to compile"
    if ratio([p.call_seconds for p in points]) <= 1 + call_slack and (
        ratio([p.compile_seconds for p in points]) <= 1 + compile_slack
    ):
        return None, f"no difference: all times are within {within}"
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
        f"({chosen.call_seconds:.3g} s, fastest {fastest:.3g} s){beside}"
    )


def _fresh_compilation(variants: Variants, threshold: int) -> Callable[[], object]:
    return variants.lower_under(threshold).compile


def _warm_call(variants: Variants, compiled: Any) -> Callable[[], object]:
    return partial(variants.call, compiled)


def _dispatch(variants: Variants, compiled: Any) -> Callable[[], object]:
    """A call that is not waited for, when nothing else is under way."""
    variants.call(compiled)
    return partial(compiled, *variants.args, **variants.kwargs)
