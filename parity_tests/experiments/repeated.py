"""What `culprit` asks whole sides: does a program repeat itself, and what does a flip do?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from parity_tests.advice import advice
from parity_tests.judge.calls_as_written import failure_after
from parity_tests.judge.unrepeated import action_for, changes, listed_changes, places_of, within
from parity_tests.processes.options import RunOptions
from parity_tests.processes.protocol import Job
from parity_tests.processes.side_runs import run_turns
from parity_tests.run import run as campaign
from parity_tests.run.options import CampaignOptions
from reports.rows import Failure, FlipReason, Side
from reports.rows.check_names import AS_WRITTEN


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
