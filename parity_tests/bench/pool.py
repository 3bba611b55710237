"""The samples of all processes on a row, and the lines of the report that are made of them.

A process gives one sample of a quantity: the median of its own measurements. Measurements of one
process resemble each other more than measurements of two, and an interval over all of them would be
too narrow. The processes of a turn measure side by side, so a ratio pairs samples of one turn.
`parity_tests.judge.timing` has the statistics.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from parity_tests.judge.timing import PairedRatio
from reports.rows.bench import BenchLine, Contestant, Kind, Outcome, Sample, Samples, Target, Unit


@dataclass
class Pool:
    """The samples of a row by case, quantity and contestant, in the order of the turns."""

    row: int
    taken: dict[tuple[str, str, Contestant], list[float]] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)  # of each quantity

    def add(self, contestant: Contestant, samples: Iterable[Sample]) -> None:
        """Add the samples of one process; those of other rows are left out."""
        for each in samples:
            if each.row == self.row:
                self.units[each.what] = each.unit
                self.taken.setdefault((each.case, each.what, contestant), []).append(each.value)

    def cases(self, what: str) -> list[str]:
        """Return the cases that have a quantity, in the order of their first samples."""
        return list(dict.fromkeys(case for case, of, _ in self.taken if of == what))

    def of(self, case: str, what: str, contestant: Contestant) -> np.ndarray:
        """Return the samples of a quantity on a contestant. Raises `KeyError` where it has none."""
        return np.array(self.taken[case, what, contestant])

    def samples(self) -> Iterator[Samples]:
        """Yield all samples as records of the report."""
        for (case, what, contestant), values in self.taken.items():
            yield Samples(
                row=self.row,
                case=case,
                what=what,
                contestant=contestant,
                unit=self.units[what],
                values=tuple(values),
            )

    def ratio(
        self,
        case: str,
        what: str,
        contestant: Contestant,
        against: Contestant,
        target: Target | None = None,
    ) -> BenchLine:
        """Compare two contestants turn by turn; with a target "at least" the ratio is inverted."""
        own, other = (self.of(case, what, each) for each in (contestant, against))
        is_inverted = target is not None and target.bound == "at least"
        found = PairedRatio(own, other) if is_inverted else PairedRatio(other, own)
        figure = found.ratio, found.low, found.high
        return self._line("ratio", case, what, contestant, figure, (own, other), target, against)

    def growth(
        self,
        sizes: tuple[tuple[str, int], tuple[str, int]],
        case: str,
        what: str,
        contestant: Contestant,
        target: Target | None = None,
    ) -> BenchLine:
        """Return the exponent with which a quantity grows from one (case, size) to another."""
        (small, from_size), (large, to_size) = sizes
        samples = self.of(small, what, contestant), self.of(large, what, contestant)
        found, factor = PairedRatio(*samples), math.log(to_size / from_size)
        figure = [math.log(each) / factor for each in (found.ratio, found.low, found.high)]
        return self._line("exponent", case, what, contestant, figure, samples, target)

    def between(
        self,
        cases: tuple[str, str],
        what: str,
        contestant: Contestant,
        target: Target | None = None,
    ) -> BenchLine:
        """Compare two cases of a contestant in each process: the second divided by the first."""
        before, after = (self.of(case, what, contestant) for case in cases)
        found, case = PairedRatio(before, after), f"{cases[1]} / {cases[0]}"
        figure = found.ratio, found.low, found.high
        return self._line("ratio", case, what, contestant, figure, (after, before), target)

    def count(
        self,
        case: str,
        what: str,
        contestant: Contestant,
        target: Target | None = None,
        note: str = "",
    ) -> BenchLine:
        """Return a count, or counted bytes: the largest of all processes."""
        found = self.of(case, what, contestant)
        low, high = float(found.min()), float(found.max())
        if low != high:
            note = f"{low:g} to {high:g} over the processes{'; ' if note else ''}{note}"
        unit = self.units[what]
        return BenchLine(
            row=self.row,
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
        self,
        kind: Kind,
        case: str,
        what: str,
        contestant: Contestant,
        figure: Sequence[float],
        samples: Sequence[np.ndarray],
        target: Target | None,
        against: Contestant | None = None,
    ) -> BenchLine:
        """Make a line; `figure` is a value and its interval, and `samples` what it is made of."""
        value, low, high = figure
        return BenchLine(
            row=self.row,
            case=case,
            what=what,
            contestant=contestant,
            against=against,
            kind=kind,
            value=value,
            low=_known(low),
            high=_known(high),
            target=target,
            outcome=outcome(target, low, high),
            medians=tuple(map(statistics.median, samples)),
            unit=self.units[what],
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


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


Size = Literal["quick", "default", "full"]
Measured = tuple[str, str, Unit, float]  # a case, a quantity, its unit and its value


@dataclass(frozen=True)
class Row:
    """One row: its number, its title, and its two functions.

    `measure` runs in the process of one contestant and yields what it measured; nothing where the
    contestant does not take part. `judge` makes lines of the samples of all contestants. A row has
    a process of its own where earlier rows would change its figures, or where it needs all cores,
    or `devices` of a CPU.
    """

    number: int
    title: str
    measure: Callable[[Contestant, Size], Iterable[Measured]]
    judge: Callable[[Pool], Iterable[BenchLine]]
    process: Literal["shared", "alone", "all cores"] = "shared"
    devices: int | None = None
