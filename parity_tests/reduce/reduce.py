"""Reduce: a program that shows a difference on two sides, to a small file that shows it by itself.

Every candidate is written as the stand-alone file that it would become, and the sides run that very
file: the file that is written in the end is the one that was judged.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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
from parity_tests.processes.warm_workers import warm_pair
from parity_tests.processes.worker_process import Lost
from parity_tests.reduce import draft as drafts
from parity_tests.reduce import edits
from parity_tests.reduce.draft import Draft, Store
from parity_tests.reduce.pruning import cleaned
from parity_tests.reduce.search import Search
from parity_tests.reduce.stand_alone_file import Written
from parity_tests.reduce.symptom import Symptom
from parity_tests.reduce.trials import (
    START_SECONDS,
    Question,
    ReduceError,
    Trials,
    header_of,
    is_standalone,
    symptom_to_keep,
)
from parity_tests.targets import TargetError


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
    if trials.shows(whole):
        return whole
    if found:
        raise ReduceError(
            f"the difference is gone without what cannot be written to a file, {'; '.join(found)}: "
            "replace that by an argument, or by primitives of jax.extend.core.primitives, and try "
            "again"
        )
    raise ReduceError(
        "the program's jaxpr does not show the difference by itself: it lies in Python code that "
        "is traced differently on the two sides, or in state of the program; shown instead: "
        + (trials.last or "parity")
    )
