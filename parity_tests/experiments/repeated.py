"""What `culprit` asks whole sides: does a program repeat itself, and does stock JAX run it?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from parity_tests.judge.calls_as_written import failure_after
from parity_tests.judge.unrepeated import action_for, changes, listed_changes, places_of, within
from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job
from parity_tests.processes.side_runs import run_sides, run_turns
from reports.rows import Failure, Side
from reports.views.ledger import place


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
class NewFailure:
    """How a program fails on jax-simplified that runs on jax-legacy, and what its hazards say."""

    failure: Failure
    actions: tuple[str, ...]


def new_failure(target: str, folder: Path, *, timeout: float) -> NewFailure | None:
    """Run a program on both sides of stock JAX, and return how it fails on jax-simplified alone.

    `folder` keeps the runs, `timeout` is in seconds for each.

    Example::

        new_failure("my_model.py:step", folder, timeout=60)
    """
    job = _job(target)
    sides: tuple[Side, Side] = ("jax-legacy", "jax-simplified")
    how = RunOptions(timeout=timeout, steady_calls=0, hazards_on="jax-simplified")
    recorded = run_sides([job], sides, folder / "stock", how)
    before, after = (recorded[0, side].observation for side in sides)
    _, failure = failure_after(before, after) or (0, after.failure)
    if before.failure is not None or failure is None:
        return None
    hazards = recorded[0, "jax-simplified"].hazards().hazards
    return NewFailure(
        failure,
        tuple(
            f"{place(each.file, each.line)} ({each.array}): {each.kind}; to do: {each.fix}"
            for each in hazards
        ),
    )


def _job(target: str) -> Job:
    return Job(number=0, name=target.rpartition(":")[2], target=target)
