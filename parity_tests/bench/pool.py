"""The samples of all processes together, and the lines of the report that are made of them.

A process gives one sample of a quantity: the median of its own measurements. Measurements of one
process resemble each other more than measurements of two, and an interval over all of them would be
too narrow. The processes of a turn measure side by side, so a ratio pairs samples of one turn.
`parity_tests.judge.timing` has the statistics.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from parity_tests.judge.timing import PairedRatio
from reports.rows.bench import BenchLine, Contestant, Kind, Outcome, Sample, Samples, Target, Unit

_Key = tuple[int, str, str, Contestant]


@dataclass
class Pool:
    """Samples by row, case, quantity and contestant, in the order of the turns."""

    taken: dict[_Key, list[float]] = field(default_factory=dict)
    units: dict[tuple[int, str, str], Unit] = field(default_factory=dict)

    def add(self, contestant: Contestant, samples: Iterable[Sample]) -> None:
        """Add the samples of one process."""
        for each in samples:
            quantity = each.row, each.case, each.what
            self.units[quantity] = each.unit
            self.taken.setdefault((*quantity, contestant), []).append(each.value)

    def cases(self, row: int, what: str) -> list[str]:
        """Return the cases of a row that have a quantity, in the order of their first samples."""
        return list(dict.fromkeys(c for r, c, w, _ in self.taken if (r, w) == (row, what)))

    def of(self, row: int, case: str, what: str, contestant: Contestant) -> np.ndarray:
        """Return the samples of a quantity on a contestant. Raises `KeyError` where it has none."""
        return np.array(self.taken[row, case, what, contestant])

    def samples(self) -> tuple[Samples, ...]:
        """Return all samples as records of the report."""
        return tuple(
            Samples(
                row=row,
                case=case,
                what=what,
                contestant=contestant,
                unit=self.units[row, case, what],
                values=tuple(values),
            )
            for (row, case, what, contestant), values in self.taken.items()
        )

    def ratio(
        self,
        row: int,
        case: str,
        what: str,
        contestant: Contestant,
        against: Contestant,
        target: Target | None = None,
    ) -> BenchLine:
        """Compare two contestants turn by turn; with a target "at least" the ratio is inverted."""
        own, other = (self.of(row, case, what, each) for each in (contestant, against))
        ratio = PairedRatio(own, other) if _inverted(target) else PairedRatio(other, own)
        return _line(
            Sample(
                row=row, case=case, what=what, unit=self.units[row, case, what], value=ratio.ratio
            ),
            "ratio",
            contestant,
            (ratio.low, ratio.high),
            target,
            (own, other),
            against=against,
        )

    def growth(
        self,
        row: int,
        sizes: tuple[tuple[str, int], tuple[str, int]],
        case: str,
        what: str,
        contestant: Contestant,
        target: Target | None = None,
    ) -> BenchLine:
        """Return the exponent with which a quantity grows from one (case, size) to another."""
        (small, from_size), (large, to_size) = sizes
        before, after = (self.of(row, each, what, contestant) for each in (small, large))
        ratio, factor = PairedRatio(before, after), math.log(to_size / from_size)
        low, high = (math.log(each) / factor for each in (ratio.low, ratio.high))
        value, unit = math.log(ratio.ratio) / factor, self.units[row, small, what]
        return _line(
            Sample(row=row, case=case, what=what, unit=unit, value=value),
            "exponent",
            contestant,
            (low, high),
            target,
            (before, after),
        )

    def between(
        self,
        row: int,
        cases: tuple[str, str],
        what: str,
        contestant: Contestant,
        target: Target | None = None,
    ) -> BenchLine:
        """Compare two cases of a contestant in each process: the second divided by the first."""
        before, after = (self.of(row, case, what, contestant) for case in cases)
        ratio, unit = PairedRatio(before, after), self.units[row, cases[0], what]
        case = f"{cases[1]} / {cases[0]}"
        return _line(
            Sample(row=row, case=case, what=what, unit=unit, value=ratio.ratio),
            "ratio",
            contestant,
            (ratio.low, ratio.high),
            target,
            (after, before),
        )

    def count(
        self,
        row: int,
        case: str,
        what: str,
        contestant: Contestant,
        target: Target | None = None,
        note: str = "",
    ) -> BenchLine:
        """Return a count, or counted bytes: the largest of all processes."""
        found = self.of(row, case, what, contestant)
        low, high = float(found.min()), float(found.max())
        if low != high:
            note = f"{low:g} to {high:g} over the processes{'; ' if note else ''}{note}"
        unit = self.units[row, case, what]
        return BenchLine(
            row=row,
            case=case,
            what=what,
            contestant=contestant,
            against=None,
            kind="bytes" if unit == "bytes" else "count",
            value=high,
            target=target,
            outcome=outcome(target, low, high),
            unit=unit,
            note=note,
        )


def _line(
    figure: Sample,
    kind: Kind,
    contestant: Contestant,
    interval: tuple[float, float],
    target: Target | None,
    samples: Iterable[np.ndarray],
    *,
    against: Contestant | None = None,
) -> BenchLine:
    low, high = interval
    return BenchLine(
        **figure.model_dump(),
        contestant=contestant,
        against=against,
        kind=kind,
        low=_known(low),
        high=_known(high),
        target=target,
        outcome=outcome(target, low, high),
        medians=tuple(statistics.median(each) for each in samples),
    )


def outcome(target: Target | None, low: float, high: float) -> Outcome | None:
    """Say whether an interval meets a target; one of NaN is "inconclusive".

    Example::

        outcome(Target(bound="at most", value=1.05), 0.9, 1.02) == "met"
    """
    if target is None:
        return None
    value = target.value
    if target.bound == "exactly":
        return "met" if low == high == value else "missed"
    if target.bound == "at most":
        met, missed = high <= value, low > value
    elif target.bound == "below":
        met, missed = high < value, low >= value
    else:
        met, missed = low >= value, high < value
    return "met" if met else "missed" if missed else "inconclusive"


def _inverted(target: Target | None) -> bool:
    return target is not None and target.bound == "at least"


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


Size = Literal["quick", "default", "full"]


@dataclass(frozen=True)
class Row:
    """One row: its number, its title, and its two functions.

    `measure` runs in the process of one contestant and yields its samples; it yields none where the
    contestant does not take part. `judge` makes lines of the samples of all contestants. A row has
    a process of its own where earlier rows would change its figures, or where it needs all cores,
    or `devices` of a CPU.
    """

    number: int
    title: str
    measure: Callable[[Contestant, Size], Iterable[Sample]]
    judge: Callable[[Pool], Iterable[BenchLine]]
    process: Literal["shared", "alone", "all cores"] = "shared"
    devices: int | None = None


def sampler(row: int) -> Callable[[str, str, Unit, float], Sample]:
    """Return a function that makes samples of a row: `sample(case, what, unit, value)`."""

    def sample(case: str, what: str, unit: Unit, value: float) -> Sample:
        return Sample(row=row, case=case, what=what, unit=unit, value=value)

    return sample
