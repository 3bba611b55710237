"""The rows of the benchmark, a file with a `ROW` each, and how a contestant's process measures."""

from __future__ import annotations

import os
from importlib import import_module
from pkgutil import iter_modules

from parity_tests.bench import stepping
from parity_tests.bench.pool import Row
from reports.rows.bench import BenchTurn, Sample, TurnTaken

_FOUND: list[Row] = [
    import_module(f"{__name__}.{each.name}").ROW for each in iter_modules(__path__)
]
ROWS = {each.number: each for each in sorted(_FOUND, key=lambda row: row.number)}


def take(turn: BenchTurn) -> TurnTaken:
    """Measure rows on a contestant in this process, which must be a process of its side."""
    if turn.core is not None:
        os.sched_setaffinity(0, {turn.core})  # before JAX starts its threads
    from parity_tests.observe.environment import describe

    environment = describe()  # starts the backend here, so that no row is charged for it
    if turn.contestant in ("legacy", "simplified"):
        import_module("engine")  # no row is charged for this import either
    samples: list[Sample] = []
    for place, number in enumerate(turn.rows):
        stepping.come_to(place)
        for case, what, unit, value in ROWS[number].measure(turn.contestant, turn.size):
            samples.append(Sample(row=number, case=case, what=what, unit=unit, value=value))
    return TurnTaken(environment=environment, samples=tuple(samples))
