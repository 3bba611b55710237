"""The one place that concludes a verdict from the findings of a program.

A live run, two saved campaigns, and a side compared with itself all come here. Counters that do not
depend on the machine are judged exactly. What the migration is about (const args, StableHLO bytes)
is an "expected difference" and decides nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from parity_tests.evidence.records import Evidence
from parity_tests.evidence.tolerance_ladder import worst_rung
from parity_tests.evidence.values import Value
from parity_tests.exception_texts import first_line
from parity_tests.judge import flip_verdict
from parity_tests.judge.calls_as_written import failure_after, new_failure_in_words
from parity_tests.judge.chance import finding_of, in_words, with_chance_marked, without_chance
from parity_tests.judge.comparison import compare_pairs
from parity_tests.judge.findings import Findings, notes
from parity_tests.judge.proofs import UNPROVED
from parity_tests.judge.sides import Sides, mode_of
from reports.rows import (
    VERDICTS,
    Comparison,
    FlipVerdict,
    NamedProgram,
    Observation,
    ProgramRow,
    TimeSamples,
    Verdict,
)
from reports.rows.check_names import AS_WRITTEN, DONATING


@dataclass(frozen=True)
class Conclusion:
    """The verdict on a program and its reasons, and the verdict on a flip of the default."""

    verdict: Verdict
    reasons: tuple[str, ...]
    flip: FlipVerdict | None = None


def conclude(findings: Findings, pairs: Sequence[Sides] = ()) -> Conclusion:
    """Conclude the verdict on a program; `pairs` are the sides that the campaign compares.

    "difference" where any pair differs, or differs by a bug however little. "not repeatable" where
    pairs differ only as runs of one side do. Else "could not compare" where a side failed or there
    is no pair, "agrees here, not proved" where the two forms part or are undecided, else "parity".
    Two sides that raise alike agree, but nothing was compared. There is a flip verdict where a pair
    is across the flip.

    Example::

        conclude(Findings(observed, comparisons), [("jax-legacy", "jax-simplified")]).verdict
    """
    verdict, reasons = _verdict(findings)
    flip = flip_verdict.decide(findings, reasons, pairs)
    if verdict == "parity" and flip and any(each.outcome == UNPROVED for each in flip.reasons):
        verdict = UNPROVED
    return Conclusion(verdict, reasons, flip)


def worst(conclusions: Sequence[Conclusion]) -> Conclusion:
    """Return the worst of several conclusions, the first among equals.

    Raises `ValueError` where there is none.
    """
    return max(conclusions, key=lambda each: VERDICTS.index(each.verdict))


def needs_arbiter(comparisons: Sequence[Comparison]) -> bool:
    """Say whether outputs failed the tolerance of their dtype, for which the arbiter is asked."""
    return any(leaf.rung == "mismatch" for each in comparisons for leaf in each.leaves)


def _verdict(findings: Findings) -> tuple[Verdict, tuple[str, ...]]:
    if findings.not_run:
        return "could not compare", (findings.not_run,)
    verdict, reasons = _of_comparisons(findings)
    if findings.too_late and verdict != "difference":
        return "could not compare", (findings.too_late.what, *reasons)
    if verdict == "not repeatable":
        return verdict, reasons
    if findings.no_arbiter and needs_arbiter(findings.comparisons):
        reasons = (*reasons, f"there is no arbiter: {findings.no_arbiter}")
    if findings.no_drift:
        reasons = (*reasons, f"the drift was not looked into: {findings.no_drift}")
    reasons = (*reasons, *notes(findings))
    # Neither is XLA's doing, so it is a difference within whatever tolerance its values are.
    bugs = tuple(
        f"{each.left} and {each.right}: outputs differ by {each.cause}: {each.evidence}"
        for each in findings.drift
        if each.cause in ("a bug", "another program")
    )
    if bugs and verdict != "difference":
        return "difference", (*bugs, *reasons)
    return verdict, reasons


def _of_comparisons(findings: Findings) -> tuple[Verdict, tuple[str, ...]]:
    comparisons = without_chance(findings).comparisons
    differing = [_difference(each) for each in comparisons if each.outcome == "different"]
    donation = _of_donation(findings.observed)
    differing += donation
    told = DONATING if donation else None
    failures = [each for each in findings.observed if each.failure and each.failure.stage != told]
    failed = list(dict.fromkeys(map(_failure, failures)))
    chance = finding_of(findings)
    unrepeated = [in_words(chance)] if chance else []
    if differing:
        fault = findings.not_repeatable
        of_ours = [in_words(fault)] if fault and fault.is_ours else []
        return "difference", (*of_ours, *differing, *unrepeated, *failed)
    if unrepeated:
        return "not repeatable", (*unrepeated, *failed)
    lost = [
        each.detail
        for each in comparisons
        if each.metric in ("outputs", "printed jaxpr") and each.outcome == "not compared"
    ]
    if failed or lost or not comparisons:
        reasons = failed or lost or ["there is no pair of sides to compare"]
        return "could not compare", tuple(reasons)
    return "parity", _rungs_below_bitwise(comparisons)


def _difference(comparison: Comparison) -> str:
    pair = f"{comparison.left} and {comparison.right}"
    if comparison.metric == "outputs":
        return f"{pair}: outputs differ: {comparison.detail}"
    if comparison.metric == AS_WRITTEN:
        return f"{pair}: {AS_WRITTEN}: {comparison.detail}"
    values = f"{comparison.left_value} against {comparison.right_value}"
    return f"{pair}: {comparison.metric}: {values} ({comparison.detail})"


def _of_donation(observed: Sequence[Observation]) -> list[str]:
    """Say where a donating call fails after the flip alone: it is a call as written."""
    by_side = {each.side: each for each in observed}
    before, after = by_side.get("jax-legacy"), by_side.get("jax-simplified")
    new = failure_after(before, after) if before and after else None
    if new is None or new[1].stage != DONATING:
        return []
    said = new_failure_in_words("jax-legacy", "jax-simplified", *new)
    return [f"jax-legacy and jax-simplified: {AS_WRITTEN}: {said}"]


def _failure(observation: Observation) -> str:
    failure = observation.failure
    assert failure is not None
    said = first_line(failure.message)
    what = f"{failure.type}: {said}" if said else failure.type
    at = f" ({failure.where})" if failure.where else ""
    return f"{observation.side}: {failure.kind} in {failure.stage}: {what}{at}"


def _rungs_below_bitwise(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Say why outputs that are not bitwise equal count as equal, and what may have moved them."""
    return tuple(
        f"{each.left} and {each.right}: outputs are equal, though not bitwise: {each.detail}; "
        + (_TWO_MODES if mode_of(each.left) != mode_of(each.right) else _ONE_MODE)
        for each in comparisons
        if each.metric == "outputs" and worst_rung(each.leaves) != "bitwise"
    )


