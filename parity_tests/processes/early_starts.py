"""Processes that start before there is work for them, so that nobody waits for imports of JAX.

Such a process imports what its work needs and no more: no program, no device, nothing that another
process of its side would not have when its first program comes. Then it waits for a line on stdin,
the path of its order, and goes on as a process that was started with it. Turned down: forks of one
process that has imported JAX. They would share the addresses of their objects and the state of
NumPy's generator, so a program that depends on either would seem to repeat itself.

This file imports nothing that takes time: a command starts processes before it imports the rest.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from parity_tests.processes.side_environment import FOLDER, environment_of, packages_of

if TYPE_CHECKING:
    from reports.rows import Side

# The requests that a process can wait for; of any other, its start is part of the question.
Work = Literal["list programs", "run jobs", "serve reruns", "serve truth"]

_READY_SECONDS = 60.0
_POLL_SECONDS = 0.01
_READY = "ready"  # the file that says so, in the folder of a process


class Wanted(NamedTuple):
    """A process that will be needed: for which work, on which side; a spare one is taken last."""

    work: Work
    side: Side
    is_spare: bool = False


# As in `reports.rows`, whose import would take longer than a start.
SIDES: tuple[Side, ...] = ("legacy", "simplified", "jax-legacy", "jax-simplified")


def of_campaign(sides: Sequence[str] = SIDES) -> list[Wanted]:
    """Return what a campaign begins with on those of `sides` that there are.

    Example::

        of_campaign(["legacy", "simplified"])[0] == ("list programs", "jax-legacy")
    """
    named = [each for each in SIDES if each in sides]
    return [Wanted("list programs", "jax-legacy"), *(Wanted("run jobs", each) for each in named)]


def of_answers(sides: Sequence[Side]) -> list[Wanted]:
    """Return what one answer after the other may need: a campaign, and what explains its findings.

    These are found on the two sides of stock JAX, if both are run: there a flip will be felt.
    """
    stock = [each for each in sides if each.startswith("jax-")]
    pair = stock if len(stock) > 1 else sides[:2]
    again = [Wanted("run jobs", each, is_spare=True) for each in pair]
    reruns = [Wanted("serve reruns", each) for each in pair]
    return [*of_campaign(sides), *again, *reruns, Wanted("serve truth", "jax-legacy")]


def spawn(
    request: Path,
    side: Side,
    log: Path,
    environment: Mapping[str, str],
    *,
    python: Path | None = None,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start a process of a side on the file of its order; what it prints goes to `log`."""
    with open(log, "wb") as printed:
        return subprocess.Popen(
            [
                str(python or sys.executable),
                str(FOLDER / "parity_tests" / "worker" / "entry.py"),
                ",".join(packages_of(side)),
                str(request),
            ],
            stdin=subprocess.PIPE,  # held open: the worker ends when this process does
            stdout=printed,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            pass_fds=pass_fds,
            # Ctrl-C is for the parent, which then kills the whole group.
            start_new_session=True,
        )


@dataclass
class EarlyStarts:
    """Processes that wait, or will: `wanted` are those that `fill` keeps there."""

    folder: Path
    wanted: Sequence[Wanted]
    _waiting: dict[Wanted, _Early] = field(default_factory=dict)
    _started: int = 0

    def fill(self, at_once: int | None = None) -> None:
        """Start what is wanted and not there; with `at_once` no more than so many at a time."""
        for each in self.wanted:
            importing = sum(not early.is_ready() for early in self._waiting.values())
            if at_once is not None and importing >= at_once:
                return
            if each not in self._waiting:
                self._started += 1
                self._waiting[each] = _Early.start(each, self.folder / str(self._started))

    def take(self, wanted: Wanted) -> subprocess.Popen[bytes] | None:
        """Hand over a process; None where there is none that is as one started now would be."""
        early = self._waiting.pop(wanted, None)
        if early is None:
            return None
        if early.process.poll() is None and early.conditions == _Conditions.now(wanted.side):
            return early.process
        early.kill()
        return None

    def wait_until_ready(self) -> None:
        """Wait until the processes have imported all."""
        end = time.monotonic() + _READY_SECONDS
        while time.monotonic() < end and not all(
            each.is_ready() for each in self._waiting.values()
        ):
            time.sleep(_POLL_SECONDS)

    def kill(self) -> None:
        """End the processes that wait."""
        for each in self._waiting.values():
            each.kill()
        self._waiting.clear()


class _Conditions(NamedTuple):
    """What a process takes over from its parent when it starts."""

    environment: dict[str, str]
    directory: str
    path: tuple[str, ...]

    @classmethod
    def now(cls, side: Side) -> _Conditions:
        return cls(environment_of(side), os.getcwd(), tuple(sys.path))


@dataclass(frozen=True)
class _Early:
    """A process that waits for its order."""

    process: subprocess.Popen[bytes]
    conditions: _Conditions
    ready: Path

    @classmethod
    def start(cls, wanted: Wanted, folder: Path) -> _Early:
        folder.mkdir(parents=True)
        request, ready = folder / "request.json", folder / _READY
        conditions = _Conditions.now(wanted.side)
        # As `Order` of the protocol, whose import would take longer than the start.
        order = {
            "folder": str(folder),
            "sys_path": conditions.path,
            "request": {
                "kind": "wait",
                "work": wanted.work,
                "side": wanted.side,
                "ready": str(ready),
            },
        }
        request.write_text(json.dumps(order))
        process = spawn(request, wanted.side, folder / "log", conditions.environment)
        return cls(process, conditions, ready)

    def is_ready(self) -> bool:
        """Say whether it has imported all, or has ended, which whoever takes it sees."""
        return self.ready.exists() or self.process.poll() is not None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdin is not None
        self.process.stdin.close()


_held: list[EarlyStarts] = []  # the innermost last


@contextlib.contextmanager
def started_early(wanted: Sequence[Wanted], *, at_once: int | None = None) -> Iterator[EarlyStarts]:
    """Start processes for the work within the block, which takes them by itself; the rest end.

    With `at_once`, no more than so many of them.

    Example::

        with started_early(of_campaign(SIDES)):
            campaign.run(["my_model.py"])
    """
    from parity_tests.evidence.temporary_folders import temporary_folder

    with temporary_folder() as folder:
        early = EarlyStarts(folder, wanted)
        _held.append(early)
        try:
            early.fill(at_once)
            yield early
        finally:
            _held.remove(early)
            early.kill()


def take(work: str, side: Side) -> subprocess.Popen[bytes] | None:
    """Hand over a process that was started early for some work on a side; None without one."""
    for early in reversed(_held):
        for each in early.wanted:
            if each[:2] == (work, side) and (process := early.take(each)) is not None:
                return process
    return None


def wait_until_ready() -> None:
    """Wait until no process imports, since that would disturb those that measure."""
    for early in _held:
        early.wait_until_ready()
