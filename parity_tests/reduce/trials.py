"""Trials: the question of a reduction, and its candidates, each run on both sides.

A candidate is run as the file that it would become.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parity_tests.processes.warm_workers import Judged, WarmPair
from parity_tests.reduce.draft import Draft, Store
from parity_tests.reduce.stand_alone_file import Written, write
from parity_tests.reduce.symptom import FAILURE, OUTPUTS, Symptom, symptoms, tolerances_of
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


# A process may take so long to start, beside the time limit of one candidate.
START_SECONDS = 60.0


@dataclass
class Trials:
    """Candidates, each run as the file that it would become.

    `shown` has the symptom of each that showed one, by its text. `last` says in words what the last
    one showed, `slipped` counts the candidates that failed in another way.
    """

    question: Question
    pair: WarmPair
    symptom: Symptom
    store: Store
    folder: Path
    last: str = ""
    slipped: int = 0

    def __post_init__(self) -> None:
        self.shown: dict[str, Symptom] = {}
        self._count = 0

    def shows(self, candidate: Draft) -> bool:
        """Run a candidate on both sides, and say whether it shows what the program shows."""
        self._count += 1
        file = self.folder / f"candidate_{self._count}.py"
        self.write(candidate, "A candidate.").save(file)
        judged = self.pair.judge(f"{file}:program")
        found = symptoms(judged.judgement, judged.evidence, beyond=self.question.beyond)
        self.last = "; ".join(f"{each.metric} {each.kind}" for each in found)
        alike = [each for each in found if each.is_like(self.symptom)]
        if alike:
            self.shown[self.text_of(candidate)] = alike[0]
        elif judged.judgement.verdict != "parity":
            self.slipped += 1
        return bool(alike)

    def text_of(self, candidate: Draft) -> str:
        """Return the text of a candidate; equal programs share it, for variables are numbered."""
        return self.write(candidate, "").text

    def write(self, candidate: Draft, header: str) -> Written:
        """Write a candidate as the file that it would become."""
        outputs = candidate.body.outputs
        shows: dict[str, Any] = {
            "metric": self.symptom.metric,
            "fails": dict(self.symptom.fails),
            "tolerances": tolerances_of(self.symptom, (each.type.dtype for each in outputs)),
            "seconds": self.question.side_timeout + START_SECONDS,
        }
        if self.symptom.metric not in MEASURED or "wrong side" in self.symptom.kind:
            shows["metric"] = "judged by constparity"
        return write(candidate, self.store, header=header, sides=self.question.sides, shows=shows)


def is_standalone(question: Question, symptom: Symptom) -> bool:
    """Say whether a file that shows a symptom needs stock JAX alone."""
    return symptom.metric in MEASURED and all(each.startswith("jax-") for each in question.sides)


def header_of(question: Question, symptom: Symptom) -> str:
    """Return what the file of a reduced program says of itself."""
    import jax

    left, right = question.sides
    lines = [
        f"{symptom.metric[:1].upper()}{symptom.metric[1:]} on {left} and {right}: {symptom.kind}.",
        "",
        *symptom.detail.splitlines()[:8],
        "",
        f"Reduced by constparity from {question.target} with jax {jax.__version__}. It",
        "runs itself once on each side, prints what each shows, exits with 1 where they differ.",
    ]
    if not is_standalone(question, symptom):
        lines += ["It needs constparity: stock JAX alone has nothing to show here."]
    return "\n".join([*lines, ""])
