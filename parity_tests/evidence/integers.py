"""Integers of any format, as the ladder measures them: exactly, also where 64 bits overflow."""

from __future__ import annotations

import numpy as np

from parity_tests.evidence.floats import Array

_EXACT = 2**53  # float64 has every integer up to it, so that a quotient of two is rounded once


def distances(left: Array, right: Array) -> tuple[Array, Array]:
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


def largest_ratio(numerators: Array, denominators: Array) -> float:
    """Return the largest quotient of positive uint64 numbers, rounded once as Python does.

    Example::

        largest_ratio(np.uint64([1, 2]), np.uint64([3, 4])) == 0.5
    """
    if max(int(numerators.max()), int(denominators.max())) <= _EXACT:
        return float((numerators / denominators).max())
    while numerators.size > 1:  # a tournament of exact fractions
        half = (numerators.size + 1) // 2
        rest = slice(numerators.size - half, None)  # an odd one in the middle meets itself
        a, b, c, d = numerators[:half], denominators[:half], numerators[rest], denominators[rest]
        wins = _is_less(_product(c, b), _product(a, d))
        numerators, denominators = np.where(wins, a, c), np.where(wins, b, d)
    return int(numerators[0]) / int(denominators[0])


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    """Multiply uint64 numbers to 128 bits: the upper and the lower half."""
    low, shift = np.uint64(2**32 - 1), np.uint64(32)
    a_high, a_low, b_high, b_low = a >> shift, a & low, b >> shift, b & low
    middle = a_high * b_low + (a_low * b_low >> shift)
    other = a_low * b_high + (middle & low)
    return a_high * b_high + (middle >> shift) + (other >> shift), a * b


def _is_less(one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    return (one[0] < other[0]) | ((one[0] == other[0]) & (one[1] < other[1]))
