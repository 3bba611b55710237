"""How far floating-point arrays are apart, measured piece by piece."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from parity_tests.evidence import floats
from parity_tests.evidence.chunks import Marked, in_chunks
from parity_tests.evidence.floats import Array


@dataclass
class FloatsApart:
    """How far two arrays are apart, before a tolerance is known.

    Largest values are over the parts that are finite on both sides. `largest` is the largest
    magnitude, `lost` marks NaN against a number and infinities that are not alike.
    """

    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: int = 0
    largest: float = 0.0
    all_finite: bool = True
    differing: Marked = field(default_factory=Marked)
    lost: Marked = field(default_factory=Marked)

    @classmethod
    def measured(cls, left: Array, right: Array) -> FloatsApart:
        """Measure two arrays of one shape and dtype."""
        found = cls()
        for a, b in in_chunks(left, right):
            found._add(_FloatChunk.of(a, b))
        return found

    def _add(self, chunk: _FloatChunk) -> None:
        ulps = floats.ulps(chunk.left, chunk.right)
        self.max_ulp = max(self.max_ulp, int(ulps.max(where=chunk.finite, initial=0)))
        self.max_abs = max(self.max_abs, float(chunk.apart.max()))
        self.max_rel = max(self.max_rel, _largest_ratio(chunk.apart, chunk.size))
        self.largest = max(self.largest, float(chunk.size.max()))
        self.all_finite = self.all_finite and bool(chunk.finite.all())
        self.differing.add(np.any(chunk.differs, axis=-1))
        self.lost.add(np.any(chunk.differs & ~chunk.finite, axis=-1))


@dataclass(frozen=True)
class _FloatChunk:
    """A piece of two arrays: `left`, `right`, `finite` and `differs` by part, the others whole."""

    left: Array
    right: Array
    finite: Array  # on both sides
    differs: Array
    apart: Array  # at most the largest float64
    size: Array  # the larger magnitude

    @classmethod
    def of(cls, left: Array, right: Array) -> _FloatChunk:
        a, b = floats.parts(left), floats.parts(right)
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(wide_a) & np.isfinite(wide_b)
        differs = (wide_a != wide_b) & ~(np.isnan(wide_a) & np.isnan(wide_b))
        # A part that is not finite counts for nothing, and leaves the other part of a complex one.
        finite_a, finite_b = (np.where(finite, wide, 0.0) for wide in (wide_a, wide_b))
        with np.errstate(over="ignore"):
            apart = np.minimum(floats.magnitude(finite_a - finite_b), np.finfo(np.float64).max)
            size = np.maximum(floats.magnitude(finite_a), floats.magnitude(finite_b))
        return cls(a, b, finite, differs, apart, size)


def beyond_tolerance(
    left: Array, right: Array, absolute: float, limit: float
) -> tuple[Marked, float]:
    """Return the elements beyond a tolerance, and the relative one that would have passed.

    `limit` is the relative part of the tolerance, and `absolute` the other one. All numbers are
    finite, or lost on both sides alike.
    """
    beyond, passing = Marked(), 0.0
    for a, b in in_chunks(left, right):
        chunk = _FloatChunk.of(a, b)
        beyond.add(chunk.apart > absolute + limit * chunk.size)
        excess = np.maximum(chunk.apart - absolute, 0.0)
        passing = max(passing, _largest_ratio(excess, chunk.size))
    return beyond, passing


def _largest_ratio(numerator: Array, denominator: Array) -> float:
    ratio = np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)
    return float(ratio.max())
