"""Axes of the drawings: where a value lies, and which values are marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

_STEPS = 5  # of a linear axis, at most
_MARKS = 5  # of a logarithmic one, where there are as few
# By base: every how many powers there is a mark, and multiples of a power; the finest comes first.
_POWERS: dict[float, tuple[tuple[int, tuple[int, ...]], ...]] = {
    2.0: tuple((step, (1,)) for step in (1, 2, 5, 10, 20)),
    10.0: ((1, (1, 2, 5)), (1, (1, 3)), *((step, (1,)) for step in (1, 2, 3, 6))),
}


@dataclass(frozen=True)
class Tick:
    """A place on an axis, and its text."""

    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    """Values from `low` to `high`, in a drawing from `start` to `end`; others lie at the edge.

    A logarithmic axis has its zeros at the very edge.
    """

    low: float
    high: float
    start: float
    end: float
    values: tuple[float, ...]  # the round ones that are marked
    is_logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value in the drawing.

        Example::

            >>> linear(8.0, 100, 200).at(4.0)
            150.0
        """
        share = min(max(self._share(value), 0.0), 1.0)
        return round(self.start + share * (self.end - self.start), 1)

    def ticks(self, text: Callable[[float], str]) -> tuple[Tick, ...]:
        """Return a tick for each of the round values."""
        return tuple(Tick(self.at(value), text(value)) for value in self.values)

    def _share(self, value: float) -> float:
        if not self.is_logarithmic:
            return (value - self.low) / (self.high - self.low)
        return math.log(value / self.low) / math.log(self.high / self.low) if value > 0 else 0.0


def linear(largest: float, start: float, end: float) -> Axis:
    """Make an axis from zero to the first round value that is not below the largest.

    Example::

        >>> linear(8.0, 100, 200).values
        (0.0, 2.0, 4.0, 6.0, 8.0)
    """
    step = 1.0
    if largest > 0:
        rough = largest / _STEPS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * (1 - 1e-9))
    count = max(1, math.ceil(largest / step - 1e-9))
    values = tuple(step * number for number in range(count + 1))
    return Axis(0.0, values[-1], start, end, values)


def logarithmic(numbers: Iterable[float], start: float, end: float, base: float = 10.0) -> Axis:
    """Make an axis of some numbers, with a little room: the lower edge is where zeros stand.

    Example::

        >>> logarithmic([0.0, 1.0, 1000.0], 0, 100).values
        (1.0, 10.0, 100.0, 1000.0)
    """
    found = [number for number in numbers if number > 0]
    low, high = (min(found), max(found)) if found else (1.0, 10.0)
    room = max((high / low) ** 0.04, 1.3) if found else 1.0
    low, high = low / room, high * room
    return Axis(low, high, start, end, tuple(_round(low, high, base)), is_logarithmic=True)


def _round(low: float, high: float, base: float) -> Sequence[float]:
    """Return round values between two others: of the decimal system, or powers of two."""
    powers = range(math.floor(math.log(low, base)), math.ceil(math.log(high, base)) + 1)
    for step, times in _POWERS[base]:
        values = [each * base**power for power in powers if power % step == 0 for each in times]
        shown = [value for value in values if low < value < high]
        if len(shown) <= _MARKS:
            break
    return shown
