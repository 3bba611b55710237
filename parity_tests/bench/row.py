"""What a row of the benchmark is: sizes, a measurement in a worker, and a judgement of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from parity_tests.bench.pool import Pool
from reports.rows.bench import BenchLine, Contestant, Sample, Unit

Size = Literal["quick", "default", "full"]


@dataclass(frozen=True)
class Row:
    """One row: its number and title, and its two halves.

    `measure` runs in a process of one contestant and gives its samples, none where the contestant
    does not take part; `judge` gets the samples of all. With `alone` the row has a process of its
    own, because what ran before would change its figures.
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
