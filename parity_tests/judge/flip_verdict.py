"""The flip verdict: what a flip of the default means for the users of one program.

It measures nothing. Each rule turns one finding into a reason with the smallest action that helps,
and the worst reason is the verdict. The verdict of the campaign answers another question: there a
hoisted array, or an output that stock JAX places elsewhere, is an *expected* difference, and users
who flip the default have to live with it all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parity_tests.judge import flip_reasons
from parity_tests.judge.across_flip import AcrossFlip
from parity_tests.judge.beside_the_verdict import of_hazards
from parity_tests.judge.comparison import is_of_types
from parity_tests.judge.findings import Findings
from parity_tests.judge.sides import Sides, flipped
from reports.rows import FLIP_OUTCOMES, FlipOutcome, FlipReason, FlipVerdict, metrics


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
    found = tuple(_reasons(AcrossFlip(findings, *pair), reasons))
    worst_first = tuple(sorted(found, key=lambda each: -FLIP_OUTCOMES.index(each.outcome)))
    outcome: FlipOutcome = worst_first[0].outcome if worst_first else "safe"
    return FlipVerdict(left=pair[0], right=pair[1], outcome=outcome, reasons=worst_first)


def _reasons(flip: AcrossFlip, of_verdict: Sequence[str]) -> Iterator[FlipReason]:
    before, after = flip.before, flip.after
    if not flip.comparisons or before is None or after is None:
        yield FlipReason(outcome="could not compare", what="; ".join(of_verdict))
    elif before.failure or after.failure:
        yield flip_reasons.of_failure(flip, before, after)
    else:
        # Outputs of other types are not compared; the comparison of the types says why.
        other_types = any(
            is_of_types(each.metric) and each.outcome == "different" for each in flip.comparisons
        )
        for comparison in flip.comparisons:
            if not (other_types and comparison.metric == "outputs"):
                yield from flip_reasons.of_comparison(flip, comparison)
        for time in flip.times:
            yield from flip_reasons.of_time(flip, time)
        for metric in metrics.METRICS:
            yield from flip_reasons.of_size(flip, metric, before, after)
        if all(time.verdict == "not measured" for time in flip.times):
            yield flip_reasons.TIMES_NOT_JUDGED
    for hazards in flip.hazards:
        yield flip_reasons.of_hazards(hazards)
    for note in of_hazards(flip.findings):
        yield FlipReason(outcome="safe", what=note)
