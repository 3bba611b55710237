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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from parity_tests.evidence import floats
from parity_tests.evidence.floats import Array
from reports.rows import LeafComparison, Rung

# An arbiter can tell up to this many tolerances from the truth, relative to its largest element.
ARBITER_REACH = 1000

RUNGS: tuple[Rung, ...] = get_args(Rung)  # from the strictest to the worst


def worst_rung(leaves: Sequence[LeafComparison]) -> Rung:
    """Return the lowest rung that any of the leaves stands on."""
    return max((leaf.rung for leaf in leaves), key=RUNGS.index, default="bitwise")


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
    return 4 if floats.bits(dtype) >= 32 else 1


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
    another path than they did (another branch, another integer) and cannot tell.
    """
    k = 3 if floats.bits(left.dtype) < 32 else 2
    wide = truth.astype(np.complex128)
    if truth.shape != left.shape or not np.isfinite(wide).all():
        return Arbitration(False, "the run in double precision is not finite alike")
    slack = tolerance(left.dtype) / 10 * _scale(np.abs(wide))
    a, b = (np.abs(side.astype(np.complex128) - wide) for side in (left, right))
    with np.errstate(over="ignore", invalid="ignore"):
        measures = [
            (float(np.sqrt(np.mean(a**2))), float(np.sqrt(np.mean(b**2)))),
            (float(a.max()), float(b.max())),
        ]
    far = ARBITER_REACH * tolerance(left.dtype) * max(1.0, float(np.abs(wide).max()))
    said = "errors of {:.2g} and {:.2g} against a run in double precision".format(*measures[1])
    if not min(measures[1]) <= far:
        return Arbitration(False, f"{said}, too large for it to tell")
    if all(max(pair) <= k * min(pair) + slack for pair in measures):
        return Arbitration(True, said)
    nearer: Literal["first", "second"] = "first" if measures[0][0] < measures[0][1] else "second"
    return Arbitration(False, f"{said}: the {nearer} is nearer", nearer)


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
    if left.tobytes() == right.tobytes():
        return _leaf(path, "bitwise", _NOTHING)
    if floats.is_floating(left.dtype):
        return _compare_floats(path, left, right, truth)
    return _compare_exactly(path, left, right)


@dataclass(frozen=True)
class _Distance:
    max_abs: float = 0.0
    max_rel: float = 0.0
    max_ulp: int | None = 0
    share: float = 0.0
    first: tuple[int, ...] | None = None
    passing_rtol: float | None = 0.0


_NOTHING = _Distance()


def _compare_exactly(path: str, left: Array, right: Array) -> LeafComparison:
    differs = np.asarray(left != right, bool)
    # Python integers, for int64 and uint64 overflow in differences.
    pairs = [(int(x), int(y)) for x, y in zip(left[differs], right[differs], strict=True)]
    relative = max(abs(x - y) / max(abs(x), abs(y)) for x, y in pairs)
    share, first = _share_and_first(differs)
    distance = _Distance(
        float(max(abs(x - y) for x, y in pairs)), relative, None, share, first, relative
    )
    return _leaf(path, "mismatch", distance, _note(left, right, differs, "differ"))


def _compare_floats(path: str, left: Array, right: Array, truth: Array | None) -> LeafComparison:
    a, b = floats.parts(left), floats.parts(right)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    both_finite = np.isfinite(wide_a) & np.isfinite(wide_b)
    differs = (wide_a != wide_b) & ~(np.isnan(wide_a) & np.isnan(wide_b))
    lost = (differs & ~both_finite).any(axis=-1)  # NaN against a number, unlike infinities
    max_ulp = int(floats.ulps(a, b).max(where=both_finite, initial=0))

    # A part that is not finite counts for nothing, and leaves the other part of a complex number.
    finite_a, finite_b = (np.where(both_finite, wide, 0.0) for wide in (wide_a, wide_b))
    with np.errstate(over="ignore"):
        apart = np.minimum(floats.magnitude(finite_a - finite_b), np.finfo(np.float64).max)
        size = np.maximum(floats.magnitude(finite_a), floats.magnitude(finite_b))
    limit = tolerance(left.dtype)
    absolute = limit * _scale(size)
    beyond = lost | (apart > absolute + limit * size)
    share, first = _share_and_first(differs.any(axis=-1))
    distance = _Distance(
        max_abs=float(apart.max()),
        max_rel=_largest_ratio(apart, size),
        max_ulp=max_ulp,
        share=share,
        first=first,
        passing_rtol=None
        if lost.any()
        else _largest_ratio(np.maximum(apart - absolute, 0.0), size),
    )
    if lost.any():
        return _leaf(path, "mismatch", distance, _note(left, right, lost, "are not finite alike"))
    if max_ulp <= most_ulps(left.dtype):
        note = "equal but for the signs of zeros or the bits of NaNs" if max_ulp == 0 else ""
        return _leaf(path, "ulp", distance, note)
    if not beyond.any():
        return _leaf(path, "tolerance", distance)
    bounds = (
        f"rtol = atol = {limit:g}"
        if absolute == limit
        else f"rtol = {limit:g} and, for outputs this small, atol = {absolute:.2g}"
    )
    note = _note(left, right, beyond, f"are beyond {bounds}")
    if truth is None or not both_finite.all():
        return _leaf(path, "mismatch", distance, note)
    arbitration = arbitrated(left, right, truth)
    rung: Rung = "arbiter" if arbitration.equally_good else "mismatch"
    return _leaf(path, rung, distance, f"{note}; {arbitration.note}")


def _scale(size: Array) -> float:
    """Return the scale of absolute tolerances: 1, or the largest magnitude where that is smaller.

    An absolute tolerance is meant for cancellation, relative to the numbers that cancel. Where no
    element comes near 1, an unscaled one would pass outputs whose every element is wrong.
    """
    return min(1.0, float(size.max(initial=0.0)))


def _share_and_first(mask: Array) -> tuple[float, tuple[int, ...] | None]:
    if not mask.any():
        return 0.0, None
    return float(mask.mean()), _first(mask)


def _first(mask: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def _largest_ratio(numerator: Array, denominator: Array) -> float:
    ratio = np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator != 0)
    return float(ratio.max())


def _note(left: Array, right: Array, mask: Array, what: str) -> str:
    at = _first(mask)
    where = f" at {list(at)}" if at else ""
    return (
        f"{int(mask.sum())} of {mask.size} elements {what}; "
        f"the first{where}: {left[at]!s} and {right[at]!s}"
    )


def _leaf(path: str, rung: Rung, distance: _Distance, note: str = "") -> LeafComparison:
    return LeafComparison(
        path=path,
        rung=rung,
        max_abs=distance.max_abs,
        max_rel=distance.max_rel,
        max_ulp=distance.max_ulp,
        mismatch_share=distance.share,
        first_index=distance.first,
        passing_rtol=distance.passing_rtol,
        note=note,
    )
