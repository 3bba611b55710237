"""Inlining times: how long a program takes with some of its captured arrays inlined."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from parity_tests.experiments.interleaved_timing import figures, interleaved, noise, seconds_of
from parity_tests.experiments.variants import KeyedArrays, Variants
from parity_tests.processes.protocol import Progress
from reports.rows.experiments import TuneQuestion
from reports.views.texts import counted

CALL_SLACK = 0.05
# Calls of one sample: at least 4, and as many as take 2 ms, but at most 40.
CALLS_PER_SAMPLE = 4
SAMPLE_SECONDS = 0.002
MOST_CALLS_PER_SAMPLE = 40
# A set that takes this many times the allowed time is compiled once, and not again for a median.
HOPELESS = 2.0

Inlined = frozenset[str]  # keys of the arrays that are inlined; all others are hoisted
NOTHING: Inlined = frozenset()
# Nothing is inlined, and a preamble does the constant work. No key is so named.
PREAMBLE: Inlined = frozenset({"preamble"})


@dataclass(frozen=True)
class _BuiltVariant:
    """One set of inlined arrays, compiled; lowering and compiling took `seconds`."""

    seconds: float
    compiled: Any
    figures: dict[str, Any]


@dataclass(frozen=True)
class InliningTimes:
    """Sets of inlined arrays that were timed in turns, with medians of their times in seconds.

    `first` is lowering and compiling, `call` a call. `figures` are what else was read off each.
    """

    figures: dict[Inlined, dict[str, Any]]
    first: dict[Inlined, float]
    call: dict[Inlined, float]
    first_noise: float
    call_noise: float
    compile_factor: float

    @property
    def slack(self) -> float:
        """By what share a call has to be faster to be called faster."""
        return max(CALL_SLACK, self.call_noise)

    def is_faster(self, one: Inlined, other: Inlined) -> bool:
        """Say whether a call is faster by more than the slack, which is at least the noise."""
        return self.call[one] * (1 + self.slack) < self.call[other]

    def compiles_too_long(self, inlined: Inlined) -> bool:
        """Say whether lowering and compiling exceed the allowed multiple of all arrays hoisted."""
        return self.first[inlined] > self.compile_factor * self.first[NOTHING]


class InliningTimer:
    """Compiles and calls one program with sets of its arrays inlined, and times that."""

    def __init__(
        self,
        variants: Variants,
        arrays: Sequence[KeyedArrays],
        question: TuneQuestion,
        tell: Progress = lambda done, total, text: None,
    ) -> None:
        self._tell = tell
        self._variants, self._arrays, self._question = variants, arrays, question
        self._once: dict[Inlined, _BuiltVariant] = {}  # compiled once, and not for a median
        tell(0, 0, "compiling with all arrays hoisted")
        # What XLA does once in a process is not charged to a variant.
        self._nothing = self._build(NOTHING).figures

    def measure(self, sets: Iterable[Inlined]) -> InliningTimes:
        """Time sets of inlined arrays in turns, the empty set first."""
        samples = self._question.samples
        wanted = list(dict.fromkeys([NOTHING, *sets]))
        built: dict[Inlined, _BuiltVariant] = {}
        for number, each in enumerate(wanted):
            self._tell(number, len(wanted), f"compiling, {_named(each)}")
            built[each] = self._once.get(each) or self._build(each)
        variants = counted(len(built), "variant")
        limit = HOPELESS * self._question.compile_factor * built[NOTHING].seconds
        self._once |= {each: v for each, v in built.items() if v.seconds > limit}
        firsts = interleaved(
            {each: partial(self._fresh, each) for each in built if each not in self._once},
            samples,
            lost=0,
            tell=self._tell,
            what=f"compiling {variants} again",
        )
        calls = interleaved(
            {each: partial(self._warm, variant.compiled) for each, variant in built.items()},
            samples * self._calls_per_sample(built[NOTHING]),
            tell=self._tell,
            what=f"calling {variants}",
        )
        return InliningTimes(
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

    def has_preamble(self) -> bool:
        """Say whether a preamble has work to do; it is built once, for later ones share results."""
        self._tell(0, 0, "compiling with a preamble")
        self._once[PREAMBLE] = self._build(PREAMBLE)
        return self._once[PREAMBLE].figures != self._nothing

    def _build(self, inlined: Inlined) -> _BuiltVariant:
        stages: list[Any] = []
        seconds = seconds_of(lambda: stages.extend(self._stages(inlined)))
        lowered, compiled = stages
        return _BuiltVariant(seconds, compiled, figures(lowered, compiled))

    def _stages(self, inlined: Inlined) -> tuple[Any, Any]:
        if inlined == PREAMBLE:
            lowered = self._variants.lower_with_preamble()
            return lowered, lowered.compile()
        hoisted = (each.identities for each in self._arrays if each.key not in inlined)
        lowered = self._variants.lower(frozenset().union(*hoisted))
        return lowered, lowered.compile()

    def _calls_per_sample(self, variant: _BuiltVariant) -> int:
        call = self._warm(variant.compiled)
        call()
        quick = int(SAMPLE_SECONDS / max(seconds_of(call), 1e-9))
        return min(max(CALLS_PER_SAMPLE, quick), MOST_CALLS_PER_SAMPLE)

    def _fresh(self, inlined: Inlined) -> Callable[[], object]:
        return partial(self._stages, inlined)

    def _warm(self, compiled: Any) -> Callable[[], object]:
        return partial(self._variants.call, compiled)


def _named(inlined: Inlined) -> str:
    if inlined == PREAMBLE:
        return "with a preamble"
    if inlined == NOTHING:
        return "all arrays hoisted"
    return f"{', '.join(inlined) if len(inlined) == 1 else counted(len(inlined), 'key')} inlined"
