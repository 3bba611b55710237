"""Culprit: which captured arrays make a difference by being hoisted rather than inlined.

Variants of one program in one pipeline are compared with the one that inlines everything. So
nothing but the arrays differs, and delta debugging finds a minimal set of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import jax

from engine.runtime import executable_cache
from parity_tests.evidence import tolerance_ladder, values
from parity_tests.evidence.tolerance_ladder import RUNGS
from parity_tests.experiments.delta_debugging import ddmin
from parity_tests.experiments.interleaved_timing import seconds_of
from parity_tests.experiments.variants import Variants
from parity_tests.jaxpr.captured_uses import CapturedUse
from parity_tests.observe.hazards import changing_reads
from parity_tests.program import Program
from reports.rows import Hazard, LeafComparison, Verdict
from reports.rows.experiments import Culprit, CulpritFound, CulpritQuestion
from reports.views.texts import counted

Hoisted = frozenset[Hashable]


@dataclass(frozen=True)
class Difference:
    """Whether a variant differs from the one that inlines everything, and how, in words."""

    differs: bool
    text: str


@executable_cache.unshared()  # a set of arrays is compiled several times, to time it
def find(program: Program, question: CulpritQuestion) -> CulpritFound:
    """Find a minimal set of captured arrays that differ by being hoisted.

    "parity" says that hoisting all arrays at once makes no difference, "could not compare" that the
    program is another one in simplified form, because it reads jaxprs or the flag. Raises whatever
    the program raises otherwise.

    Example::

        find(targets.load_one("my_model.py:step"), CulpritQuestion(metric="memory")).arrays
    """
    try:
        variants = Variants(program)
    except Exception:
        reads = changing_reads(program)
        if not reads:
            raise
        return _no_array(program, question, reads[0])
    comparing = _Comparing(_METRICS[question.metric](variants, question))
    finding = _search(variants.arrays, comparing)
    # The variants are all of one form, and show nothing of what differs between the forms.
    reads = changing_reads(program) if finding.verdict == "parity" else ()
    if reads:
        return _no_array(program, question, reads[0])
    return CulpritFound(
        program=program.name,
        source=program.source,
        question=question,
        verdict=finding.verdict,
        reasons=(finding.reason,),
        arrays=tuple(_row(use) for use in finding.arrays),
        candidates=len(variants.arrays),
        variants=comparing.count,
    )


def _no_array(program: Program, question: CulpritQuestion, read: Hazard) -> CulpritFound:
    return CulpritFound(
        program=program.name,
        source=program.source,
        question=question,
        verdict="could not compare",
        reasons=(f"no array is the culprit: {read.what}; to do: {read.fix}",),
        arrays=(),
        candidates=0,
        variants=0,
    )


@dataclass
class _Comparing:
    """Compares variants with the one that inlines all arrays, and counts the comparisons."""

    compare: Callable[[Hoisted], Difference]
    count: int = 0

    def with_inlined(self, arrays: Sequence[CapturedUse]) -> Difference:
        self.count += 1
        return self.compare(frozenset(use.array.identity for use in arrays))


@dataclass(frozen=True)
class _Finding:
    verdict: Verdict
    reason: str
    arrays: tuple[CapturedUse, ...] = ()


def _search(arrays: tuple[CapturedUse, ...], comparing: _Comparing) -> _Finding:
    """Search the arrays for culprits, after the comparisons that show that there are any.

    The variant that inlines all arrays is first compared with itself: a metric that differs there
    has no culprits, and could not be compared.
    """
    if not arrays:
        return _Finding("parity", "no captured array is above the embed threshold")
    itself = comparing.with_inlined(())
    if itself.differs:
        return _Finding(
            "could not compare",
            f"the program that inlines all arrays differs from itself: {itself.text}",
        )
    everything = comparing.with_inlined(arrays)
    if not everything.differs:
        return _Finding("parity", f"hoisting every array makes no difference: {everything.text}")
    culprits = ddmin(arrays, lambda part: comparing.with_inlined(part).differs)
    shown = everything if len(culprits) == len(arrays) else comparing.with_inlined(culprits)
    if not shown.differs:  # a time that came and went: naming an array would be a guess
        return _Finding(
            "could not compare",
            f"a difference was seen and not seen again: {shown.text}; try more --samples or a "
            "larger --factor",
        )
    return _Finding("difference", shown.text, culprits)


def _row(use: CapturedUse) -> Culprit:
    place, array = use.place, use.array
    return Culprit(
        file=place.file,
        line=place.line,
        function=place.function,
        array=jax.typeof(array.value).str_short(),
        bytes=array.bytes,
    )


# -- the metrics -----------------------------------------------------------------------------------

_Compare = Callable[[Hoisted], Difference]
_INLINED: Hoisted = frozenset()


def _outputs(variants: Variants, question: CulpritQuestion) -> _Compare:
    def run(hoisted: Hoisted) -> dict[str, values.Value]:
        result = variants.call(variants.lower(hoisted).compile())
        flat, _ = jax.tree_util.tree_flatten_with_path(result)
        leaves = (values.to_host(jax.tree_util.keystr(path), leaf)[1] for path, leaf in flat)
        return {value.path: value for value in leaves}

    inlined = run(_INLINED)

    def compare(hoisted: Hoisted) -> Difference:
        other = run(hoisted)
        leaves = [tolerance_ladder.compare(p, inlined[p].array, other[p].array) for p in inlined]
        worse = [each for each in leaves if RUNGS.index(each.rung) > RUNGS.index(question.beyond)]
        if not worse:
            return Difference(False, f"no leaf is beyond {question.beyond}")
        worst = max(worse, key=lambda leaf: RUNGS.index(leaf.rung))
        leaf_count = counted(len(leaves), "leaf")
        return Difference(
            True, f"{len(worse)} of {leaf_count} beyond {question.beyond}: {_leaf_text(worst)}"
        )

    return compare


def _leaf_text(leaf: LeafComparison) -> str:
    ulps = "" if leaf.max_ulp is None else f", {leaf.max_ulp} ULP"
    return (
        f"out{leaf.path} is {leaf.rung}, {leaf.mismatch_share:.1%} of its elements differ, by up "
        f"to {leaf.max_rel:.2g} relative{ulps}"
    )


def _memory(variants: Variants, question: CulpritQuestion) -> _Compare:
    def temporaries(hoisted: Hoisted) -> int | None:
        stats = variants.lower(hoisted).compile().memory_analysis()
        return None if stats is None else stats.temp_size_in_bytes

    inlined = temporaries(_INLINED)

    def compare(hoisted: Hoisted) -> Difference:
        other = temporaries(hoisted)
        if inlined is None or other is None:
            return Difference(False, "this backend has no analysis of memory")
        text = f"{inlined:,} bytes of temporaries inlined, {other:,} hoisted"
        return Difference(_is_beyond(inlined, other, question.factor), text)

    return compare


def _compile(variants: Variants, question: CulpritQuestion) -> _Compare:
    def seconds(hoisted: Hoisted) -> float:
        lowered = variants.lower(hoisted)
        return seconds_of(lowered.compile)

    seconds(_INLINED)  # what XLA does once in a process is not charged to the first sample
    return lambda hoisted: _interleaved(
        lambda: seconds(_INLINED), lambda: seconds(hoisted), "to compile", question
    )


def _call(variants: Variants, question: CulpritQuestion) -> _Compare:
    inlined = variants.lower(_INLINED).compile()
    variants.call(inlined)

    def compare(hoisted: Hoisted) -> Difference:
        other = variants.lower(hoisted).compile()
        variants.call(other)
        return _interleaved(
            lambda: seconds_of(lambda: variants.call(inlined)),
            lambda: seconds_of(lambda: variants.call(other)),
            "a call",
            question,
        )

    return compare


_METRICS: dict[str, Callable[[Variants, CulpritQuestion], _Compare]] = {
    "outputs": _outputs,
    "memory": _memory,
    "compile": _compile,
    "call": _call,
}


def _interleaved(
    inlined: Callable[[], float],
    hoisted: Callable[[], float],
    what: str,
    question: CulpritQuestion,
) -> Difference:
    """Compare medians; the two take turns, so that a machine that slows down slows both."""
    pairs = [(inlined(), hoisted()) for _ in range(question.samples)]
    left, right = (statistics.median(samples) for samples in zip(*pairs, strict=True))
    text = f"{left:.3g} s {what} inlined, {right:.3g} s hoisted ({right / left:.2f} times)"
    return Difference(_is_beyond(left, right, question.factor), text)


def _is_beyond(left: float, right: float, factor: float) -> bool:
    return left != right and max(left, right) >= factor * min(left, right)
