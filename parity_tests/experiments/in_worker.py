"""Experiments: a question about one program, answered in a process of its own.

`culprit`, `sweep` and `tune` are asked here, and their answers read; the process is a worker like
others.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from parity_tests.advice import advice
from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.judge.calls_as_written import failure_after
from parity_tests.judge.unrepeated import action_for, changes, listed_changes, places_of, within
from parity_tests.processes.one_question import ask
from parity_tests.processes.options import Limits, RunOptions
from parity_tests.processes.protocol import (
    ComparedVariant,
    FindCulprit,
    Job,
    ProgramRaised,
    Progress,
    Question,
    UnknownTarget,
)
from parity_tests.processes.side_runs import run_turns
from parity_tests.processes.worker_process import Lost
from parity_tests.run import run as campaign
from parity_tests.run.options import CampaignOptions
from parity_tests.targets import TargetError
from reports.rows import Failure, FlipReason, Side, Verdict
from reports.rows.check_names import AS_WRITTEN
from reports.rows.experiments import (
    CulpritFound,
    CulpritQuestion,
    Sweep,
    Tuning,
)
from reports.views import texts

TIMEOUT = 600.0
_SIDE: Side = "simplified"
_UNTRACED = (
    "no array is the culprit: in simplified form the program fails before any of it is compared"
)

Found = TypeVar("Found", CulpritFound, Sweep, Tuning)


@dataclass(frozen=True)
class _Until:
    """When the search about a target has to end: at a time of `time.monotonic`, after `timeout`."""

    target: str
    timeout: float
    deadline: float

    def left(self) -> float:
        """Return the seconds that are left. Raises `ExperimentError` where none are."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise self.is_up()
        return left

    def is_up(self) -> ExperimentError:
        """Return the error that says that the time is up."""
        return ExperimentError(f"{self.target}: no result in {self.timeout:g} seconds")


class ExperimentError(RuntimeError):
    """There is no answer: the program raised or crashed, or the time was up; the message says."""


class ProgramFailedError(ExperimentError):
    """The program raised or crashed when it was built or traced, before it was looked into."""


def find_culprits(
    target: str,
    question: CulpritQuestion,
    *,
    timeout: float = TIMEOUT,
    progress: Progress = lambda done, total, text: None,
) -> CulpritFound:
    """Ask for the culprits of one program; `timeout` is in seconds for the whole search.

    Outputs are compared where the program repeats its own; where it does not, the verdict is "not
    repeatable". What the flip of stock JAX does first, a failure or a price, is said as well. Where
    no array differs and the program fails after that flip, the arrays are looked for with which it
    does. Raises `TargetError` where the target names no program, `SidesError` where this JAX has no
    flag, and `ExperimentError`.

    Example::

        find_culprits("my_model.py:step", CulpritQuestion(metric="outputs")).arrays
    """
    progress = _with_program_named(target, progress)
    until = _Until(target, timeout, time.monotonic() + timeout)
    if question.metric != "outputs":
        return _culprits(FindCulprit(target=target, question=question), until, progress)
    with temporary_folder() as folder:
        progress(0, 0, "does the program repeat itself? two runs on simplified")
        said = what_changes(target, _SIDE, folder, timeout=until.left())
    if said:
        return _none(target, question, "not repeatable", said)
    failed: ProgramFailedError | None = None
    try:
        found = _culprits(FindCulprit(target=target, question=question), until, progress)
    except ProgramFailedError as error:
        failed = error
        found = _none(target, question, "difference", _UNTRACED)
    if found.fails or found.verdict not in ("parity", "difference"):
        return found
    progress(0, 0, "what does the flip do? a run on jax-legacy and on jax-simplified")
    stock = across_stock(target, timeout=until.left())
    if failed is not None and stock.failure is None:
        raise failed
    if stock.failure is None or found.verdict != "parity":
        reasons = (*found.reasons, *stock.said())
        return found.model_copy(update={"reasons": reasons, "fails": failed is not None})
    return _search_on_stock(target, found, stock.failure, stock, until, progress)


def _search_on_stock(
    target: str,
    ours: CulpritFound,
    failure: Failure,
    stock: AcrossStock,
    until: _Until,
    progress: Progress,
) -> CulpritFound:
    """Look for the arrays with which stock JAX fails, and the engine does not."""
    asked = FindCulprit(target=target, question=ours.question, stock_failure=failure.type)
    found = _culprits(asked, until, progress)
    says = f"jax-legacy runs the program and jax-simplified fails: {texts.failed(failure)}"
    fixes = "constparity's own simplified pipeline runs it with every array hoisted"
    if found.verdict == "difference":
        too = "with these arrays as arguments stock JAX fails, too"
        reasons = (says, fixes, too, *found.reasons[1:])
    else:
        reasons = (says, fixes, f"which array it takes is not known: {found.reasons[0]}")
    return found.model_copy(
        update={
            "verdict": "difference",
            "reasons": (*reasons, *stock.to_do()),
            "fails": True,
            "variants": ours.variants + found.variants,
        }
    )


def _none(target: str, question: CulpritQuestion, verdict: Verdict, reason: str) -> CulpritFound:
    return CulpritFound(
        program=target.rpartition(":")[2],
        source=target,
        question=question,
        verdict=verdict,
        reasons=(reason,),
        candidates=0,
        variants=0,
    )


