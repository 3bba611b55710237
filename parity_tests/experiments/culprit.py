"""Culprit: which captured arrays make a difference by being hoisted rather than inlined.

Variants of one program in one pipeline are compared with the one that inlines everything. So
nothing but the arrays differs, and delta debugging finds a minimal set of them.

The search goes on until the program no longer differs with the arrays found inlined and all others
hoisted: a policy that helps. A variant that fails differs. Then the search follows that one
failure.
"""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Protocol

import jax

from parity_tests.advice import WITH_PREAMBLE
from parity_tests.evidence import tolerance_ladder, values
from parity_tests.evidence.tolerance_ladder import RUNGS
from parity_tests.exception_texts import without_ids
from parity_tests.experiments.interleaved_timing import interleaved
from parity_tests.jaxpr.captured_uses import CapturedUse
from parity_tests.observe import failures
from parity_tests.observe.hazards import changing_reads
from parity_tests.observe.jit_on_side import staged_alone
from parity_tests.processes.protocol import ComparedVariant
from parity_tests.program import Program
from parity_tests.reduce.search import ddmin
from reports.rows import Failure, Hazard, LeafComparison, Side, Verdict, is_ours
from reports.rows.experiments import Culprit, CulpritFound, CulpritQuestion
from reports.views import texts
from reports.views.texts import counted

Hoisted = frozenset[Hashable]


@dataclass(frozen=True)
class Difference:
    """Whether a variant differs from the one that inlines everything, and how, in words."""

    differs: bool
    text: str


class Variants(Protocol):
    """A program whose captured `arrays` can be hoisted and inlined one by one."""

    arrays: tuple[CapturedUse, ...]

    def lower(self, hoisted: Hoisted) -> Any:
        """Lower the program with the arrays of these identities hoisted."""

    def call(self, compiled: Any) -> Any:
        """Call a compiled variant, and wait for its results."""


class Watch:
    """Is told of each comparison, which a lost process then leaves. This one keeps nothing."""

    def begins(self, number: int, hoisted: tuple[int, ...], arrays: int) -> None:
        """Hear that comparison `number` begins, which hoists some of so many arrays."""

    def stage(self, name: str) -> None:
        """Hear that a variant goes into a stage."""

    def ends(self, compared: ComparedVariant) -> None:
        """Hear that the comparison that began has ended."""


def find(
    program: Program,
    question: CulpritQuestion,
    *,
    stock_failure: str = "",
    known: Sequence[ComparedVariant] = (),
    watch: Watch | None = None,
    seconds: float | None = None,
) -> CulpritFound:
    """Find minimal sets of captured arrays that differ by being hoisted.

    "parity" says that hoisting all arrays at once makes no difference, "could not compare" that the
    program is another one in simplified form, because it reads jaxprs or the flag. `stock_failure`,
    `known` and `seconds` are as in `FindCulprit`. Raises whatever the program raises when it is
    built and traced.

    Example::

        find(targets.load_one("my_model.py:step"), CulpritQuestion(metric="memory")).arrays
    """
    side: Side = "jax-legacy" if stock_failure else "simplified"
    deadline = time.monotonic() + (math.inf if seconds is None else seconds)
    with staged_alone(side):  # a set of arrays is compiled several times, to time it
        try:
            variants = _variants(program, side)
        except Exception:
            reads = changing_reads(program)
            if not reads:
                raise
            return _no_array(program, question, reads[0])
        metric = _failure if stock_failure else _METRICS[question.metric]
        staged = _Staged(variants, watch or Watch())
        comparing = _Comparing(staged, lambda: metric(staged, question), tuple(known), deadline)
        finding = _search(comparing, stock_failure)
    # The variants are all of one form, and show nothing of what differs between the forms.
    reads = changing_reads(program) if is_ours(side) else ()
    if reads and not finding.arrays:
        return _no_array(program, question, reads[0])
    helps: tuple[str, ...] = ()
    if finding.is_failure and is_ours(side):
        helps = _policy(variants, finding.arrays, "to do: keep")
    elif finding.arrays and question.metric == "outputs" and is_ours(side):
        helps = _policy(variants, finding.arrays, "to keep")
    elif finding.arrays and question.metric == "call":
        with staged_alone(side):
            helps = _preamble(staged, question)
    verdict, reasons = finding.verdict, finding.reasons + helps
    if reads:
        verdict = verdict if finding.is_failure else "could not compare"
        reasons = (f"no array is the only culprit: {_read(reads[0])}", *reasons)
    return CulpritFound(
        program=program.name,
        source=program.source,
        question=question,
        verdict=verdict,
        reasons=reasons,
        arrays=tuple(_row(use) for use in finding.arrays),
        fails=finding.is_failure,
        candidates=len(variants.arrays),
        variants=comparing.count,
    )