# Causes are named here and not attributed: `drift` tells them apart by further runs.
_TWO_MODES = (
    "XLA was given two programs, inlined constants against const args, and may fold or fuse one "
    "where it does not the other"
)
_ONE_MODE = "the two lowerings of one mode may be fused differently"


def is_refused(row: ProgramRow) -> bool:
    """Say whether every failure is an exception that stock JAX raises in the same mode, too.

    A side of ours that fails is not excused where its partner of stock JAX did not run, nor where
    it crashes or runs out of time instead of raising.
    """
    failures = {each.side: each.failure for each in row.observations}
    failed = [each for each in failures.values() if each]
    raised: dict[str, tuple[str, str]] = {
        side: (each.stage, each.type) for side, each in failures.items() if each
    }
    return (
        row.verdict == "could not compare"
        and bool(failed)
        and all(each.kind == "exception" for each in failed)
        and all(
            raised.get(ours) == raised.get(stock)
            for ours, stock in (("legacy", "jax-legacy"), ("simplified", "jax-simplified"))
            if ours in failures
        )
    )


# -- a program alone, without times and drift ------------------------------------------------------


@dataclass(frozen=True)
class Judgement:
    """What a program's observations come to."""

    verdict: Verdict
    reasons: tuple[str, ...]
    comparisons: tuple[Comparison, ...]


def judge(
    pairs: Sequence[tuple[Evidence, Evidence]],
    alone: Sequence[Evidence] = (),
    truth: Sequence[Value] = (),
) -> Judgement:
    """Compare pairs of sides, and say what they make of the program.

    `alone` are sides whose failures count, in a pair or not, and `truth` has the output arrays of
    the arbiter, if it has run. A pair may be one side measured twice.

    Example::

        judge([(of_legacy, of_simplified)]).verdict == "parity"
    """
    comparisons = compare_pairs(pairs, truth)
    observed = tuple(each.observation for each in (*alone, *itertools.chain(*pairs)))
    found = conclude(Findings(observed, comparisons))
    return Judgement(found.verdict, found.reasons, comparisons)


def has_floats(observation: Observation) -> bool:
    """Say whether a program has an output that an arbiter can judge."""
    kinds = ("float", "bfloat", "complex")
    return any(leaf.dtype.startswith(kinds) for leaf in observation.outputs)


@dataclass(frozen=True)
class RowDraft:
    """What a row says of a program, except its verdict; `observations` are those that it shows."""

    program: NamedProgram
    findings: Findings
    observations: tuple[Observation, ...] = ()
    time_samples: tuple[TimeSamples, ...] = ()

    def row(self, conclusion: Conclusion) -> ProgramRow:
        """Return the row, its verdict as concluded."""
        found = self.findings
        return ProgramRow(
            **{name: getattr(self.program, name) for name in NamedProgram.model_fields},
            verdict=conclusion.verdict,
            reasons=conclusion.reasons,
            observations=self.observations,
            comparisons=with_chance_marked(found),
            time_samples=self.time_samples,
            times=found.times,
            hazards=found.hazards,
            drift=found.drift,
            flip=conclusion.flip,
            too_late=found.too_late,
            proved_only=found.proved_only,
        )
