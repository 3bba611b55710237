"""A row of the benchmark: a measurement in the process of a contestant, and its judgement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from parity_tests.bench.pool import Pool
from reports.rows.bench import BenchLine, Contestant, Sample, Unit

Size = Literal["quick", "default", "full"]


@dataclass(frozen=True)
class Row:
    """One row: its number, its title, and its two functions.

    `measure` runs in the process of one contestant and yields its samples; it yields none where the
    contestant does not take part. `judge` makes lines of the samples of all contestants. With
    `alone` the row has a process of its own, because earlier rows would change its figures.
    """

    number: int
    title: str
    measure: Callable[[Contestant, Size], Iterable[Sample]]
    judge: Callable[[Pool], Iterable[BenchLine]]
    alone: bool = False


def sampler(row: int) -> Callable[[str, str, Unit, float], Sample]:
    """Return a function that makes samples of a row: `sample(case, what, unit, value)`."""

    def sample(case: str, what: str, unit: Unit, value: float) -> Sample:
        return Sample(row=row, case=case, what=what, unit=unit, value=value)

    return sample