def _culprits(request: FindCulprit, until: _Until, progress: Progress) -> CulpritFound:
    """Search in a process that a variant may take along; the next one knows what became of it."""
    side: Side = "jax-legacy" if request.stock_failure else _SIDE
    known: tuple[ComparedVariant, ...] = ()
    while True:
        left = until.left()
        asked = request.model_copy(update={"known": known, "seconds": left})
        with temporary_folder() as folder:
            answer = ask(asked, side, folder, Limits(left), progress)
            if isinstance(answer, Lost) and answer.kind == "timeout":
                raise until.is_up()
            if not isinstance(answer, Lost) or answer.kind != "crash":
                return _read(request.target, answer)
            more = _compared_before(folder, answer)
        if not more:  # it was lost before it compared anything
            return _read(request.target, answer)
        known += more


def _compared_before(folder: Path, lost: Lost) -> tuple[ComparedVariant, ...]:
    """Return the comparisons of a lost process; the last is the one that it was lost with."""
    file = ProcessFiles(folder).variants
    lines = file.read_text("utf-8").split("\n")[:-1] if file.exists() else []
    if len(lines) % 2 == 0:  # each comparison has a line when it begins, and one when it ends
        return ()
    ended = tuple(ComparedVariant.model_validate_json(line) for line in lines[1::2])
    failure = lost.failure()
    failed = ComparedVariant(
        hoisted=tuple(json.loads(lines[-1])),
        differs=True,
        text=texts.failed(failure),
        failure=failure,
    )
    return (*ended, failed)


def answer(
    target: str,
    question: Question[Found | UnknownTarget | ProgramRaised],
    *,
    timeout: float = TIMEOUT,
    progress: Progress = lambda done, total, text: None,
) -> Found:
    """Ask a question about one program in one process; `timeout` is in seconds for all of it.

    Raises `TargetError` where the target names no program, and `ExperimentError`.

    Example::

        answer(target, TunePolicy(target=target, question=TuneQuestion())).proposal
    """
    with temporary_folder() as folder:
        said = ask(question, _SIDE, folder, Limits(timeout), _with_program_named(target, progress))
    return _read(target, said)


def _with_program_named(target: str, progress: Progress) -> Progress:
    """Name the program in each step, and say at once that its process starts."""
    name = target.rpartition(":")[2]

    def named(done: int, total: int, text: str) -> None:
        progress(done, total, f"{name}: {text}")

    named(0, 0, "starting a process")
    return named


def _read(target: str, answer: Found | UnknownTarget | ProgramRaised | Lost) -> Found:
    if isinstance(answer, Lost):
        kind = ProgramFailedError if answer.kind == "crash" else ExperimentError
        raise kind(f"{target}: {answer.ending}\n{answer.last_words}".rstrip())
    if isinstance(answer, UnknownTarget):
        raise TargetError(answer.unknown_target)
    if isinstance(answer, ProgramRaised):
        raise ProgramFailedError(f"{target}: {answer.raised}")
    return answer


# -- what culprit asks whole sides -----------------------------------------------------------------


def what_changes(target: str, side: Side, folder: Path, *, timeout: float) -> str:
    """Run a program twice in fresh processes, and say what changes; "" where it repeats itself.

    `folder` keeps the runs, `timeout` is in seconds for each.

    Example::

        what_changes("my_model.py:step", "simplified", folder, timeout=60)
    """
    job = Job(number=0, name=target.rpartition(":")[2], target=target)
    how = RunOptions(timeout=timeout, steady_calls=0, fresh=True)
    turns = run_turns([job], side, [folder / "first", folder / "second"], how)
    first, second = (turn[job.number].evidence() for turn in turns)
    if not within(first, second):
        return ""
    found = changes(first, second, target)
    return (
        f"the program does not repeat itself, so no array is the culprit: in a second run "
        f"{listed_changes(found)} ({places_of(found) or target}): {action_for(found)}"
    )


@dataclass(frozen=True)
class AcrossStock:
    """What the flip of stock JAX does to a program.

    `first` is the reason that `run` names first, None where nothing changes; values of outputs are
    what `culprit` itself is asked. `failure` is how the program fails on jax-simplified alone.
    """

    first: FlipReason | None
    failure: Failure | None = None

    def said(self) -> tuple[str, ...]:
        """Say what the reason is, and what helps."""
        if self.first is None:
            return ()
        what = f"the flip of stock JAX, by `run`: {self.first.what}"
        return (what, *self.to_do())

    def to_do(self) -> tuple[str, ...]:
        """Say what helps; "culprit" by itself does not, where that has been asked."""
        if self.first is None or self.first.action in ("", advice("culprit")):
            return ()
        asked = self.first.action == advice("culprit of failure")
        at = f"{self.first.where}: " if self.first.where else ""
        return (f"{at}to do: {advice('inline') if asked else self.first.action}",)


def across_stock(target: str, *, timeout: float) -> AcrossStock:
    """Run a program on both sides of stock JAX, and take the verdict of `run` on the flip.

    The program is known to repeat itself. `timeout` is in seconds for each side. Raises
    `SidesError` where this JAX has no flag.

    Example::

        across_stock("my_model.py:step", timeout=60).first.what
    """
    sides: tuple[Side, Side] = ("jax-legacy", "jax-simplified")
    options = CampaignOptions(sides=sides, timeout=timeout)
    [row] = campaign.run([target], options, passes=()).programs
    first = next(filter(_is_told, row.flip.reasons if row.flip else ()), None)
    before, after = row.observations
    new = failure_after(before, after)
    failure = new[1] if new else None if before.failure else after.failure
    return AcrossStock(first, failure)


def _is_told(reason: FlipReason) -> bool:
    """Say whether a reason is one against the flip, and not of values that `culprit` compares."""
    return reason.outcome != "safe" and (reason.kind != "outputs" or reason.subject == AS_WRITTEN)
