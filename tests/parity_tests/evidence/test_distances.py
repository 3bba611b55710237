"""Arrays are measured piece by piece: as their formulas say at once, and in little memory."""

import math
import tracemalloc

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from parity_tests.evidence import distances, tolerance_ladder, values

FLOATS = (
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu",
    "complex64", "complex128",
)  # fmt: skip
INTEGERS = ("int64", "uint64", "int32", "uint32", "int8", "bool", "int4")


def measured_at_once(left, right):
    """The measures of the ladder, without pieces and with Python's integers."""
    return (_floats if distances.is_floating(left.dtype) else _integers)(left, right)


def _integers(left, right):
    differs = np.asarray(left != right, bool)
    pairs = [(int(x), int(y)) for x, y in zip(left[differs], right[differs], strict=True)]
    if not pairs:
        return 0.0, 0.0, 0, *_share_and_first(differs), 0.0
    relative = max(abs(x - y) / max(abs(x), abs(y)) for x, y in pairs)
    apart = float(max(abs(x - y) for x, y in pairs))
    return apart, relative, None, *_share_and_first(differs), relative


def _floats(left, right):
    a, b = distances.parts(left), distances.parts(right)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    both_finite = np.isfinite(wide_a) & np.isfinite(wide_b)
    differs = (wide_a != wide_b) & ~(np.isnan(wide_a) & np.isnan(wide_b))
    lost = (differs & ~both_finite).any(axis=-1)
    ulps = int(distances.ulps(a, b).max(where=both_finite, initial=0))
    finite_a, finite_b = (np.where(both_finite, wide, 0.0) for wide in (wide_a, wide_b))
    with np.errstate(over="ignore"):
        apart = np.minimum(distances.magnitude(finite_a - finite_b), np.finfo(np.float64).max)
        size = np.maximum(distances.magnitude(finite_a), distances.magnitude(finite_b))
    absolute = tolerance_ladder.tolerance(left.dtype) * min(1.0, float(size.max(initial=0.0)))
    passing = None if lost.any() else _ratio(np.maximum(apart - absolute, 0.0), size)
    return (
        float(apart.max()), _ratio(apart, size), ulps, *_share_and_first(differs.any(axis=-1)),
        passing,
    )  # fmt: skip


def _ratio(over, under):
    return float(np.divide(over, under, out=np.zeros_like(over), where=under != 0).max())


def _share_and_first(mask):
    if not mask.any():
        return 0.0, None
    first = np.unravel_index(int(np.argmax(mask)), mask.shape)
    return float(mask.mean()), tuple(int(i) for i in first)


@st.composite
def two_arrays(draw):
    """Two arrays of random bits, where about half of the elements are alike or close."""
    dtype = values.dtype_named(draw(st.sampled_from(FLOATS + INTEGERS)))
    shape = draw(st.sampled_from([(), (1,), (7,), (2, 3), (3, 2, 2)]))
    count = math.prod(shape)

    def bits():
        raw = draw(st.binary(min_size=count * dtype.itemsize, max_size=count * dtype.itemsize))
        if dtype.name in ("bool", "int4"):
            limits = 2 if dtype == np.dtype(bool) else 8
            return (np.frombuffer(raw, np.uint8) % limits).astype(dtype).reshape(shape)
        return np.frombuffer(raw, dtype).reshape(shape)

    left, right = bits(), bits()
    same = np.array(draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool)
    right = np.where(same.reshape(shape), left, right).astype(dtype)
    return (left.T, right.T) if draw(st.booleans()) else (left, right)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a NaN of any bits is cast
@settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(arrays=two_arrays(), size=st.sampled_from([1, 2, 5, 100]))
def test_pieces_give_what_the_whole_gives(arrays, size, monkeypatch):
    monkeypatch.setattr(distances, "CHUNK", size)
    left, right = arrays
    row = tolerance_ladder.compare("x", left, right)
    found = (
        row.max_abs, row.max_rel, row.max_ulp, row.mismatch_share, row.first_index,
        row.passing_rtol,
    )  # fmt: skip
    if left.tobytes() == right.tobytes():
        assert (row.rung, *found) == ("bitwise", 0.0, 0.0, 0, 0.0, None, 0.0)
    else:
        assert found == measured_at_once(left, right)


# Divided as float64, of these the first is the larger one.
CLOSE = [
    (2084910401012760645, 3506577755382048415),
    (2084910401012760727, 3506577755382048552),
]


@settings(deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.integers(1, 2**64 - 1), st.integers(1, 2**64 - 1)), min_size=1, max_size=9
    )
)
@example(CLOSE)
def test_the_largest_quotient_of_large_integers_is_rounded_once(pairs):
    over, under = (np.array(each, np.uint64) for each in zip(*pairs, strict=True))
    assert distances.largest_quotient(over, under) == max(a / b for a, b in pairs)


@pytest.mark.parametrize("name", ["int32", "int64", "uint64", "float32", "bfloat16", "complex64"])
def test_two_million_numbers_that_differ_take_a_fraction_of_their_bytes(name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    left = (np.arange(2_000_000) % 100).astype(dtype)
    right = left + np.ones((), dtype)
    truth = left.astype(np.complex128)
    tracemalloc.start()
    try:
        row = tolerance_ladder.compare("x", left, right, truth)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (row.rung, row.mismatch_share) == ("mismatch", 1.0)
    assert peak < left.nbytes
