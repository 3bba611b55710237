"""How far arrays are apart, as the ladder measures it: numbers of any format, piece by piece.

Floating-point numbers have parts, magnitudes and ULPs. Integers are measured exactly, also where
64 bits overflow. What is computed of two large arrays in small pieces takes little memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]


def is_floating(dtype: np.dtype[Any]) -> bool:
    """Say whether a dtype is of floating-point or complex numbers, of any number of bits."""
    # The dtypes of ml_dtypes have kind "V" or "f", and its integers (int4) have no finfo.
    if dtype.kind in "fc":
        return True
    try:
        ml_dtypes.finfo(dtype)
    except (ValueError, TypeError, KeyError):
        return False
    return True


def parts(array: Array) -> Array:
    """Return real numbers along a new last axis: one, or the two parts of complex ones."""
    if array.dtype.kind == "c":
        return np.stack([array.real, array.imag], axis=-1)
    return array[..., np.newaxis]


def bits_of(dtype: np.dtype[Any]) -> int:
    """Return the bits of one real number; a complex number has two."""
    return dtype.itemsize * (4 if dtype.kind == "c" else 8)


def magnitude(parts: Array) -> Array:
    """Return the magnitudes of real or complex numbers from their parts."""
    return np.abs(parts[..., 0]) if parts.shape[-1] == 1 else np.hypot(parts[..., 0], parts[..., 1])


def ulps(a: Array, b: Array) -> Array:
    """Count the floating-point numbers from `a` to `b`, meaningful where both are finite."""
    low, high = _ordinals(a), _ordinals(b)
    # The subtraction wraps around and is right all the same: the distance fits 64 bits unsigned.
    return np.maximum(low, high).astype(np.uint64) - np.minimum(low, high).astype(np.uint64)


def _ordinals(array: Array) -> Array:
    """Map floating-point numbers to integers in the same order, neighbours to neighbours."""
    if array.dtype.itemsize == 1:
        # Formats of 8 bits and fewer differ in their zeros, NaNs and sign bits; 256 entries do not.
        values = np.arange(256, dtype=np.uint8).view(array.dtype).astype(np.float64)
        finite = np.unique(values[np.isfinite(values)])
        return np.searchsorted(finite, array.astype(np.float64)).astype(np.int64)
    bits = array.view(f"i{array.dtype.itemsize}").astype(np.int64)
    lowest = np.int64(-(2 ** (8 * array.dtype.itemsize - 1)))
    return np.where(bits < 0, lowest - bits, bits)  # sign and magnitude: -0.0 and 0.0 are both 0


# Elements: enough to make NumPy's calls cheap, few enough to stay in a cache of the processor.
CHUNK = 2**14


def in_chunks(*arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Yield flat pieces of arrays of one shape, in C order; nothing of empty arrays.

    Example::

        all((a == b).all() for a, b in in_chunks(left, right))
    """
    flat = [each.ravel() for each in arrays]  # a view, but of arrays with gaps or another order
    for start in range(0, flat[0].size, CHUNK):
        yield tuple(each[start : start + CHUNK] for each in flat)


def have_equal_bytes(left: Array, right: Array) -> bool:
    """Say whether two arrays of one type hold the same bytes."""
    if left.size <= CHUNK:
        return left.tobytes() == right.tobytes()
    return all(a.tobytes() == b.tobytes() for a, b in in_chunks(left, right))


@dataclass
class Marked:
    """How many elements are marked, and the first of them, counted over the pieces in order."""

    count: int = 0
    first: int | None = None  # its place in C order
    _seen: int = 0

    def add(self, mask: Array) -> None:
        """Count the marks of the next piece."""
        if count := int(mask.sum()):
            self.count += count
            if self.first is None:
                self.first = self._seen + int(mask.argmax())
        self._seen += mask.size


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
        apart = ulps(chunk.left, chunk.right)
        self.max_ulp = max(self.max_ulp, int(apart.max(where=chunk.finite, initial=0)))
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
        a, b = parts(left), parts(right)
        with np.errstate(invalid="ignore"):  # signaling NaNs
            wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(wide_a) & np.isfinite(wide_b)
        differs = (wide_a != wide_b) & ~(np.isnan(wide_a) & np.isnan(wide_b))
        # A part that is not finite counts for nothing, and leaves the other part of a complex one.
        finite_a, finite_b = (np.where(finite, wide, 0.0) for wide in (wide_a, wide_b))
        with np.errstate(over="ignore"):
            apart = np.minimum(magnitude(finite_a - finite_b), np.finfo(np.float64).max)
            size = np.maximum(magnitude(finite_a), magnitude(finite_b))
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


_EXACT = 2**53  # float64 has every integer up to it, so that a quotient of two is rounded once


def integers_apart(left: Array, right: Array) -> tuple[Array, Array]:
    """Return how far integers are apart, and the larger of the two magnitudes, both as uint64."""
    a, b = _widest(left), _widest(right)
    # The subtraction wraps around and is right all the same: the distance fits 64 bits unsigned.
    apart = np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64)
    return apart, np.maximum(_magnitude(a), _magnitude(b))


def _widest(array: Array) -> Array:
    return array.astype(np.uint64 if array.dtype.kind in "bu" else np.int64)


def _magnitude(array: Array) -> Array:
    bits = array.astype(np.uint64)
    return bits if array.dtype.kind == "u" else np.where(array < 0, np.uint64(0) - bits, bits)


def largest_quotient(numerators: Array, denominators: Array) -> float:
    """Return the largest quotient of positive uint64 numbers, rounded once as Python does.

    Example::

        largest_quotient(np.uint64([1, 2]), np.uint64([3, 4])) == 0.5
    """
    quotients = numerators / denominators
    if max(int(numerators.max()), int(denominators.max())) <= _EXACT:
        return float(quotients.max())
    near = quotients >= quotients.max() * (1 - 2**-50)  # each is off by three roundings at most
    # Rounding keeps the order, so the largest of the rounded is that of the quotients.
    pairs = zip(numerators[near], denominators[near], strict=True)  # one at a time: all may be near
    return max(int(over) / int(under) for over, under in pairs)
