"""Run both sides of a program again, each in a process of its own, under flags of XLA."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from parity_tests.drift.first_equation import FirstDifference, first_difference
from parity_tests.evidence import tolerance_ladder, values
from parity_tests.evidence.folder_layout import ProcessFiles, new_rerun
from parity_tests.evidence.tolerance_ladder import worst_rung
from parity_tests.evidence.values import Value
from parity_tests.processes.one_question import Asking, ask_all
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import AnswerT, Job, Question, RunEquations, RunOutputs
from parity_tests.processes.worker_process import Lost
from reports.rows import LeafComparison, Side


class NotAttributedError(Exception):
    """A run gave no answer; the message says why."""


class NotRepeatedError(NotAttributedError):
    """A side gave other bits when it was run again."""


@dataclass(frozen=True)
class _Answered(Generic[AnswerT]):
    """What a process answered, and the files that it left."""

    answer: AnswerT
    files: ProcessFiles


@dataclass(frozen=True)
class Rerun:
    """How the two sides of a program run again: in which folder, and within which limits."""

    job: Job
    sides: tuple[Side, Side]
    folder: Path
    limits: Limits

    def outputs(
        self, flags: str, what: str, *, barriers: bool = False
    ) -> tuple[Sequence[Value], Sequence[Value]]:
        """Return the outputs of both sides under XLA's `flags`, which `what` puts in words."""
        target = self.job.target
        left, right = self._ask(
            [RunOutputs(target=target, side=each, barriers=barriers) for each in self.sides],
            flags,
            what,
        )
        return values.load(left.files.outputs), values.load(right.files.outputs)

    def _ask(
        self, questions: Sequence[Question[AnswerT]], flags: str, what: str
    ) -> list[_Answered[AnswerT]]:
        """Ask both sides in processes of their own."""
        asked = [
            Asking(
                question,
                side,
                new_rerun(self.folder, side),
                self.limits,
                flags,
            )
            for side, question in zip(self.sides, questions, strict=True)
        ]
        try:
            answers = ask_all(asked)
        except OSError as error:
            raise NotAttributedError(f"the file that XLA_FLAGS names: {error}") from error
        found = []
        for each, answer in zip(asked, answers, strict=True):
            if isinstance(answer, Lost):
                last = _last_line(answer.last_words)
                raise NotAttributedError(
                    f"{each.side} did not run with {what}: {answer.ending}{last and f': {last}'}"
                )
            found.append(_Answered(answer, ProcessFiles(each.folder)))
        return found

    def first_equation(self, flags: str = "", *, barriers: bool = False) -> FirstDifference:
        """Return the first equation whose results differ when every result is an output."""
        target = self.job.target
        questions = [
            RunEquations(target=target, side=each, barriers=barriers) for each in self.sides
        ]
        try:
            left, right = self._ask(questions, flags, "every result an output")
        except NotAttributedError as error:
            return FirstDifference(f"no equation is named: {error}")
        arrays = [values.load(each.files.equations) for each in (left, right)]
        found = first_difference(left.answer, right.answer, arrays[0], arrays[1])
        ends = (values.load(each.files.outputs) for each in (left, right))
        if found.equation is None and worst_rung(compared(*ends)) == "bitwise":
            return FirstDifference(
                "with every result an output nothing differs, since XLA then optimises another "
                "program, so no equation is named"
            )
        return found


def compared(left: Sequence[Value], right: Sequence[Value]) -> list[LeafComparison]:
    """Compare outputs leaf by leaf. Raises `NotAttributedError` where their types differ."""
    if [(v.path, v.array.shape, v.array.dtype) for v in left] != [
        (v.path, v.array.shape, v.array.dtype) for v in right
    ]:
        raise NotAttributedError("the outputs have other types when they are computed again")
    return [
        tolerance_ladder.compare(a.path, a.array, b.array) for a, b in zip(left, right, strict=True)
    ]


def _last_line(log: str) -> str:
    """Return the line of a log that says most: XLA's own last words, or an exception."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith("F") and "] " in line]
    return (fatal or lines or [""])[-1][:300]
