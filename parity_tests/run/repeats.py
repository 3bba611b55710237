"""Find the programs that do not repeat themselves, where their sides differ.

All programs with sides that differ run again, on two of these sides, in one process for each side.
A difference that is there again is one of the sides. Programs whose sides of ours and of stock JAX
differ alike are left out on request, and where they compile for long. What does not repeat itself
then runs twice more, alone in fresh processes: so chance is told from what other programs left in
the process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from parity_tests.evidence.records import Recorded, log
from parity_tests.judge.findings import Findings, NotRepeatable
from parity_tests.judge.repetition import (
    Runs,
    differs_in_one_mode_too,
    is_confirmed,
    judge_runs,
    repeats,
    repeats_alone,
    to_run_again,
    varies,
)
from parity_tests.judge.sides import Sides, is_one_mode
from parity_tests.judge.unrepeated import first_line_apart
from parity_tests.judge.verdict import RowDraft
from parity_tests.processes.kept_files import note_refusal
from parity_tests.processes.one_question import ask
from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job, PrintedJaxpr, PrintJaxpr, Progress
from parity_tests.processes.side_runs import run_sides, run_turns
from parity_tests.processes.worker_process import Lost
from parity_tests.run import estimates
from parity_tests.run.collection import Context
from reports.rows import Side
from reports.views.ledger import listed

_Records = Mapping[tuple[int, Side], Recorded]
_Alone = dict[tuple[int, Side], list[Recorded]]


def find_unrepeatable(drafts: Sequence[RowDraft], context: Context) -> list[RowDraft]:
    """Return the drafts, with the finding where a program does not repeat itself.

    Example::

        find_unrepeatable(drafts, context)
    """
    try:
        return _with_findings(drafts, context)
    except OSError as error:  # the folder is full, or went away
        note_refusal(error)
        log.warning("constparity: programs that differ were not run again (%s)", error)
        return list(drafts)


def _with_findings(drafts: Sequence[RowDraft], context: Context) -> list[RowDraft]:
    pairs = context.pairs
    suspects = {
        number: pair
        for number, draft in enumerate(drafts)
        if (pair := to_run_again(draft.findings, pairs))
        and not (
            (context.options.run_again == "unconfirmed" or _is_long(context.records[number]))
            and is_confirmed(draft.findings, pairs)
        )
    }
    again = _Again(context, suspects)
    second = again.run_together()
    doubted = {
        number: doubt
        for number, pair in suspects.items()
        if all((number, side) in second for side in pair)  # the folder took them
        and (
            doubt := _doubt(
                drafts[number].findings,
                pair,
                pairs,
                again.runs(number, second),
                began_apart=again.began_apart(number),
            )
        )
    }
    unclear = [number for number, doubt in doubted.items() if doubt == "alone"]
    # Most programs by chance are found out on the first of their sides. Where that is ours, stock
    # JAX says whether it is the program or our pipeline.
    alone = again.run_alone(unclear, 0)
    steady = [
        number
        for number in unclear
        if (number, suspects[number][0]) in alone
        and (
            is_one_mode(suspects[number])
            or repeats_alone(
                drafts[number].findings, suspects[number], again.runs(number, second, alone)[0]
            )
        )
    ]
    alone |= again.run_alone(steady, 1)
    found = list(drafts)
    for number in doubted:
        draft, runs = drafts[number], again.runs(number, second, alone)
        finding = judge_runs(
            draft.findings, suspects[number], *runs, draft.program.source,
            began_apart=again.began_apart(number),
        )  # fmt: skip
        if finding is not None:
            placed = again.placed(finding, number, draft.program.source)
            findings = replace(draft.findings, not_repeatable=placed)
            found[number] = replace(draft, findings=findings)
    return found


def _is_long(records: Mapping[Side, Recorded]) -> bool:
    times = (each.observation.times for each in records.values())
    return any(each is not None and each.is_long for each in times)


def _doubt(
    findings: Findings, pair: Sides, pairs: Sequence[Sides], runs: tuple[Runs, Runs], *,
    began_apart: bool,
) -> Literal["", "alone", "chance"]:  # fmt: skip
    """Say whether a program is in doubt after a second run, and has to run alone to clear it up.

    Runs alone tell chance from what other programs left in the process. Where sides of one mode
    differ as well, or one side changes by less than the two differ, they are more runs of a program
    that may have repeated itself by luck.
    """
    if not repeats(findings, pair, *runs):
        was_fresh = all(each.were_fresh for each in runs)
        return "chance" if was_fresh and not is_one_mode(pair) else "alone"
    is_in_doubt = (
        began_apart
        or differs_in_one_mode_too(findings, pair, pairs)
        or varies(findings, pair, *runs)
    )
    return "alone" if is_in_doubt else ""


@dataclass(frozen=True)
class _Again:
    """How programs run again, each on its pair of sides."""

    context: Context
    suspects: Mapping[int, Sides]

    def run_together(self) -> _Records:
        """Run the programs again, each on its pair of sides, in one process for each side."""
        how = self._how(fresh=self.context.options.fresh)
        found: dict[tuple[int, Side], Recorded] = {}
        for pair in dict.fromkeys(self.suspects.values()):
            numbers = [number for number, each in self.suspects.items() if each == pair]
            jobs = [self.context.job(number) for number in numbers]
            progress = self._told("run again", f"on {' and '.join(pair)}", jobs, pair)
            found |= run_sides(jobs, pair, self.context.files.again, how, progress=progress)
        return found

    def _told(self, phase: str, how: str, jobs: Sequence[Job], sides: Sequence[Side]) -> Progress:
        """Say that programs run again, and return what tells how far they are."""
        before = [self.context.records[job.number].get(side) for job in jobs for side in sides]
        observed = [each.observation for each in before if each]
        names = [job.name for job in jobs]
        text = estimates.again(f"{phase} {how}", names, observed)
        self.context.progress(0, len(jobs) * len(sides), text)
        return lambda done, total, text: self.context.progress(done, total, f"{phase}: {text}")

    def run_alone(self, numbers: Sequence[int], place: int) -> _Alone:
        """Run programs twice, each in fresh processes, on the left side of their pair or the right.

        `place` is 0 for left, 1 for right.
        """
        folders = [self.context.files.alone(turn) for turn in range(2)]
        sides = {number: self.suspects[number][place] for number in numbers}
        found: dict[tuple[int, Side], list[Recorded]] = {}
        for side in dict.fromkeys(sides.values()):
            jobs = [self.context.job(number) for number in numbers if sides[number] == side]
            how = f"twice on {side}, each in fresh processes"
            progress = self._told("run alone", how, jobs, [side, side])
            turns = run_turns(jobs, side, folders, self._how(fresh=True), progress=progress)
            found |= {
                (job.number, side): [turn[job.number] for turn in turns]
                for job in jobs
                if all(job.number in turn for turn in turns)
            }
        return found

    def began_apart(self, number: int) -> bool:
        """Say whether one side of a program began a process with it, and the other one did not.

        The process before was lost or spent, and what it had left is there for one side alone.
        """
        return len({self._begins(number, side) for side in self.suspects[number]} - {None}) > 1

    def _begins(self, number: int, side: Side) -> bool | None:
        """Say whether a program was the first of its process; None where the process was lost."""
        files = self.context.records[number][side].files
        if files is None:
            return None
        before = (self.context.records[other] for other in range(number))
        others = (each[side].files for each in before if side in each)
        return all(each is None or each.folder != files.folder for each in others)

    def runs(self, number: int, second: _Records, alone: _Alone | None = None) -> tuple[Runs, Runs]:
        """Return the runs of a program on both sides."""
        left, right = (
            Runs(
                self.context.records[number][side].evidence(),
                second[number, side].evidence(),
                tuple(each.evidence() for each in (alone or {}).get((number, side), ())),
            )
            for side in self.suspects[number]
        )
        return left, right

    def _how(self, *, fresh: bool) -> RunOptions:
        return self.context.options.once_more(steady_calls=0, fresh=fresh)

    def placed(self, finding: NotRepeatable, number: int, source: str) -> NotRepeatable:
        """Return a finding with the line where the traced program changes, or of its callback.

        The program is traced once more for it, with the lines of its equations. Where no line is
        found, the finding has the line of the program, `source`.
        """
        if not finding.trace and not finding.calls_python:
            return finding
        folder = self.context.files.printed(number)
        folder.mkdir(parents=True, exist_ok=True)
        question = PrintJaxpr(target=self.context.job(number).target, side=finding.side)
        printed = ask(question, finding.side, folder, self.context.options.time_limit)
        found = "" if isinstance(printed, Lost) else _line(finding, printed)
        before = finding.where if finding.trace else ""  # the line of the callback says more
        return replace(finding, where=listed([*filter(None, [before]), found or source]))


def _line(finding: NotRepeatable, printed: PrintedJaxpr) -> str:
    if finding.trace:
        number = first_line_apart(finding.trace, printed.text)
    else:
        texts = enumerate(printed.text.splitlines())
        number = next((number for number, text in texts if "callback[" in text), None)
    return "" if number is None else "".join(printed.lines[number : number + 1])
