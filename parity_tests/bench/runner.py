"""Take the turns: in each all contestants, in fresh processes that measure step by step."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime

from parity_tests.bench.pool import Pool
from parity_tests.bench.processes import LiveProcess, step_in_turns
from parity_tests.bench.rows import ROWS
from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.processes.protocol import Progress
from reports.rows.bench import CONTESTANTS, Bench, BenchQuestion, BenchTurn, TurnTaken

TIMEOUT = 1800.0  # stock JAX takes a third of it for one measurement of `full`


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
    load, created = _load(), datetime.now(UTC).isoformat(timespec="seconds")
    together, cores = processes_of(question.rows), _cores()
    pool, total = Pool(), 2 * question.rounds * len(together)
    for turn in range(2 * question.rounds):
        core = cores[turn % len(cores)] if cores else None
        # Who starts first is who steps first, and the machine may have changed by the last.
        contestants = CONTESTANTS if turn % 2 == 0 else CONTESTANTS[::-1]
        for done, rows in enumerate(together, turn * len(together)):
            text = ("rows " if len(rows) > 1 else "row ") + ", ".join(map(str, rows))
            progress(done, total, f"turn {turn + 1}: {text}")
            turns = [
                BenchTurn(contestant=each, rows=rows, size=question.size, core=core)
                for each in contestants
            ]
            answers = ask_for(turns, timeout=timeout)
            for each, taken in zip(turns, answers, strict=True):
                pool.add(each.contestant, taken.samples)
        yield Bench(
            created=created,
            environment=answers[0].environment,
            question=question,
            load=load,
            lines=tuple(line for number in question.rows for line in ROWS[number].judge(pool)),
            samples=pool.samples(),
        )
    progress(total, total, "")


def processes_of(rows: Sequence[int]) -> list[tuple[int, ...]]:
    """Divide rows over processes: a row that wants to be alone has a process of its own.

    Example::

        processes_of((1, 2, 6)) == [(1, 2), (6,)]
    """
    together = tuple(number for number in rows if not ROWS[number].alone)
    alone = [(number,) for number in rows if ROWS[number].alone]
    return [*([together] if together else []), *alone]


def ask_for(turns: Sequence[BenchTurn], *, timeout: float = TIMEOUT) -> list[TurnTaken]:
    """Measure rows on contestants, all in step, each in a process of its own.

    Raises `BenchError`.
    """
    with ExitStack() as stack:
        # Files of a process that was killed may appear a moment later, which is no error.
        folder = stack.enter_context(temporary_folder(ignore_cleanup_errors=True))
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