def _variants(program: Program, side: Side) -> Variants:
    if is_ours(side):
        from parity_tests.experiments.variants import Variants  # a stock process has no engine

        return Variants(program)
    from parity_tests.experiments.stock_variants import StockVariants

    return StockVariants(program)


def _policy(variants: Any, arrays: Sequence[CapturedUse], begin: str) -> tuple[str]:
    """Say which policy of the engine keeps the arrays inlined; `variants` are those of ours."""
    from parity_tests.experiments.variants import table, with_keys

    keyed = with_keys(variants.constants(inlined=True))
    found = {use.array.identity for use in arrays}
    policy = table(keyed, [each.key for each in keyed if each.identities & found])
    jitted = f'engine.jit(f, constants="simplified", constant_policy={policy})'
    return (f"{begin} {'it' if len(arrays) == 1 else 'them'} inlined: {jitted}",)


def _preamble(staged: _Staged, question: CulpritQuestion) -> tuple[str, ...]:
    """Say that a preamble makes calls faster, where it does; the variants are those of ours."""
    variants: Any = staged.variants
    everything = frozenset(use.array.identity for use in variants.arrays)
    hoisted, preamble = variants.lower(everything), variants.lower_with_preamble()
    if preamble.as_text() == hoisted.as_text():
        return ()
    slow, fast = (staged.compiled_of(each) for each in (hoisted, preamble))
    staged.called(slow)
    staged.called(fast)
    before, after = _medians(
        [partial(partial, variants.call, each) for each in (slow, fast)], question
    )
    if before < question.factor * after:
        return ()
    return (
        f"to do: {WITH_PREAMBLE} does the work on captured arrays once: "
        f"{after:.3g} s a call, {before:.3g} s without",
    )


def _no_array(program: Program, question: CulpritQuestion, read: Hazard) -> CulpritFound:
    return CulpritFound(
        program=program.name,
        source=program.source,
        question=question,
        verdict="could not compare",
        reasons=(f"no array is the culprit: {_read(read)}",),
        candidates=0,
        variants=0,
    )


def _read(read: Hazard) -> str:
    return f"{read.what}; to do: {read.fix}"


class _OutOfTimeError(Exception):
    """The time is over in which the search goes on after the first set of arrays."""


class VariantFailedError(Exception):
    """A variant failed in a stage; carries the failure."""

    def __init__(self, failure: Failure):
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class _Staged:
    """Takes variants through their stages; a stage that raises is the failure of the variant."""

    variants: Variants
    watch: Watch

    def lowered(self, hoisted: Hoisted) -> Any:
        with self._in("lower"):
            return self.variants.lower(hoisted)

    def compiled(self, hoisted: Hoisted) -> Any:
        return self.compiled_of(self.lowered(hoisted))

    def compiled_of(self, lowered: Any) -> Any:
        with self._in("compile"):
            return lowered.compile()

    def called(self, compiled: Any) -> Any:
        with self._in("call"):
            return self.variants.call(compiled)

    @contextmanager
    def _in(self, stage: str) -> Iterator[None]:
        self.watch.stage(stage)
        try:
            yield
        except Exception as error:
            raise VariantFailedError(failures.exception(error, stage)) from error


