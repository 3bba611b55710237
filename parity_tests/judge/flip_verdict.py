"""The flip verdict: what a flip of the default means for the users of one program.

It measures nothing. Each rule turns one finding into a reason with the smallest action that helps,
and the worst reason is the verdict. The verdict of the campaign answers another question: there a
hoisted array, or an output that stock JAX places elsewhere, is an *expected* difference, and users
who flip the default have to live with it all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parity_tests.advice import advice
from parity_tests.judge import (
    flip_costs,
    flip_reasons,
    proofs,
    reasons_as_written,
)
from parity_tests.judge.across_flip import AcrossFlip, read_that_changes, said_once
from parity_tests.judge.chance import finding_of, without_chance
from parity_tests.judge.comparison import is_of_types
from parity_tests.judge.findings import FAILURE, Findings, NotRepeatable, of_hazards
from parity_tests.judge.proofs import answers_of
from parity_tests.judge.sides import Sides, flipped
from parity_tests.judge.unrepeated import called_otherwise
from reports.rows import FLIP_OUTCOMES, FlipOutcome, FlipReason, FlipVerdict, TooLate
from reports.rows.claims import Claim, answer_of
from reports.rows.flip import Price, price_of


def decide(
    findings: Findings, reasons: Sequence[str], pairs: Sequence[Sides]
) -> FlipVerdict | None:
    """Return the flip verdict of a program; `pairs` are the sides that the campaign compares.

    `reasons` are the reasons of its verdict. None where no pair is across the flip, as where a side
    is compared with itself.

    Example::

        decide(findings, (), [("jax-legacy", "jax-simplified")]).outcome
    """
    pair = flipped(pairs)
    if pair is None:
        return None
    flip = AcrossFlip(without_chance(findings), *pair)
    claims = findings.apart
    if not claims and flip.before and flip.after:
        claims = answers_of(flip.before, flip.after)
    chance, measured = finding_of(findings), tuple(_reasons(flip, reasons))
    otherwise = called_otherwise(flip.before, flip.after)
    if otherwise and not any(each.outcome == "different" for each in measured):
        measured = (*measured, _with_other_arguments(otherwise, claims))
    found = (
        *measured,
        *proofs.reasons(
            claims,
            flip.comparisons,
            not_here=flip.is_not_here,
            made=proofs.made_by_xla(flip.before, flip.after),
            otherwise=otherwise,
            read=read_that_changes(flip),
            is_told=chance is not None or any(each.outcome == "different" for each in measured),
        ),
    )
    if chance is not None:
        found = _with_chance(found, chance)
    if findings.too_late is not None:
        found = _with_settings(found, findings.too_late)
    found = tuple(said_once(found))
    worst_first = tuple(sorted(found, key=_badness, reverse=True))
    outcome: FlipOutcome = worst_first[0].outcome if worst_first else "safe"
    return FlipVerdict(
        left=pair[0], right=pair[1], outcome=outcome, reasons=worst_first, claims=claims
    )


def _badness(reason: FlipReason) -> tuple[int, Price]:
    return FLIP_OUTCOMES.index(reason.outcome), price_of(reason)


def _with_chance(found: tuple[FlipReason, ...], chance: NotRepeatable) -> tuple[FlipReason, ...]:
    """Add that the program does not repeat itself: beside a difference in every run, a remark."""
    if FAILURE in chance.explained:
        found = ()  # what failed in one run and worked in another was not compared
    found = tuple(each for each in found if each != flip_costs.TIMES_NOT_JUDGED)
    differs = any(each.outcome == "different" for each in found)
    outcome: FlipOutcome = "safe" if differs else "not repeatable"
    reason = FlipReason(
        outcome=outcome,
        kind="outputs",
        what=chance.what,
        where=chance.where,
        action=chance.action,
    )
    return *found, reason


def _with_other_arguments(otherwise: str, claims: Sequence[Claim]) -> FlipReason:
    """Say that results which agree are of other arguments: they tell nothing, but a proof does."""
    if claims and answer_of(claims) == "proved":
        return FlipReason(outcome="safe", kind="note", what=otherwise)
    return FlipReason(
        outcome="could not compare",
        kind="outputs",
        what=otherwise,
        action=advice("other arguments"),
    )


def _with_settings(found: tuple[FlipReason, ...], late: TooLate) -> tuple[FlipReason, ...]:
    """Add that a program ran with other settings than it has by itself, and what to do first."""
    reason = FlipReason(
        outcome="could not compare", kind="failure", what=late.what, action=late.action
    )
    others = (
        each.model_copy(update={"action": ""}) if each.outcome == "could not compare" else each
        for each in found
    )
    return reason, *others


def _reasons(flip: AcrossFlip, of_verdict: Sequence[str]) -> Iterator[FlipReason]:
    before, after = flip.before, flip.after
    if (fails := reasons_as_written.of_later_failure(flip)) is not None:
        yield fails
    if flip.findings.proved_only:
        yield from proofs.without_run(flip.findings.hazards)
    elif not flip.comparisons or before is None or after is None:
        yield FlipReason(outcome="could not compare", kind="failure", what="; ".join(of_verdict))
    elif before.failure or after.failure:
        yield flip_reasons.of_failure(flip, before, after)
        if flip.placed_as_written is not None:
            yield from flip_reasons.of_comparison(flip, flip.placed_as_written)
    else:
        # Outputs of other types are not compared; the comparison of the types says why.
        other_types = any(
            is_of_types(each.metric) and each.outcome == "different" for each in flip.comparisons
        )
        for comparison in flip.comparisons:
            if not (other_types and comparison.metric == "outputs"):
                yield from flip_reasons.of_comparison(flip, comparison)
        yield from flip_costs.costs(flip, before, after)
        yield from flip_costs.gains(flip, before, after)
    for hazards in flip.hazards:
        yield flip_reasons.of_hazards(flip, hazards)
    numbers = before.numbers if before is not None else None
    if flip.is_not_here and numbers is not None and not numbers.is_one_jit:
        yield FlipReason(outcome="safe", kind="proof", what=proofs.NOT_ONE_JIT)
    for note in of_hazards(flip.findings):
        yield FlipReason(outcome="safe", kind="note", what=note)
