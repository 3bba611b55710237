"""Tune: which captured arrays of a program to inline, so that its calls get faster.

It starts from all arrays hoisted, which is what a flip of the default does. Arrays that make a call
faster when they alone are inlined are inlined one after the other, the greatest gain first. One
stays inlined where a call, timed anew beside that of the program without it, is faster by more
than 5 %, or by more than the noise where there is more, and where lowering and compiling take at
most `compile_factor` times as long as with all arrays hoisted. Arrays that help only
together are found by inlining all of them, and hoisting again what is not missed. The end of this
path is the proposal if it holds once more, else what is before it: a time that came and went is no
gain.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from engine.runtime import executable_cache
from parity_tests.experiments.interleaved_timing import figures, interleaved, noise, seconds_of
from parity_tests.experiments.policy_keys import Keyed, keyed, table
from parity_tests.experiments.variants import Variants
from parity_tests.jaxpr.places import relative
from parity_tests.observe.environment import describe
from parity_tests.program import Program
from reports.rows.experiments import (
    TunedArrays,
    TuneOutcome,
    TunePoint,
    TunePointKind,
    TuneQuestion,
    Tuning,
)
from reports.views.figures import humanise_seconds
from reports.views.texts import counted

CALL_SLACK = 0.05
CALLS_PER_SAMPLE = 4  # or as many as take so many seconds, up to the most of them
SAMPLE_SECONDS = 0.002
MOST_CALLS_PER_SAMPLE = 40
# What takes this many times the allowed time is compiled once, and not again for a median.
HOPELESS = 2.0

Inlined = frozenset[str]  # keys of the arrays that are inlined; all others are hoisted
NOTHING: Inlined = frozenset()


@executable_cache.unshared()  # a set of arrays is compiled several times, to time it
def tune(program: Program, question: TuneQuestion) -> Tuning:
    """Look for a constant policy of a program. Raises whatever the program raises.

    tune(targets.load_one("my_model.py:step"), TuneQuestion()).proposal
    """
    variants = Variants(program)
    arrays = keyed(variants.constants())
    small = [each for each in arrays if each.largest <= question.most_bytes]
    singles = [frozenset([each.key]) for each in small[: question.most_arrays]]
    everything = NOTHING.union(*singles)
    stand = _Stand(variants, arrays, question)
    alone = stand.measure([*singles, everything])
    steps, too_long = _path(stand.measure, alone, singles, everything)
    curve = stand.measure([*singles, *steps, everything]) if steps else alone
    walked = bool(steps)
    while steps and (curve.compiles_too_long(steps[-1]) or not curve.is_faster(steps[-1], NOTHING)):
        last = steps.pop()
        if curve.compiles_too_long(last):
            too_long |= last.difference(*steps[-1:])
    chosen = steps[-1] if steps else NOTHING
    lost = walked and not chosen and not too_long

    def outcome(each: Keyed) -> TuneOutcome:
        if each.key in chosen:
            return "inlined"
        if each.key in too_long:
            return "compiles too long"
        if each.key in everything:
            return "no faster"
        return "not tried" if each in small else "too large"

    point = partial(_point, arrays)
    return Tuning(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        environment=describe(),
        program=program.name,
        source=program.source,
        question=question,
        arrays=tuple(_row(each, outcome(each)) for each in arrays),
        points=(
            point("all hoisted", NOTHING, curve),
            *(point("alone", each, curve) for each in singles),
            *(point("path", each, curve) for each in steps),
            *([point("all inlined", everything, curve)] if singles else []),
        ),
        call_noise=curve.call_noise,
        first_noise=curve.first_noise,
        proposal=table(arrays, chosen),
        reason=_reason(curve, chosen, too_long, everything, lost=lost),
    )


# -- measuring -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Variant:
    """One set of inlined arrays, compiled; `seconds` is how long lowering and compiling took."""

    seconds: float
    compiled: Any
    figures: dict[str, Any]


@dataclass(frozen=True)
class _Measured:
    """Variants that were measured in turns, and medians of their times in seconds."""

    figures: dict[Inlined, dict[str, Any]]
    first: dict[Inlined, float]
    call: dict[Inlined, float]
    first_noise: float
    call_noise: float
    compile_factor: float

    @property
    def slack(self) -> float:
        return max(CALL_SLACK, self.call_noise)

    def is_faster(self, one: Inlined, other: Inlined) -> bool:
        """Whether a call is faster, by more than slack and noise."""
        return self.call[one] * (1 + self.slack) < self.call[other]

    def compiles_too_long(self, inlined: Inlined) -> bool:
        return self.first[inlined] > self.compile_factor * self.first[NOTHING]


class _Stand:
    """Where the variants of one program are compiled and called."""

    def __init__(self, variants: Variants, arrays: Sequence[Keyed], question: TuneQuestion) -> None:
        self._variants, self._arrays, self._question = variants, arrays, question
        self._hopeless: dict[Inlined, _Variant] = {}
        self._build(NOTHING)  # what XLA does once in a process is not charged to a variant

    def measure(self, sets: Iterable[Inlined]) -> _Measured:
        """Measure sets of inlined arrays in turns, with that of none as the first."""
        samples = self._question.samples
        built = {each: self._variant(each) for each in dict.fromkeys([NOTHING, *sets])}
        limit = HOPELESS * self._question.compile_factor * built[NOTHING].seconds
        self._hopeless |= {each: v for each, v in built.items() if v.seconds > limit}
        firsts = interleaved(
            {each: partial(self._fresh, each) for each in built if each not in self._hopeless},
            samples,
            lost=0,
        )
        calls = interleaved(
            {each: partial(self._warm, variant.compiled) for each, variant in built.items()},
            samples * self._calls_per_sample(built[NOTHING]),
        )
        return _Measured(
            figures={each: variant.figures for each, variant in built.items()},
            first={
                each: statistics.median(firsts.get(each, [variant.seconds]))
                for each, variant in built.items()
            },
            call={each: statistics.median(taken) for each, taken in calls.items()},
            first_noise=noise(firsts.values()),
            call_noise=noise(calls.values()),
            compile_factor=self._question.compile_factor,
        )

    def _variant(self, inlined: Inlined) -> _Variant:
        return self._hopeless.get(inlined) or self._build(inlined)

    def _build(self, inlined: Inlined) -> _Variant:
        stages: list[Any] = []
        seconds = seconds_of(lambda: stages.extend(self._stages(inlined)))
        lowered, compiled = stages
        return _Variant(seconds, compiled, figures(lowered, compiled))

    def _stages(self, inlined: Inlined) -> tuple[Any, Any]:
        hoisted = (each.identities for each in self._arrays if each.key not in inlined)
        lowered = self._variants.lower(frozenset().union(*hoisted))
        return lowered, lowered.compile()

    def _calls_per_sample(self, variant: _Variant) -> int:
        call = self._warm(variant.compiled)
        call()
        quick = int(SAMPLE_SECONDS / max(seconds_of(call), 1e-9))
        return min(max(CALLS_PER_SAMPLE, quick), MOST_CALLS_PER_SAMPLE)

    def _fresh(self, inlined: Inlined) -> Callable[[], object]:
        return partial(self._stages, inlined)

    def _warm(self, compiled: Any) -> Callable[[], object]:
        return partial(self._variants.call, compiled)


# -- judging ---------------------------------------------------------------------------------------


def _path(
    measure: Callable[[Iterable[Inlined]], _Measured],
    alone: _Measured,
    singles: Sequence[Inlined],
    everything: Inlined,
) -> tuple[list[Inlined], Inlined]:
    """The sets of the path, without that of no array, and what would be faster but compiles long.

    `alone` has the measurements of each array alone and of all that may be inlined.
    """
    steps, too_long = [NOTHING], NOTHING
    gaining = [single for single in singles if alone.is_faster(single, NOTHING)]
    for single in sorted(gaining, key=alone.call.__getitem__):
        more = steps[-1] | single
        if alone.compiles_too_long(single):
            too_long |= single
            continue
        measured = measure([steps[-1], more])
        if measured.compiles_too_long(more):
            too_long |= single
        elif measured.is_faster(more, steps[-1]):
            steps.append(more)
    if (
        everything not in (*steps, *singles)
        and alone.is_faster(everything, NOTHING)
        and not alone.compiles_too_long(everything)
    ):
        measured = measure([steps[-1], everything])
        if measured.is_faster(everything, steps[-1]) and not measured.compiles_too_long(everything):
            steps.append(_without_what_is_not_missed(measure, steps[-1], everything))
    return steps[1:], too_long


def _without_what_is_not_missed(
    measure: Callable[[Iterable[Inlined]], _Measured], kept: Inlined, everything: Inlined
) -> Inlined:
    needed = everything
    for key in sorted(everything - kept):
        fewer = needed - {key}
        if not measure([fewer, everything]).is_faster(everything, fewer):
            needed = fewer
    return needed


def _reason(
    curve: _Measured, chosen: Inlined, too_long: Inlined, everything: Inlined, *, lost: bool
) -> str:
    factor = f"{curve.compile_factor:g} times as long to compile"
    slow = f"{counted(len(too_long - chosen), 'key')} would be faster, taking more than {factor}"
    if chosen:
        gain, cost = (times[NOTHING] / times[chosen] for times in (curve.call, curve.first))
        return (
            f"a call takes {humanise_seconds(curve.call[chosen])}, with all arrays hoisted "
            f"{humanise_seconds(curve.call[NOTHING])} ({gain:.2f} times as fast); compiling takes "
            f"{1 / cost:.2f} times as long" + f"; {slow}" * bool(too_long - chosen)
        )
    if not everything:
        return "hoist everything: no captured array may be inlined"
    if lost:
        return "hoist everything: a gain was seen, and not seen again; try more --samples"
    if too_long:
        return f"hoist everything: {slow}"
    if curve.compiles_too_long(everything) and curve.is_faster(everything, NOTHING):
        return f"hoist everything: inlining all would be faster, taking more than {factor}"
    return f"no difference: hoist everything; no call is faster by more than {curve.slack:.0%}"


# -- rows ------------------------------------------------------------------------------------------


def _row(each: Keyed, outcome: TuneOutcome) -> TunedArrays:
    file, line, function = each.place or ("", 0, "")
    return TunedArrays(
        key=each.key,
        array=each.aval,
        file=relative(file),
        line=line,
        function=function,
        count=len(each.identities),
        bytes=each.bytes,
        outcome=outcome,
    )


def _point(
    arrays: Sequence[Keyed], kind: TunePointKind, inlined: Inlined, measured: _Measured
) -> TunePoint:
    of_set = [each for each in arrays if each.key in inlined]
    return TunePoint(
        kind=kind,
        inlined=tuple(each.key for each in of_set),
        array_bytes=sum(each.bytes for each in of_set),
        **measured.figures[inlined],
        first_seconds=measured.first[inlined],
        call_seconds=measured.call[inlined],
    )
