"""The rules of the flip verdict for effects: callbacks and prints that a flip changes."""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.advice import advice
from parity_tests.judge import effects
from parity_tests.judge.across_flip import AcrossFlip
from parity_tests.judge.reading_reasons import of_read, read_that_changes
from reports.rows import FlipOutcome, FlipReason

_OUTCOMES: dict[tuple[str, str], tuple[FlipOutcome, str]] = {
    (effects.CALLS, "different"): (
        "different",
        "how often",
    ),
    (effects.VALUES, "different"): (
        "different",
        "values of effects",
    ),
    (effects.VALUES, "expected difference"): (
        "numerics drift, explained",
        "fused drift",
    ),
    (effects.PURE, "expected difference"): (
        "safe but slower or larger",
        "pure calls",
    ),
}


def of_effects(flip: AcrossFlip, metric: str) -> Iterator[FlipReason]:
    """Yield the reasons that the findings of one metric of effects are."""
    before, after = flip.before, flip.after
    if not (before and after and before.effects and after.effects):
        return
    for each in effects.findings(before.effects, after.effects):
        if each.metric == metric:
            outcome, name = _OUTCOMES[each.metric, each.outcome]
            what = f"{each.metric}: {each.what}"
            if outcome == "different" and (read := read_that_changes(flip)):
                yield of_read("structure or count", what, read)
                continue
            action = advice(name)
            if outcome == "different" and flip.hazard("reads the flag"):
                action = flip.how_to_find_the_culprit
            yield FlipReason(
                outcome=outcome,
                kind="structure or count",
                subject="effects",
                what=what,
                where=each.place,
                action=action,
            )
