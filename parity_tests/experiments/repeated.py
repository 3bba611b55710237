"""What `culprit` asks whole sides: does a program repeat itself, and what does a flip do?"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from parity_tests.advice import advice
from parity_tests.judge.beyond_doubt import slower_in_all
from parity_tests.judge.calls_as_written import failure_after
from parity_tests.judge.comparison import compare_pairs
from parity_tests.judge.findings import Findings
from parity_tests.judge.flip_verdict import decide
from parity_tests.judge.unrepeated import action_for, changes, listed_changes, places_of, within
from parity_tests.processes.hazards_alone import detect_alone
from parity_tests.processes.options import Limits, RunOptions
from parity_tests.processes.protocol import Job
from parity_tests.processes.side_runs import run_sides, run_turns
from reports.rows import Failure, FlipReason, Side
from reports.rows.check_names import AS_WRITTEN


def what_changes(target: str, side: Side, folder: Path, *, timeout: float) -> str:
    """Run a program twice in fresh processes, and say what changes; "" where it repeats itself.

    `folder` keeps the runs, `timeout` is in seconds for each.

    Example::

        what_changes("my_model.py:step", "simplified", folder, timeout=60)
    """
    job = _job(target)
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


def across_stock(target: str, folder: Path, *, timeout: float) -> AcrossStock:
    """Run a program on both sides of stock JAX, and judge the flip as `run` does.

    Sides that stand apart in a time are measured once more. `folder` keeps the runs, `timeout` is
    in seconds for each.

    Example::

        across_stock("my_model.py:step", folder, timeout=60).first.what
    """
    job = _job(target)
    sides: tuple[Side, Side] = ("jax-legacy", "jax-simplified")
    how = RunOptions(timeout=timeout, hazards_on="jax-legacy")
    recorded = run_sides([job], sides, folder / "stock", how)
    left, right = (recorded[0, side].evidence() for side in sides)
    before, after = left.observation, right.observation
    found = recorded[0, "jax-legacy"].hazards()
    if found.not_detected:  # it ended its process when it was traced in the other form
        found = detect_alone(job, folder / "stock", Limits(timeout), found.reads)
    findings = Findings(
        observed=(before, after),
        comparisons=compare_pairs([(left, right)]),
        hazards=found.hazards,
    )
    if before.times and after.times and slower_in_all([(before.times, after.times)]):
        again = run_sides([job], sides, folder / "again", how.once_more())
        observed = tuple(again[0, side].observation for side in sides)
        findings = dataclasses.replace(findings, measured_again=observed)
    flip = decide(findings, (), [sides])
    first = next(filter(_is_told, flip.reasons if flip else ()), None)
    new = failure_after(before, after)
    failure = new[1] if new else None if before.failure else after.failure
    return AcrossStock(first, failure)


def _is_told(reason: FlipReason) -> bool:
    """Say whether a reason is one against the flip, and not of values that `culprit` compares."""
    return reason.outcome != "safe" and (reason.kind != "outputs" or reason.subject == AS_WRITTEN)


def _job(target: str) -> Job:
    return Job(number=0, name=target.rpartition(":")[2], target=target)
