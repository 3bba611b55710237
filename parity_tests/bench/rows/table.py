"""The rows of the benchmark by number, and their measurement in the process of a contestant.

A new row is a file with a `ROW`, and a line here.
"""

from __future__ import annotations

import importlib
import os

from parity_tests.bench import stepping
from parity_tests.bench.row import Row
from parity_tests.bench.rows import (
    closures,
    compile_time,
    equal_arrays,
    first_call,
    one_buffer,
    peak_memory,
    preamble,
    preamble_choice,
    proposed_policy,
    steady_call,
)
from reports.rows.bench import BenchTurn, Sample, TurnTaken

ROWS: dict[int, Row] = {
    each.number: each
    for each in (
        steady_call.ROW,
        first_call.ROW,
        one_buffer.ROW,
        equal_arrays.ROW,
        closures.ROW,
        peak_memory.ROW,
        preamble.ROW,
        preamble_choice.ROW,
        proposed_policy.ROW,
        compile_time.ROW,
    )
}


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