@dataclass
class _Comparing:
    """Compares variants with the one that inlines all arrays, and counts the comparisons.

    The first comparisons are those that a process before this one made. A search `goes_on` when it
    has an answer: then no comparison begins after the `deadline`.
    """

    staged: _Staged
    make: Callable[[], _Compare]
    known: tuple[ComparedVariant, ...]
    deadline: float = math.inf
    goes_on: bool = False
    count: int = 0

    @property
    def arrays(self) -> tuple[int, ...]:
        """The numbers of all arrays."""
        return tuple(range(len(self.staged.variants.arrays)))

    def with_inlined(self, hoisted: tuple[int, ...]) -> ComparedVariant:
        """Compare the variant that hoists these arrays; one that fails differs."""
        if self.count < len(self.known):
            self.count += 1
            return self.known[self.count - 1]
        if self.goes_on and time.monotonic() > self.deadline:
            raise _OutOfTimeError
        self.count += 1
        self.staged.watch.begins(self.count, hoisted, len(self.arrays))
        uses = self.staged.variants.arrays
        try:
            found = self._compare(frozenset(uses[each].array.identity for each in hoisted))
        except VariantFailedError as error:
            failed = error.failure
            compared = ComparedVariant(
                hoisted=hoisted, differs=True, text=texts.failed(failed), failure=failed
            )
        else:
            compared = ComparedVariant(hoisted=hoisted, differs=found.differs, text=found.text)
        self.staged.watch.ends(compared)
        return compared

    @cached_property
    def _compare(self) -> _Compare:
        return self.make()


def _alike(one: ComparedVariant, other: ComparedVariant) -> bool:
    """Say whether two variants show one thing: both differ, and fail in the same way or not at all.

    A search that followed any failure could slip from one to another.
    """
    left, right = (
        each.failure and (each.failure.stage, each.failure.type, _sentence(each.failure))
        for each in (one, other)
    )
    return one.differs and other.differs and left == right


def _sentence(failure: Failure) -> str:
    """Return the first sentence of a message without numbers.

    Numbers may be of an argument, which has another place in each variant. So may what JAX says
    then of the arguments.
    """
    first = re.split(r"\.\s|\n", failure.message.strip(), maxsplit=1)[0]
    return re.sub(r"\d+", "", without_ids(first))


@dataclass(frozen=True)
class _Ending:
    verdict: Verdict
    reasons: tuple[str, ...]
    arrays: tuple[CapturedUse, ...] = ()
    is_failure: bool = False  # with these arrays hoisted the program fails


def _search(comparing: _Comparing, stock_failure: str) -> _Ending:
    """Search the arrays for culprits, after the comparisons that show that there are any.

    The variant that inlines all arrays is first compared with itself: a metric that differs there
    has no culprits, and could not be compared. With a `stock_failure` no other failure counts.
    """
    arrays = comparing.arrays
    if not arrays:
        return _Ending("parity", ("no captured array is above the embed threshold",))
    itself = comparing.with_inlined(())
    if itself.failure:
        return _Ending(
            "could not compare",
            (f"no array is the culprit: with all arrays inlined the program fails: {itself.text}",),
        )
    if itself.differs:
        return _Ending(
            "could not compare",
            (f"the program that inlines all arrays differs from itself: {itself.text}",),
        )
    everything = comparing.with_inlined(arrays)
    if not everything.differs:
        return _Ending("parity", (f"hoisting every array makes no difference: {everything.text}",))
    if stock_failure and everything.failure and everything.failure.type != stock_failure:
        return _Ending("parity", (f"as arguments the arrays fail otherwise: {everything.text}",))
    return _search_sets(comparing, everything)


