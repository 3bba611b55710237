"""Experiments: a question about one program, answered in a process of its own.

`culprit`, `sweep` and `tune` are asked here, and their answers read; the process is a worker like
others.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from parity_tests.processes.protocol import Answer, Job, Request
from parity_tests.processes.side_runs import ask
from parity_tests.targets import TargetError
from reports.rows.experiments import (
    CulpritFound,
    CulpritQuestion,
    Sweep,
    SweepQuestion,
    TuneQuestion,
    Tuning,
)

TIMEOUT = 600.0


class ExperimentError(RuntimeError):
    """There is no answer: the program raised or crashed, or the time was up; the message says."""


def find_culprits(
    target: str, question: CulpritQuestion, *, timeout: float = TIMEOUT
) -> CulpritFound:
    """Ask for the culprits of one program; `timeout` is in seconds for the whole search.

    Raises `TargetError` where the target names no program, and `ExperimentError`.

        find_culprits("my_model.py:step", CulpritQuestion(metric="outputs")).arrays
    """
    found = _answer(target, {"action": "culprit", "culprit": question}, timeout).culprits
    assert found is not None
    return found


def sweep_thresholds(target: str, question: SweepQuestion, *, timeout: float = TIMEOUT) -> Sweep:
    """Ask for a sweep of one program; `timeout` is in seconds for the whole sweep.

    Raises `TargetError` where the target names no program, and `ExperimentError`.

        sweep_thresholds("my_model.py:step", SweepQuestion(thresholds=(0, 32))).recommended
    """
    found = _answer(target, {"action": "sweep", "sweep": question}, timeout).sweep
    assert found is not None
    return found


def tune_policy(target: str, question: TuneQuestion, *, timeout: float = TIMEOUT) -> Tuning:
    """Ask for a constant policy of one program; `timeout` is in seconds for the whole search.

    Raises `TargetError` where the target names no program, and `ExperimentError`.

        tune_policy("my_model.py:step", TuneQuestion()).proposal
    """
    found = _answer(target, {"action": "tune", "tune": question}, timeout).tuning
    assert found is not None
    return found


def _answer(target: str, asked: dict[str, Any], timeout: float) -> Answer:
    job = Job(number=0, name=target, target=target)
    with tempfile.TemporaryDirectory(prefix="constparity-") as folder:
        request = Request(**asked, folder=Path(folder), sys_path=tuple(sys.path), jobs=(job,))
        text = ask(request, "simplified", timeout=timeout)
    if not isinstance(text, str):
        raise ExperimentError(f"{target}: {text.ending}\n{text.log}".rstrip())
    answer = Answer.model_validate_json(text)
    if answer.unknown_target is not None:
        raise TargetError(answer.unknown_target)
    return answer
