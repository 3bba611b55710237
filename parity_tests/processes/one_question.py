"""Ask a process of its own one question: the answer comes back, or how the process was lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import AnswerT, Progress, Question, Step
from parity_tests.processes.worker_process import Lost, Worker, supervise
from reports.rows import Side


@dataclass
class Asking(Generic[AnswerT]):
    """A question to a process of its own, and what comes back: an answer, or how it was lost.

    `limits` are of this process. `progress` is told what the process says of its steps.
    """

    question: Question[AnswerT]
    side: Side
    folder: Path
    limits: Limits
    progress: Progress = lambda done, total, text: None
    answer: AnswerT | Lost | None = None
    _worker: Worker | None = None
    _told: Step | None = None

    @property
    def finished(self) -> bool:
        """Whether there is an answer, or there will be none."""
        return self.answer is not None

    def poll(self) -> None:
        """Start the process, and look for its answer."""
        if self._worker is None:
            self._worker = self._start()
        self._worker.listen()
        step = self._worker.step
        if step is not None and step is not self._told:
            self._told = step
            self.progress(step.done, step.total, step.text)
        if self._worker.files.answer.exists():
            # A process that has answered need not end: a thread of a module may keep it.
            self._worker.kill()
            self.answer = self._worker.answer(type(self.question))
        else:
            self.answer = self._worker.lost(self.limits)

    def kill(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.kill()

    def _start(self) -> Worker:
        # An answer may be there already, from a campaign that was interrupted.
        ProcessFiles(self.folder).answer.unlink(missing_ok=True)
        return Worker.start(self.question, self.folder, self.side, python=self.limits.python)


def ask(
    question: Question[AnswerT],
    side: Side,
    folder: Path,
    limits: Limits,
    progress: Progress = lambda done, total, text: None,
) -> AnswerT | Lost:
    """Ask a process of a side, and wait for what comes back; `folder` keeps its files.

    Example::

        ask(ListPrograms(targets=("my_model.py",)), "jax-legacy", folder, Limits(60))
    """
    [answer] = ask_all([Asking(question, side, folder, limits, progress)])
    return answer


def ask_all(asked: Sequence[Asking[AnswerT]]) -> list[AnswerT | Lost]:
    """Ask several processes, as many at once as `supervise` has, and wait for all."""
    supervise(asked)
    return [each.answer for each in asked if each.answer is not None]
