"""The part of a benchmark that runs in a contestant's process: it measures rows, in steps."""

from __future__ import annotations

import importlib
import os

from parity_tests.bench import stepping
from parity_tests.bench.rows.table import ROWS
from reports.rows.bench import BenchTurn, Sample, TurnTaken


def take(turn: BenchTurn) -> TurnTaken:
    """Measure rows on a contestant in this process, which must be a process of its side."""
    if turn.core is not None:
        os.sched_setaffinity(0, {turn.core})  # before JAX starts its threads
    from parity_tests.observe.environment import describe

    environment = describe()  # starts the backend here, so that no row is charged for it
    if turn.contestant in ("legacy", "simplified"):
        importlib.import_module("engine")  # no row is charged for this import either
    samples: list[Sample] = []
    for place, number in enumerate(turn.rows):
        stepping.come_to(place)
        samples += ROWS[number].measure(turn.contestant, turn.size)
    return TurnTaken(environment=environment, samples=tuple(samples))
