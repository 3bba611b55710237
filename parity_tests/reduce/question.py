"""The question of a reduction: which program, on which sides, and which symptom it has to keep."""

from __future__ import annotations

from dataclasses import dataclass

from parity_tests.processes.warm_workers import Judged
from parity_tests.reduce.symptom import FAILURE, OUTPUTS, Symptom, symptoms
from reports.rows import Side

# The metrics that the harness of a file measures itself; constparity judges the others.
MEASURED = frozenset(
    {
        FAILURE, OUTPUTS, "const args", "StableHLO bytes", "argument bytes", "temporary bytes",
        "output shapes", "output dtypes", "output weak types", "output committed",
        "output shardings",
    }
)  # fmt: skip


class ReduceError(RuntimeError):
    """The program cannot be reduced; the message says why, and what to do."""


@dataclass(frozen=True)
class Question:
    """Which program to reduce, on which pair of sides, and which metric has to keep differing.

    Without `metric` it is the one that decided the verdict. The metric "outputs" also asks for
    outputs that are equal though not bitwise, where they are worse than the rung `beyond`.
    `search_timeout` bounds the search and `side_timeout` one candidate on one side, in seconds.
    """

    target: str
    sides: tuple[Side, Side] = ("jax-legacy", "jax-simplified")
    metric: str | None = None
    beyond: str = "bitwise"
    max_tries: int = 500
    search_timeout: float = 600.0
    side_timeout: float = 30.0


def symptom_to_keep(question: Question, seen: Judged) -> Symptom | None:
    """Choose the symptom that candidates have to keep: the one asked for, or the decisive one.

    None where the sides are at parity. Raises `ReduceError` where nothing of the kind is shown.
    """
    shown = symptoms(seen.judgement, seen.evidence, beyond=question.beyond)
    if question.metric is None:
        if seen.judgement.verdict == "parity":
            return None
        decisive = [each for each in shown if each.kind.startswith("different")]
        return next((each for each in (*decisive, *shown) if each in decisive or each.fails), None)
    asked = [each for each in shown if each.metric == question.metric]
    if not asked and shown:
        metrics = ", ".join(dict.fromkeys(each.metric for each in shown))
        raise ReduceError(
            f"{question.target} does not differ in {question.metric!r}; it does in {metrics}"
        )
    if asked and asked[0].kind.startswith("expected") and question.metric not in MEASURED:
        raise ReduceError(
            f"{question.target} differs in {question.metric!r} as it should, and no file shows "
            f"that; of such metrics one can show {', '.join(sorted(MEASURED))}"
        )
    return asked[0] if asked else None
