"""The ladder of rungs on which two output arrays are compared.

1. bitwise
2. ulp: a few units in the last place (`most_ulps`)
3. tolerance: the dtype's, whose absolute part is scaled down where all of an output is small
4. arbiter: both are equally near to a run in double precision (`arbitrated`)
5. mismatch

Neither side is the truth: legacy lets XLA fold constants, which rounds differently. So all
measures are symmetric in the two sides, and relative ones refer to the larger magnitude. NaN equals
NaN, an infinity equals an infinity of its sign only, and -0.0 is 0 ULP from 0.0 though not bitwise
equal. Complex numbers are close by magnitude; where one part is not finite, the other part is
judged by itself. Integers and booleans are equal or not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import ml_dtypes
import numpy as np

from parity_tests.evidence import distances
from parity_tests.evidence.distances import (
    Array,
    FloatsApart,
    Marked,
    beyond_tolerance,
    have_equal_bytes,
    in_chunks,
)
from reports.rows import LeafComparison, Rung

# An arbiter can tell up to this many tolerances from the truth, relative to its largest element.
ARBITER_REACH = 1000

# The dtypes that the arbiter computes in.
AS_PRECISE = ("float64", "complex128")

# What is known to differ explains a difference that is at most this many times larger.
REACH = 20.0

Shape = tuple[int, ...]

RUNGS: tuple[Rung, ...] = get_args(Rung)  # from the strictest to the worst


def worst_rung(leaves: Sequence[LeafComparison]) -> Rung:
    """Return the lowest rung that any of the leaves stands on."""
    return max((leaf.rung for leaf in leaves), key=RUNGS.index, default="bitwise")


def worst_leaf(leaves: Sequence[LeafComparison]) -> LeafComparison:
    """Return the leaf on the lowest rung, and of several the one furthest apart."""
    return max(leaves, key=lambda leaf: (RUNGS.index(leaf.rung), leaf.max_rel))


def tolerance(dtype: np.dtype[Any]) -> float:
    """Return JAX's default tolerance of a dtype, which is relative and absolute at once.

    Example::

        tolerance(np.dtype("float32")) == 1e-6
    """
    # The table of jax/_src/public_test_util.py, 0.10.2. Its zero for integers is not copied as a
    # falsy number, by which JAX compares integers with NumPy's 1e-7.
    table = {
        "float4_e2m1fn": 1.0,
        "float8_e8m0fnu": 1.0,
        "bfloat16": 1e-2,
        "float16": 1e-3,
        "float32": 1e-6,
        "complex64": 1e-6,
        "float64": 1e-15,
        "complex128": 1e-15,
    }
    if dtype.name.startswith("float8"):
        return table.get(dtype.name, 1e-1)
    return table.get(dtype.name, 0.0)


def most_ulps(dtype: np.dtype[Any]) -> int:
    """Return how many units in the last place still count as rounding: 4, or 1 in 16 bits and less.

    A rung has to be stricter than the next one, and 4 units of bfloat16 are 1.6 percent already.
    """
    return 4 if distances.bits_of(dtype) >= 32 else 1


@dataclass(frozen=True)
class Arbitration:
    """How far two arrays are from the truth, and whether that makes them equally good."""

    equally_good: bool
    note: str
    nearer: Literal["", "first", "second"] = ""  # "" if equally good, or if it cannot tell


def arbitrated(left: Array, right: Array, truth: Array) -> Arbitration:
    """Compare the errors of two arrays against a run in double precision.

    This is the rule of torch's dynamo, in both directions because neither side is the reference: an
    error is at most k times the other error plus a tenth of the tolerance, with k = 2, or 3 in 16
    bits and less. It must hold for the root mean square and for the largest error, since one wrong
    element of many vanishes in a mean. Where both arrays are far from the truth, the arbiter took
    another path than they did (another branch, another integer) and cannot tell. Arrays of whole
    numbers were rounded to them, and one that is another is no rounding error. Of two arrays in
    double precision it is one more rounding, so neither is nearer to the truth.
    """
    k = 3 if distances.bits_of(left.dtype) < 32 else 2
    if truth.shape != left.shape or not _is_finite(truth):
        return Arbitration(False, "the run in double precision is not finite alike")
    one, other = _Errors.of(left, truth), _Errors.of(right, truth)
    measures = [(one.root_mean_square, other.root_mean_square), (one.largest, other.largest)]
    slack = tolerance(left.dtype) / 10 * _scale(one.largest_truth)
    far = ARBITER_REACH * tolerance(left.dtype) * max(1.0, one.largest_truth)
    is_as_precise = left.dtype.name in AS_PRECISE
    run = "of single operations, as precise as they are" if is_as_precise else "in double precision"
    said = "errors of {:.2g} and {:.2g} against a run ".format(*measures[1]) + run
    if not min(measures[1]) <= far:
        return Arbitration(False, f"{said}, too large for it to tell")
    if all(max(pair) <= k * min(pair) + slack for pair in measures):
        are_whole = all(map(_are_whole, (left, right, truth)))
        return Arbitration(not are_whole, said + ", in whole numbers" * are_whole)
    if is_as_precise:
        return Arbitration(False, said)
    nearer: Literal["first", "second"] = "first" if measures[0][0] < measures[0][1] else "second"
    return Arbitration(False, f"{said}: the {nearer} is nearer", nearer)


def _are_whole(array: Array) -> bool:
    """Say whether an array has whole numbers alone where its dtype could tell others."""
    if not distances.is_floating(array.dtype):
        return False  # an integer may stand for anything
    most = 2.0 ** int(ml_dtypes.finfo(array.dtype).nmant)
    return all(
        bool((np.abs(each) < most).all() and (each == np.rint(each)).all())
        for (chunk,) in in_chunks(array)
        for each in [distances.parts(chunk)]
    )


def _is_finite(truth: Array) -> bool:
    return all(np.isfinite(part.astype(np.complex128)).all() for (part,) in in_chunks(truth))


@dataclass(frozen=True)
class _Errors:
    """The errors of an array against the truth, and the largest magnitude of the truth."""

    root_mean_square: float
    largest: float
    largest_truth: float

    @classmethod
    def of(cls, side: Array, truth: Array) -> _Errors:
        squares = largest = largest_truth = 0.0
        for part, true in in_chunks(side, truth):
            wide = true.astype(np.complex128)
            with np.errstate(over="ignore", invalid="ignore"):
                errors = np.abs(part.astype(np.complex128) - wide)
                squares += float(np.sum(errors**2))
            largest = float(np.maximum(largest, errors.max()))  # a NaN stays, unlike with max
            largest_truth = max(largest_truth, float(np.abs(wide).max()))
        return cls(math.sqrt(squares / side.size), largest, largest_truth)


def compare(path: str, left: Array, right: Array, truth: Array | None = None) -> LeafComparison:
    """Compare two arrays of one shape and dtype; `truth` is the arbiter's array, if it ran.

    `max_abs`, `max_rel`, `max_ulp` and `passing_rtol` are over the parts that are finite on both
    sides. `passing_rtol` is the relative tolerance that would have passed beside the dtype's
    absolute one, None where none would. `mismatch_share` and `first_index` count elements of
    different value. Raises `ValueError` where shapes or dtypes differ.

    Example::

        compare("out", np.float32([1.0]), np.float32([1.0000001])).rung == "ulp"
    """
    if left.shape != right.shape or left.dtype != right.dtype:
        raise ValueError(
            f"{path}: {left.dtype}{list(left.shape)} and {right.dtype}{list(right.shape)} "
            "do not compare element by element"
        )
    if have_equal_bytes(left, right):
        return _bitwise(path)
    if distances.is_floating(left.dtype):
        return _compare_floats(path, left, right, truth)
    return _compare_exactly(path, left, right)


def _bitwise(path: str) -> LeafComparison:
    return LeafComparison(
        path=path,
        rung="bitwise",
        max_abs=0.0,
        max_rel=0.0,
        max_ulp=0,
        mismatch_share=0.0,
        first_index=None,
        passing_rtol=0.0,
    )


def _compare_exactly(path: str, left: Array, right: Array) -> LeafComparison:
    differing, apart, relative = Marked(), 0, 0.0
    for a, b in in_chunks(left, right):
        differs = np.asarray(a != b, bool)
        differing.add(differs)
        if differs.any():
            far, size = distances.integers_apart(a[differs], b[differs])
            apart = max(apart, int(far.max()))
            relative = max(relative, distances.largest_quotient(far, size))
    if differing.first is None:  # a number has bits that mean nothing, as those above an int4
        return _bitwise(path)
    share, first = _share_and_first(differing, left.shape)
    return LeafComparison(
        path=path,
        rung="mismatch",
        max_abs=float(apart),
        max_rel=relative,
        max_ulp=None,
        mismatch_share=share,
        first_index=first,
        passing_rtol=relative,
        note=_note(left, right, differing, "differ"),
    )


def _compare_floats(path: str, left: Array, right: Array, truth: Array | None) -> LeafComparison:
    limit = tolerance(left.dtype)
    found = FloatsApart.measured(left, right)
    absolute = limit * _scale(found.largest)
    share, first = _share_and_first(found.differing, left.shape)
    beyond, passing = Marked(), 0.0
    if not found.lost.count:
        beyond, passing = beyond_tolerance(left, right, absolute, limit)
    leaf = partial(
        LeafComparison,
        path=path,
        max_abs=found.max_abs,
        max_rel=found.max_rel,
        max_ulp=found.max_ulp,
        mismatch_share=share,
        first_index=first,
        passing_rtol=None if found.lost.count else passing,
    )
    if found.lost.count:
        what = "are NaN or an infinity on one side and something else on the other"
        note = _note(left, right, found.lost, what)
        return leaf(rung="mismatch", note=note)
    if found.max_ulp <= most_ulps(left.dtype):
        is_zero = found.max_ulp == 0
        note = "equal but for the signs of zeros or the bits of NaNs" if is_zero else ""
        return leaf(rung="ulp", note=note)
    if not beyond.count:
        return leaf(rung="tolerance")
    bounds = (
        f"rtol = atol = {limit:g}"
        if absolute == limit
        else f"rtol = {limit:g} and, for outputs this small, atol = {absolute:.2g}"
    )
    note = _note(left, right, beyond, f"are beyond {bounds}")
    if truth is None or not found.all_finite:
        return leaf(rung="mismatch", note=note)
    arbitration = arbitrated(left, right, truth)
    rung: Rung = "arbiter" if arbitration.equally_good else "mismatch"
    return leaf(rung=rung, note=f"{note}; {arbitration.note}")


def _scale(largest: float) -> float:
    """Return the scale of absolute tolerances: 1, or the largest magnitude where that is smaller.

    An absolute tolerance is meant for cancellation, relative to the numbers that cancel. Where no
    element comes near 1, an unscaled one would pass outputs whose every element is wrong.
    """
    return min(1.0, largest)


def _share_and_first(marked: Marked, shape: Shape) -> tuple[float, tuple[int, ...] | None]:
    if marked.first is None:
        return 0.0, None
    return marked.count / math.prod(shape), _index(marked.first, shape)


def _index(place: int, shape: Shape) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(place, shape))


def _note(left: Array, right: Array, marked: Marked, what: str) -> str:
    assert marked.first is not None
    at = _index(marked.first, left.shape)
    where = f" at {list(at)}" if at else ""
    return (
        f"{marked.count} of {left.size} elements {what}; "
        f"the first{where}: {left[at]!s} and {right[at]!s}"
    )
