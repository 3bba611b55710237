"""Experiments: a question about one program, answered in a process of its own.

`culprit`, `sweep` and `tune` are asked here, and their answers read; the process is a worker like
others.
"""

from __future__ import annotations

from typing import TypeVar

from parity_tests.evidence.folder_layout import temporary_folder
from parity_tests.experiments.repeated import what_changes
from parity_tests.processes.one_question import ask
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import (
    FindCulprit,
    ProgramRaised,
    Question,
    SweepThreshold,
    TunePolicy,
    UnknownTarget,
)
from parity_tests.processes.worker_process import Lost
from parity_tests.targets import TargetError
from reports.rows import Side
from reports.rows.experiments import (
    CulpritFound,
    CulpritQuestion,
    Sweep,
    SweepQuestion,
    TuneQuestion,
    Tuning,
)

TIMEOUT = 600.0
_SIDE: Side = "simplified"

Found = TypeVar("Found", CulpritFound, Sweep, Tuning)


class ExperimentError(RuntimeError):
    """There is no answer: the program raised or crashed, or the time was up; the message says."""


def find_culprits(
    target: str, question: CulpritQuestion, *, timeout: float = TIMEOUT
) -> CulpritFound:
    """Ask for the culprits of one program; `timeout` is in seconds for the whole search.

    Outputs are compared where the program repeats its own; where it does not, the verdict is "not
    repeatable". Raises `TargetError` where the target names no program, and `ExperimentError`.

    Example::

        find_culprits("my_model.py:step", CulpritQuestion(metric="outputs")).arrays
    """
    if question.metric == "outputs":
        with temporary_folder() as folder:
            said = what_changes(target, _SIDE, folder, timeout=timeout)
        if said:
            return CulpritFound(
                program=target.rpartition(":")[2],
                source=target,
                question=question,
                verdict="not repeatable",
                reasons=(said,),
                candidates=0,
                variants=0,
            )
    return _answer(target, FindCulprit(target=target, question=question), timeout)


def sweep_thresholds(target: str, question: SweepQuestion, *, timeout: float = TIMEOUT) -> Sweep:
    """Ask for a sweep of one program; `timeout` is in seconds for the whole sweep.

    Raises `TargetError` where the target names no program, and `ExperimentError`.

    Example::

        sweep_thresholds("my_model.py:step", SweepQuestion(thresholds=(0, 32))).recommended
    """
    return _answer(target, SweepThreshold(target=target, question=question), timeout)


def tune_policy(target: str, question: TuneQuestion, *, timeout: float = TIMEOUT) -> Tuning:
    """Ask for a constant policy of one program; `timeout` is in seconds for the whole search.

    Raises `TargetError` where the target names no program, and `ExperimentError`.

    Example::

        tune_policy("my_model.py:step", TuneQuestion()).proposal
    """
    return _answer(target, TunePolicy(target=target, question=question), timeout)


def _answer(
    target: str, question: Question[Found | UnknownTarget | ProgramRaised], timeout: float
) -> Found:
    with temporary_folder() as folder:
        answer = ask(question, _SIDE, folder, Limits(timeout))
    if isinstance(answer, Lost):
        raise ExperimentError(f"{target}: {answer.ending}\n{answer.last_words}".rstrip())
    if isinstance(answer, UnknownTarget):
        raise TargetError(answer.unknown_target)
    if isinstance(answer, ProgramRaised):
        raise ExperimentError(f"{target}: {answer.raised}")
    return answer
