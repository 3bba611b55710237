"""Reduce: a program that shows a difference on two sides, to a small file that shows it by itself.

Every candidate is written as the stand-alone file that it would become, and the sides run that very
file: the file that is written in the end is the one that was judged.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from parity_tests.evidence import values
from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.judge.sides import PAIRS
from parity_tests.processes.one_question import ask
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import (
    ProgramRaised,
    ReadDraft,
    UnknownTarget,
    Unreadable,
)
from parity_tests.processes.side_environment import environment_of, with_our_packages
from parity_tests.processes.warm_workers import Judged, WarmPair, warm_pair
from parity_tests.processes.worker_process import Lost
from parity_tests.reduce import draft as drafts
from parity_tests.reduce import edits
from parity_tests.reduce.draft import Draft, Store
from parity_tests.reduce.pruning import cleaned
from parity_tests.reduce.search import Search
from parity_tests.reduce.stand_alone_file import Written, write
from parity_tests.reduce.symptom import (
    FAILURE,
    OUTPUTS,
    Symptom,
    fails_alike,
    symptoms,
    tolerances_of,
)
from parity_tests.suggestions import close
from parity_tests.targets import TargetError
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


class NotInJaxprError(ReduceError):
    """The difference is not in the program's jaxpr."""


class NoMetricError(ReduceError):
    """Nothing of the program is compared under the name that is to keep differing."""

    def __init__(self, target: str, name: str, known: Collection[str]) -> None:
        meant = close(name, known)
        to_do = meant or f" -> `constparity run {target} --report json:-` has the names"
        super().__init__(f"--metric {name}: nothing of {target} is compared as that{to_do}")


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
    if failure := fails_alike(seen.evidence):
        raise ReduceError(f"{question.target} fails alike on both sides: {failure}")
    shown = symptoms(seen.judgement, seen.evidence, beyond=question.beyond)
    if question.metric is None:
        if seen.judgement.verdict == "parity":
            return None
        decisive = [each for each in shown if each.kind.startswith("different")]
        return next((each for each in (*decisive, *shown) if each in decisive or each.fails), None)
    known = {FAILURE, *(each.metric for each in seen.judgement.comparisons)}
    if question.metric not in known:
        raise NoMetricError(question.target, question.metric, known)
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
    one showed that is not expected, `slipped` counts the candidates that failed in another way.
    """

    question: Question
    pair: WarmPair
    symptom: Symptom
    store: Store
    folder: Path
    last: str = ""
    slipped: int = 0
    shown: dict[str, Symptom] = field(default_factory=dict)
    _count: int = 0

    def shows(self, candidate: Draft) -> bool:
        """Run a candidate on both sides, and say whether it shows what the program shows."""
        self._count += 1
        file = self.folder / f"candidate_{self._count}.py"
        self.write(candidate, "A candidate.").save(file)
        judged = self.pair.judge(f"{file}:program")
        found = symptoms(judged.judgement, judged.evidence, beyond=self.question.beyond)
        unexpected = [each for each in found if not each.kind.startswith("expected")]
        self.last = "; ".join(f"{each.metric} {each.kind}" for each in unexpected)
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
        kept = {each.number for each in (*candidate.arguments, *candidate.captured)}
        if self.symptom.metric not in MEASURED or "wrong side" in self.symptom.kind:
            shows["metric"] = "judged by constparity"
        donated = [n for n, a in enumerate(candidate.arguments) if a.number in candidate.donated]
        return write(
            candidate,
            self.store,
            header=header,
            sides=self.question.sides,
            shows=shows,
            donated=donated or None,
            aliases={
                n: captured for n, captured in candidate.same if n in kept and captured in kept
            },
        )


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


@dataclass(frozen=True)
class Reduced:
    """The result of a search; `stopped` says why it ended early, "" where it did not.

    `equations` are the numbers of equations before and after. `slipped` is how many of the `tries`
    failed in another way, and so were not taken. `standalone` says that the file needs stock JAX
    alone.
    """

    symptom: Symptom
    draft: Draft
    written: Written
    equations: tuple[int, int]
    tries: int
    slipped: int
    stopped: str
    standalone: bool


def reduce(
    question: Question, *, on_try: Callable[[int, int], object] = lambda tries, equations: None
) -> Reduced | None:
    """Reduce a program; None where there is nothing to reduce, since the sides are at parity.

    `on_try` is told how many candidates were tried, and how many equations are left. Raises
    `TargetError` where the target names no program, and `ReduceError`.

    Example::

        reduce(Question("my_model.py:step", metric="outputs")).written.save(Path("small.py"))
    """
    if question.sides not in PAIRS:
        pairs = ", ".join(" and ".join(pair) for pair in PAIRS)
        raise ReduceError(f"{' and '.join(question.sides)} are no pair; the pairs are {pairs}")
    with temporary_folder("reduce-") as folder:
        start, store = _read(question, folder)
        with warm_pair(*question.sides, folder, Limits(question.side_timeout)) as pair:
            symptom = symptom_to_keep(question, pair.judge(question.target))
            if symptom is None:
                return None
            trials = Trials(question, pair, symptom, store, folder)
            search = Search(
                _writable(start, trials),
                trials.shows,
                trials.text_of,
                question.max_tries,
                question.search_timeout,
                on_try=lambda tries, best: on_try(tries, _equations(best)),
            )
            search.run()
            return _reduced(start, search, trials)


def _reduced(start: Draft, search: Search, trials: Trials) -> Reduced:
    best, equations = search.best, _equations(search.best)
    final = trials.shown[trials.text_of(best)]
    return Reduced(
        symptom=final,
        draft=best,
        written=trials.write(best, header_of(trials.question, final)),
        equations=(_equations(start), equations),
        tries=search.tries,
        slipped=trials.slipped,
        stopped=search.stopped,
        standalone=is_standalone(trials.question, final),
    )


def confirm(file: Path, question: Question) -> tuple[int, str]:
    """Run a written file in a process of its own; return its exit status and its output."""
    environment = environment_of("jax-legacy")
    if all(side.startswith("jax-") for side in question.sides):
        environment.pop("PYTHONPATH", None)  # it has to run where this project is not
    else:
        environment = with_our_packages(environment)
    seconds = 2 * (question.side_timeout + START_SECONDS)
    try:
        done = subprocess.run(
            [sys.executable, str(file)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, f"no result in {seconds:g} seconds"
    return done.returncode, done.stdout + done.stderr


def _equations(draft: Draft) -> int:
    return sum(1 for _ in drafts.walk(draft.body))


def _read(question: Question, folder: Path) -> tuple[Draft, Store]:
    request = ReadDraft(target=question.target)
    answer = ask(request, "jax-legacy", folder, Limits(question.search_timeout))
    if isinstance(answer, Lost):
        raise ReduceError(
            f"{question.target} has no jaxpr to reduce, for tracing it failed: {answer.ending}\n"
            f"{answer.last_words}".rstrip()
        )
    if isinstance(answer, UnknownTarget):
        raise TargetError(answer.unknown_target)
    if isinstance(answer, ProgramRaised):
        raise ReduceError(f"{question.target} has no jaxpr to reduce: {answer.raised}")
    if isinstance(answer, Unreadable):
        raise ReduceError(f"{question.target}: {answer.unreadable}")
    arrays = values.load(ProcessFiles(folder).draft)
    store = {int(each.path): each.array for each in arrays}
    return cleaned(drafts.from_json(answer.draft)), store


def _writable(start: Draft, trials: Trials) -> Draft:
    """Return a draft that can be written and shows the symptom."""
    found = drafts.unwritable(start)
    whole = edits.without_unwritable(start) if found else start
    plain = replace(whole, donated=(), same=())
    for candidate in dict.fromkeys((plain, whole)):
        if trials.shows(candidate):
            return candidate
    if found:
        raise ReduceError(
            f"the difference is gone without what cannot be written to a file, {'; '.join(found)}: "
            "replace that by an argument, or by primitives of jax.extend.core.primitives, and try "
            "again"
        )
    raise NotInJaxprError(
        f"{trials.question.target}: the program's jaxpr does not show the difference by itself: it "
        "lies in Python code that is traced differently on the two sides, or in state of the "
        "program (`--metric proof` cuts its source instead, where the forms part); shown instead: "
        + (trials.last or "nothing unexpected")
    )