def _search_sets(comparing: _Comparing, everything: ComparedVariant) -> _Ending:
    """Find sets of arrays that differ alike, until the program no longer does without them."""
    fails = everything.failure is not None
    reasons = [f"with all arrays inlined the program runs; hoisted it fails: {everything.text}"]
    found: list[tuple[int, ...]] = []
    rest, last, ended = comparing.arrays, everything, ""
    try:
        while rest and _alike(last, everything):
            part = ddmin(rest, lambda part: _alike(comparing.with_inlined(part), everything))
            is_known = fails or len(part) == len(rest)
            shown = last if is_known else comparing.with_inlined(part)
            if not _alike(shown, everything):  # a time not seen again: a name would be a guess
                unseen = f"a difference was seen and not seen again: {shown.text}"
                if not found:
                    more = "try more --samples or a larger --factor"
                    return _Ending("could not compare", (f"{unseen}; {more}",))
                ended = f"with these inlined, {unseen}"
                break
            if not fails:
                reasons = reasons if found else [shown.text]
            found.append(part)
            comparing.goes_on = True
            rest = tuple(each for each in rest if each not in part)
            if rest:
                last = comparing.with_inlined(rest)
    except _OutOfTimeError:
        ended = "the time is over: with these inlined and all others hoisted it may still differ"
    if len(found) > 1:
        how = "fails" if fails else "makes a difference"
        reasons.append(f"each of {len(found)} sets of arrays {how} by itself")
    if ended or not rest:
        reasons += [ended] if ended else []
    elif last.failure:
        reasons.append(f"with these inlined it fails otherwise: {last.text}")
    else:
        quiet = "it runs" if fails else f"there is no difference: {last.text}"
        reasons.append(f"with these inlined and all others hoisted {quiet}")
    culprits = tuple(sorted(each for part in found for each in part))
    uses = tuple(comparing.staged.variants.arrays[number] for number in culprits)
    return _Ending("difference", tuple(reasons), uses, is_failure=fails)


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
_Prepare = Callable[[], Callable[[], object]]
_INLINED: Hoisted = frozenset()


def _outputs(staged: _Staged, question: CulpritQuestion) -> _Compare:
    def run(hoisted: Hoisted) -> dict[str, values.Value]:
        result = staged.called(staged.compiled(hoisted))
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


def _memory(staged: _Staged, question: CulpritQuestion) -> _Compare:
    def temporaries(hoisted: Hoisted) -> int | None:
        stats = staged.compiled(hoisted).memory_analysis()
        return None if stats is None else stats.temp_size_in_bytes

    inlined = temporaries(_INLINED)

    def compare(hoisted: Hoisted) -> Difference:
        other = temporaries(hoisted)
        if inlined is None or other is None:
            return Difference(False, "this backend has no analysis of memory")
        text = f"{inlined:,} bytes of temporaries inlined, {other:,} hoisted"
        return Difference(_is_beyond(inlined, other, question.factor), text)

    return compare


def _compile(staged: _Staged, question: CulpritQuestion) -> _Compare:
    def prepared(hoisted: Hoisted) -> Callable[[], object]:
        return partial(staged.compiled_of, staged.lowered(hoisted))

    prepared(_INLINED)()  # what XLA does once in a process is not charged to the first sample
    return lambda hoisted: _timed(
        partial(prepared, _INLINED), partial(prepared, hoisted), "to compile", question
    )


def _call(staged: _Staged, question: CulpritQuestion) -> _Compare:
    inlined = staged.compiled(_INLINED)
    staged.called(inlined)

    def compare(hoisted: Hoisted) -> Difference:
        other = staged.compiled(hoisted)
        staged.called(other)
        one, two = (partial(partial, staged.variants.call, each) for each in (inlined, other))
        return _timed(one, two, "a call", question)

    return compare


def _failure(staged: _Staged, question: CulpritQuestion) -> _Compare:
    def compare(hoisted: Hoisted) -> Difference:
        staged.called(staged.compiled(hoisted))
        return Difference(False, "it runs")

    return compare


_METRICS: dict[str, Callable[[_Staged, CulpritQuestion], _Compare]] = {
    "outputs": _outputs,
    "memory": _memory,
    "compile": _compile,
    "call": _call,
}


def _timed(
    inlined: _Prepare, hoisted: _Prepare, what: str, question: CulpritQuestion
) -> Difference:
    left, right = _medians((inlined, hoisted), question)
    text = f"{left:.3g} s {what} inlined, {right:.3g} s hoisted ({right / left:.2f} times)"
    return Difference(_is_beyond(left, right, question.factor), text)


def _medians(prepared: Sequence[_Prepare], question: CulpritQuestion) -> list[float]:
    seconds = interleaved(dict(enumerate(prepared)), question.samples, lost=0)
    return [statistics.median(each) for each in seconds.values()]


def _is_beyond(left: float, right: float, factor: float) -> bool:
    return left != right and max(left, right) >= factor * min(left, right)
