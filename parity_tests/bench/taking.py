"""Take the turns: fresh processes, one at a time, the contestants forward and backward in turns."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from parity_tests.bench.contestants import side_of
from parity_tests.bench.pool import Pool
from parity_tests.bench.rows import ROWS
from parity_tests.sides import Progress, ask
from parity_tests.worker import Answer, Request
from reports.bench_rows import CONTESTANTS, Bench, BenchQuestion, BenchTurn, TurnTaken

TIMEOUT = 600.0


class BenchError(RuntimeError):
    """A process left no answer; the message has the contestant, the rows and its last words."""


def run(
    question: BenchQuestion,
    *,
    timeout: float = TIMEOUT,
    progress: Progress = lambda done, total, text: None,
) -> Bench:
    """Run a benchmark: each contestant twice in a round, in the order A B B A.

    `timeout` is in seconds for one process. Raises `BenchError`, and `ValueError` for a row that
    there is none of.

        run(BenchQuestion(rows=(1, 3), rounds=4)).lines[0].outcome
    """
    if unknown := [number for number in question.rows if number not in ROWS]:
        raise ValueError(f"no row {unknown[0]}; the rows are {', '.join(map(str, ROWS))}")
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None  # Windows has none
    created = datetime.now(UTC).isoformat(timespec="seconds")
    turns = [
        BenchTurn(contestant=contestant, rows=rows, size=question.size)
        for turn in range(2 * question.rounds)
        for contestant in (CONTESTANTS if turn % 2 == 0 else CONTESTANTS[::-1])
        for rows in processes_of(question.rows)
    ]
    pool, environment = Pool(), None
    for step, turn in enumerate(turns):
        rows = ("rows " if len(turn.rows) > 1 else "row ") + ", ".join(map(str, turn.rows))
        progress(step, len(turns), f"{turn.contestant}: {rows}")
        taken = ask_for(turn, timeout=timeout)
        environment = environment or taken.environment
        pool.add(turn.contestant, taken.samples)
    progress(len(turns), len(turns), "")
    assert environment is not None
    return Bench(
        created=created,
        environment=environment,
        question=question,
        load=load,
        lines=tuple(line for number in question.rows for line in ROWS[number].judge(pool)),
        samples=pool.rows(),
    )


def processes_of(rows: Sequence[int]) -> list[tuple[int, ...]]:
    """Divide rows over processes: those that want to be alone are.

    processes_of((1, 2, 6)) == [(1, 2), (6,)]
    """
    together = tuple(number for number in rows if not ROWS[number].alone)
    alone = [(number,) for number in rows if ROWS[number].alone]
    return [*([together] if together else []), *alone]


def ask_for(turn: BenchTurn, *, timeout: float = TIMEOUT) -> TurnTaken:
    """Measure rows on a contestant in a process of its own. Raises `BenchError`."""
    with tempfile.TemporaryDirectory(prefix="constparity-") as folder:
        request = Request(action="bench", folder=Path(folder), sys_path=tuple(sys.path), bench=turn)
        text = ask(request, side_of(turn.contestant), timeout=timeout)
    if not isinstance(text, str):
        what = f"{turn.contestant}, rows {', '.join(map(str, turn.rows))}"
        raise BenchError(f"{what}: {text.ending}\n{text.log}".rstrip())
    taken = Answer.model_validate_json(text).bench
    assert taken is not None
    return taken


def take(turn: BenchTurn) -> TurnTaken:
    """Measure rows on a contestant in this process, which must be one of its side."""
    from parity_tests.environment import describe

    environment = describe()  # it starts the backend, which no row is to be charged for
    if turn.contestant in ("legacy", "simplified"):
        importlib.import_module("engine")  # no row is to be charged for it either
    samples = [
        sample
        for number in turn.rows
        for sample in ROWS[number].measure(turn.contestant, turn.size)
    ]
    return TurnTaken(environment=environment, samples=tuple(samples))
