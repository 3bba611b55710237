"""Whether a program repeats itself, asked before an experiment compares variants of it."""

from __future__ import annotations

from pathlib import Path

from parity_tests.judge.repetition import within
from parity_tests.judge.unrepeated import action_for, changes, listed_changes, places_of
from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job
from parity_tests.processes.side_runs import run_turns
from reports.rows import Side


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
