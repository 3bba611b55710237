"""Run both sides of a program again, each in a process of its own, under flags of XLA."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parity_tests.drift.first_equation import FirstDifference, first_difference
from parity_tests.evidence import ladder, values
from parity_tests.evidence.ladder import worst_rung
from parity_tests.evidence.values import Value
from parity_tests.processes.protocol import EquationValues, Job, Request
from parity_tests.processes.side_runs import NoAnswer, ask_all
from reports.rows import LeafComparison, Side


class NotAttributedError(Exception):
    """A run gave no answer; the message says why."""


@dataclass(frozen=True)
class Rerun:
    """How the two sides of a program run again: in which folder, and for how many seconds."""

    job: Job
    sides: tuple[Side, Side]
    folder: Path
    timeout: float

    def outputs(
        self, flags: str, what: str, *, barriers: bool = False
    ) -> tuple[Sequence[Value], Sequence[Value]]:
        """Return the outputs of both sides under XLA's `flags`, which `what` puts in words."""
        left, right = self._ask("outputs", flags, what, barriers=barriers)
        return values.load(left / "outputs.npz"), values.load(right / "outputs.npz")

    def _ask(self, action: str, flags: str, what: str, *, barriers: bool = False) -> list[Path]:
        """Run each side in a process of its own, and return the folders with their answers."""
        questions = []
        for side in self.sides:
            own = Path(tempfile.mkdtemp(prefix=f"{side}-", dir=self.folder))
            request = Request(
                action=action,  # type: ignore[arg-type]
                folder=own,
                sys_path=tuple(sys.path),
                side=side,
                jobs=(self.job,),
                barriers=barriers,
            )
            questions.append((request, side))
        try:
            answers = ask_all(questions, timeout=self.timeout, xla_flags=flags)
        except OSError as error:
            raise NotAttributedError(f"the file that XLA_FLAGS names: {error}") from error
        for side, answer in zip(self.sides, answers, strict=True):
            if isinstance(answer, NoAnswer):
                last = _last_line(answer.log)
                raise NotAttributedError(
                    f"{side} did not run with {what}: {answer.ending}{last and f': {last}'}"
                )
        return [request.folder for request, _ in questions]

    def first_equation(self, flags: str = "", *, barriers: bool = False) -> FirstDifference:
        """Return the first equation whose results differ when every result is an output."""
        what = "every result an output"
        try:
            left, right = self._ask("equations", flags, what, barriers=barriers)
        except NotAttributedError as error:
            return FirstDifference(f"no equation is named: {error}")
        answers = [
            EquationValues.model_validate_json((each / "answer.json").read_text("utf-8"))
            for each in (left, right)
        ]
        arrays = [values.load(each / "equations.npz") for each in (left, right)]
        found = first_difference(answers[0], answers[1], arrays[0], arrays[1])
        ends = (values.load(each / "outputs.npz") for each in (left, right))
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
    return [ladder.compare(a.path, a.array, b.array) for a, b in zip(left, right, strict=True)]


def _last_line(log: str) -> str:
    """Return the line of a log that says most: XLA's own last words, or an exception."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith("F") and "] " in line]
    return (fatal or lines or [""])[-1][:300]
