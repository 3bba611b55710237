"""Take the turns: in each all contestants, in fresh processes that measure step by step.

A machine may change its speed by half between two processes, and one core may be slower than
another. So the processes of a turn live side by side on one core and go from measurement to
measurement in steps, which are handed out here. A slow moment of the machine then slows all of
them. One process after the other was the alternative, and it measured mostly the machine.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from parity_tests.bench.contestants import side_of
from parity_tests.bench.pool import Pool
from parity_tests.bench.rows import ROWS
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.processes.protocol import Progress, TakeBenchTurn
from parity_tests.processes.side_environment import environment_of
from parity_tests.processes.worker_process import Lost, Worker
from reports.rows import Environment, Side, now
from reports.rows.bench import CONTESTANTS, Bench, BenchQuestion, BenchTurn, TurnTaken

TIMEOUT = 1800.0  # stock JAX takes a third of it for one measurement of `full`


class BenchError(RuntimeError):
    """A process left no answer; the message has the contestant, the rows and its last words."""


class LiveProcess:
    """The process of one contestant, as its parent sees it; it starts at its first step.

    `timeout` is in seconds for one step.
    """

    def __init__(self, turn: BenchTurn, folder: Path, *, timeout: float) -> None:
        self.turn = turn
        self.taken: TurnTaken | None = None
        self._folder = folder
        self._timeout = timeout
        self._worker: Worker | None = None
        self._said = -1

    def step(self) -> int | None:
        """Let the process run until it waits, and return the place of its row; None at its end.

        Raises `BenchError` where it takes too long, or ended without an answer.
        """
        if self._worker is None:
            self._worker = self._start()
        else:
            self._worker.give("go")
        readable, _, _ = select.select([self._said], [], [], self._timeout)
        if not readable:
            ending = f"no result in {self._timeout:g} seconds"
            raise self._error(self._worker.last("timeout", ending))
        if place := os.read(self._said, 16):
            return int(place)
        self._worker.process.wait()
        self._worker.kill()  # and what it started, before its id can be another's
        answer = self._worker.answer(TakeBenchTurn)
        if isinstance(answer, Lost):
            raise self._error(answer)
        self.taken = answer
        return None

    def close(self) -> None:
        """End the process and whatever it started."""
        if self._worker is not None:
            self._worker.kill()
        if self._said >= 0:
            os.close(self._said)

    def _start(self) -> Worker:
        side = side_of(self.turn.contestant)
        self._folder.mkdir()
        self._said, theirs = os.pipe()
        request = TakeBenchTurn(turn=self.turn, says_on=theirs)
        try:
            environment = self._environment(side)
            return Worker.start(
                request, self._folder, side, environment=environment, pass_fds=(theirs,)
            )
        except OSError as error:
            ending = f"could not be started: {error}"
            raise self._error(Lost("crash", ending, "start of the process", "")) from error
        finally:
            os.close(theirs)  # the process keeps its end open until it ends

    def _environment(self, side: Side) -> dict[str, str]:
        """Return the side's environment without CONSTPARITY_*, which the user may have set.

        Each process hashes strings by a seed of its own: one seed for all would favour one layout
        of memory.
        """
        environment = {
            name: value
            for name, value in environment_of(side).items()
            if not name.startswith("CONSTPARITY_")
        }
        if "PYTHONHASHSEED" not in os.environ:
            del environment["PYTHONHASHSEED"]
        if self.turn.devices is not None:
            count = f"--xla_force_host_platform_device_count={self.turn.devices}"
            environment["XLA_FLAGS"] = f"{environment.get('XLA_FLAGS', '')} {count}".strip()
        return {
            **environment,
            "TMPDIR": str(self._folder),  # files of a process that is killed go with its folder
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # or the first process takes most of a GPU
        }

    def _error(self, lost: Lost) -> BenchError:
        what = f"{self.turn.contestant}, rows {', '.join(map(str, self.turn.rows))}"
        return BenchError(f"{what}: {lost.ending}\n{lost.log}".rstrip())


def step_in_turns(processes: Sequence[LiveProcess]) -> None:
    """Step processes until all have ended: A B C, B C A, and so on.

    Each is the first as often as the others. The order A B C C B A was the alternative: there the
    first and the last step twice in a row, and find their memory in the caches of the core.

    No process goes on to a row before all have come to it: one that has no part in a row, or fewer
    measurements there, waits for the others.
    """
    places = [process.step() for process in processes]
    while waiting := [place for place in places if place is not None]:
        now = [number for number, place in enumerate(places) if place == min(waiting)]
        for number in now:
            places[number] = processes[number].step()
        processes = [*processes[1:], processes[0]]
        places = [*places[1:], places[0]]


def run(
    question: BenchQuestion,
    *,
    timeout: float = TIMEOUT,
    progress: Progress = lambda done, total, text: None,
) -> Iterator[Bench]:
    """Run a benchmark, two turns in a round, and yield the figures so far after each turn.

    `timeout` is in seconds for one step: from the start of a process, or a measurement, to the
    next one. Raises `BenchError`, and `ValueError` for an unknown row.

    Example::

        *_, found = run(BenchQuestion(rows=(1, 3), rounds=4))
        found.lines[0].outcome
    """
    if unknown := [number for number in question.rows if number not in ROWS]:
        raise ValueError(f"no row {unknown[0]}; the rows are {', '.join(map(str, ROWS))}")
    load, created = _load(), now()
    together, cores = processes_of(question.rows), _cores()
    pools = [Pool(number) for number in question.rows]
    total = 2 * question.rounds * len(together)
    environments: list[Environment] = []
    for turn in range(2 * question.rounds):
        core = cores[turn % len(cores)] if cores else None
        # Who starts first is who steps first, and the machine may have changed by the last.
        contestants = CONTESTANTS if turn % 2 == 0 else CONTESTANTS[::-1]
        for done, rows in enumerate(together, turn * len(together)):
            text = ("rows " if len(rows) > 1 else "row ") + ", ".join(map(str, rows))
            progress(done, total, f"turn {turn + 1}: {text}")
            process = ROWS[rows[0]]
            on = None if process.process == "all cores" else core
            turns = [
                BenchTurn(
                    contestant=each,
                    rows=rows,
                    size=question.size,
                    core=on,
                    devices=process.devices,
                )
                for each in contestants
            ]
            answers = ask_for(turns, timeout=timeout)
            environments.append(answers[0].environment)
            for each, taken in zip(turns, answers, strict=True):
                for pool in pools:
                    pool.add(each.contestant, taken.samples)
        yield Bench(
            created=created,
            environment=environments[0],  # that of one row may have more devices
            question=question,
            load=load,
            lines=tuple(line for pool in pools for line in ROWS[pool.row].judge(pool)),
            samples=tuple(each for pool in pools for each in pool.samples()),
        )
    progress(total, total, "")


def processes_of(rows: Sequence[int]) -> list[tuple[int, ...]]:
    """Divide rows over processes: a row that wants to be alone has a process of its own.

    Example::

        processes_of((1, 2, 6)) == [(1, 2), (6,)]
    """
    together = tuple(number for number in rows if ROWS[number].process == "shared")
    alone = [(number,) for number in rows if ROWS[number].process != "shared"]
    return [*([together] if together else []), *alone]


def ask_for(turns: Sequence[BenchTurn], *, timeout: float = TIMEOUT) -> list[TurnTaken]:
    """Measure rows on contestants, all in step, each in a process of its own.

    Raises `BenchError`.
    """
    with ExitStack() as stack:
        # Files of a process that was killed may appear a moment later, which is no error.
        folder = stack.enter_context(temporary_folder())
        processes = [
            LiveProcess(turn, folder / str(number), timeout=timeout)
            for number, turn in enumerate(turns)
        ]
        for process in processes:
            stack.callback(process.close)
        step_in_turns(processes)
        return [process.taken for process in processes if process.taken is not None]


def _load() -> float | None:
    """Return how many jobs ran or waited in the last minute; None where that is unknown."""
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _cores() -> list[int]:
    """Return the cores that this process may run on; none where that is unknown."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
