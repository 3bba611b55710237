"""The ladder: two arrays stand on the strictest rung that fits."""

import ml_dtypes
import numpy as np
import pytest

from parity_tests.evidence import tolerance_ladder

INF, NAN = float("inf"), float("nan")


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def compare(name, left, right):
    dtype = dtype_of(name)
    return tolerance_ladder.compare(
        "x", np.asarray(left).astype(dtype), np.asarray(right).astype(dtype)
    )


def step(name, value, count):
    """The number that is `count` numbers of the dtype above a positive value."""
    dtype = dtype_of(name)
    bits = np.asarray(value).astype(dtype).reshape(1).view(f"u{dtype.itemsize}")
    return (bits + np.array(count, bits.dtype)).view(dtype)[0].astype(np.float64)


FLOATS = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("name", [*FLOATS, "int32", "bool", "complex64", "int4"])
def test_equal_bits_are_bitwise_equal(name):
    row = compare(name, [0, 1, 1], [0, 1, 1])
    assert (row.rung, row.max_abs, row.max_ulp, row.first_index) == ("bitwise", 0.0, 0, None)


@pytest.mark.parametrize("name", FLOATS)
def test_a_few_units_in_the_last_place_are_rounding(name):
    most = tolerance_ladder.most_ulps(dtype_of(name))
    row = compare(name, [1, 1], [1, step(name, 1, most)])
    assert (row.rung, row.max_ulp) == ("ulp", most)
    assert (row.mismatch_share, row.first_index) == (0.5, (1,))


@pytest.mark.parametrize(
    ("name", "beyond_ulp"), [("float32", 6), ("float16", 1), ("bfloat16", 1), ("float64", 4)]
)
def test_the_tolerance_of_the_dtype_is_the_next_rung(name, beyond_ulp):
    tolerance = tolerance_ladder.tolerance(dtype_of(name))
    # Near zero, units are small and the absolute part of the tolerance holds.
    row = compare(name, [1.0, 0.0], [1.0, tolerance / 2])
    assert row.rung == "tolerance"
    assert row.max_ulp > beyond_ulp
    assert row.passing_rtol == 0.0
    assert row.max_rel == 1.0


@pytest.mark.parametrize(("left", "right"), [([1e-20, 2e-20], [3e-20, 6e-20]), ([1e-8], [0.0])])
def test_outputs_that_are_small_as_a_whole_are_not_all_the_same(left, right):
    row = compare("float32", left, right)
    assert row.rung == "mismatch"
    assert "for outputs this small, atol = " in row.note
    assert row.passing_rtol > 0.5
    # Beside an element near 1 it is what cancellation leaves.
    assert compare("float32", [*left, 1.0], [*right, 1.0]).rung == "tolerance"


def test_the_arbiter_tells_small_outputs_apart_too():
    right, wrong = np.float32([1e-8]), np.float32([0.0])
    arbitration = tolerance_ladder.arbitrated(right, wrong, np.array([1e-8]))
    assert (arbitration.equally_good, arbitration.nearer) == (False, "first")


def test_a_whole_step_is_no_rounding_error():
    """Where a program rounds, each side may be wrong in another element, by a step each."""
    left, right = np.arange(1, 2001, dtype=np.float32), np.arange(1, 2001, dtype=np.float32)
    truth = left.astype(np.float64)
    left[6], right[9] = 8, 9
    found = tolerance_ladder.arbitrated(left, right, truth)
    assert (found.equally_good, found.nearer) == (False, "")
    assert found.note.endswith(", in whole numbers")
    # An element between two steps shows that nobody has rounded; so does a dtype of whole numbers.
    for each in (left, right, truth):
        each[0] = 0.5
    assert tolerance_ladder.arbitrated(left, right, truth).equally_good
    whole = np.int32([7, 8])
    assert tolerance_ladder.arbitrated(whole, whole, whole.astype(np.float64)).equally_good
    wide = np.float32([2**24, 2**25])
    assert tolerance_ladder.arbitrated(wide, wide + 2, wide.astype(np.float64) + 1).equally_good


@pytest.mark.parametrize("name", FLOATS)
def test_beyond_the_tolerance_is_a_mismatch(name):
    row = compare(name, [1.0, 2.0, 4.0], [1.0, 3.0, 4.0])
    tolerance = tolerance_ladder.tolerance(dtype_of(name))
    assert row.rung == "mismatch"
    assert (row.max_abs, row.first_index) == (1.0, (1,))
    assert row.max_rel == pytest.approx(1 / 3)
    assert row.mismatch_share == pytest.approx(1 / 3)
    assert row.passing_rtol == pytest.approx((1 - tolerance) / 3)
    assert "the first at [1]: 2" in row.note


def test_the_tolerances_are_those_of_jax():
    found = {
        name: tolerance_ladder.tolerance(dtype_of(name)) for name in [*FLOATS, "int64", "bool"]
    }
    assert found == {
        "float64": 1e-15,
        "float32": 1e-6,
        "float16": 1e-3,
        "bfloat16": 1e-2,
        "float8_e4m3fn": 1e-1,
        "float8_e5m2": 1e-1,
        "int64": 0.0,
        "bool": 0.0,
    }


def test_the_measures_are_symmetric():
    for left, right in ((1.0, 1.5), (-2.0, 3.0), (0.0, 1e-3)):
        there, back = compare("float32", left, right), compare("float32", right, left)
        assert there.max_rel == back.max_rel
        assert there.max_ulp == back.max_ulp
        assert there.passing_rtol == back.passing_rtol


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16", "float8_e5m2"])
def test_numbers_that_are_not_finite_must_be_alike(name):
    assert compare(name, [NAN, INF, -INF], [NAN, INF, -INF]).rung == "bitwise"
    for left, right in ((NAN, 1.0), (1.0, NAN), (INF, -INF), (INF, 1.0), (INF, NAN)):
        row = compare(name, [1.0, left], [1.0, right])
        assert (row.rung, row.passing_rtol, row.first_index) == ("mismatch", None, (1,))
        assert "1 of 2 elements are NaN or an infinity on one side and something else" in row.note


def test_infinity_is_not_one_unit_above_the_largest_number():
    assert compare("float32", np.finfo(np.float32).max, INF).rung == "mismatch"


def test_nans_are_equal_whatever_their_bits():
    left = np.array([0x7FC00000, 0x3F800000], np.uint32).view(np.float32)
    right = np.array([0x7FC00001, 0x3F800000], np.uint32).view(np.float32)
    row = tolerance_ladder.compare("x", left, right)
    assert (row.rung, row.max_ulp, row.mismatch_share) == ("ulp", 0, 0.0)
    assert "bits of NaNs" in row.note


def test_signaling_nans_bring_no_warning():
    signaling = np.array([0x7F800001, 0x3F800000], np.uint32).view(np.float32)
    other = np.array([0x7F800001, 0x3F800001], np.uint32).view(np.float32)
    assert tolerance_ladder.compare("x", signaling, other).rung == "ulp"
    truth = np.array([np.nan, 1.0])
    assert not tolerance_ladder.arbitrated(signaling, other, truth).equally_good
    assert not tolerance_ladder.arbitrated(signaling, other, np.ones(2)).equally_good


@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn"])
def test_the_two_zeros_are_no_unit_apart(name):
    row = compare(name, [0.0], [-0.0])
    assert (row.rung, row.max_ulp) == ("ulp", 0)
    assert "signs of zeros" in row.note


def test_units_are_counted_across_zero():
    tiny = np.float32(1e-45)  # the smallest subnormal
    assert tolerance_ladder.compare("x", np.array([tiny]), np.array([-tiny])).max_ulp == 2
    row = compare("float64", -np.finfo(np.float64).max, np.finfo(np.float64).max)
    assert row.max_ulp > 2**63  # does not wrap around
    assert row.max_abs == np.finfo(np.float64).max  # the difference overflows


@pytest.mark.parametrize("name", ["int32", "int64", "uint64", "int8"])
def test_integers_are_exact(name):
    most = int(np.iinfo(name).max)
    row = compare(name, np.array([most, 1], name), np.array([most - 1, 1], name))
    assert (row.rung, row.max_abs, row.max_ulp) == ("mismatch", 1.0, None)
    assert row.max_rel == pytest.approx(1 / most)


def test_integers_that_jax_would_pass_do_not():
    # numpy's default rtol of 1e-7, which jax.test_util falls back to for integers.
    assert compare("int32", [1_000_000_000], [1_000_000_050]).rung == "mismatch"


def test_extreme_integers_do_not_overflow():
    low, high = np.array([np.iinfo(np.int64).min]), np.array([np.iinfo(np.int64).max])
    assert tolerance_ladder.compare("x", low, high).max_abs == pytest.approx(2.0**64)


def test_booleans_are_exact():
    assert compare("bool", [True, False], [True, True]).rung == "mismatch"


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_numbers_are_close_by_magnitude(name):
    tolerance = tolerance_ladder.tolerance(dtype_of(name))
    # The imaginary part is off by far more than its own size, and by little of the whole.
    row = compare(name, [1e3 + 0j], [1e3 + 500 * tolerance * 1j])
    assert row.rung == "tolerance"
    assert compare(name, [1 + 1j], [1 + 2j]).rung == "mismatch"
    assert compare(name, [1 + 1j], [complex(1, NAN)]).rung == "mismatch"
    assert compare(name, [complex(NAN, 1)], [complex(NAN, 1)]).rung == "bitwise"


@pytest.mark.parametrize("name", ["complex64", "complex128"])
@pytest.mark.parametrize("lost", [NAN, INF, -INF])
def test_beside_a_part_that_is_not_finite_the_other_is_judged_by_itself(name, lost):
    """As of a logarithm of zero, lax.complex(log(r), phase), where only one side is right."""
    for wrong in (complex(lost, 2), complex(2, lost)):
        right = complex(lost, 1) if wrong.imag == 2 else complex(1, lost)
        row = compare(name, [1 + 1j, right], [1 + 1j, wrong])
        assert (row.rung, row.max_abs, row.max_rel) == ("mismatch", 1.0, 0.5)
        assert row.passing_rtol == pytest.approx(0.5, rel=1e-5)
        assert "1 of 2 elements are beyond rtol" in row.note
        assert compare(name, [right], [right]).rung == "bitwise"
    tolerance = tolerance_ladder.tolerance(dtype_of(name))
    row = compare(name, [complex(lost, 1e3)], [complex(lost, 1e3 * (1 + tolerance * 0.9))])
    assert row.rung == "tolerance"
    assert row.max_rel == pytest.approx(tolerance, rel=0.2)


def test_complex_units_are_counted_by_part():
    off = np.nextafter(np.float32(1), np.float32(2))
    row = compare("complex64", [1 + 1j], [complex(1, off)])
    assert (row.rung, row.max_ulp) == ("ulp", 1)


@pytest.mark.parametrize("shape", [(), (1,), (2, 3, 4)])
def test_any_rank_is_compared(shape):
    row = tolerance_ladder.compare("x", np.zeros(shape, np.float32), np.ones(shape, np.float32))
    assert row.first_index == (0,) * len(shape)
    assert row.mismatch_share == 1.0


def test_empty_arrays_are_equal():
    assert compare("float32", np.zeros((0, 3)), np.zeros((0, 3))).rung == "bitwise"


@pytest.mark.parametrize(
    ("left", "right"),
    [(np.zeros(3), np.zeros(4)), (np.zeros(3), np.zeros(3, np.float32))],
)
def test_unlike_arrays_are_refused(left, right):
    with pytest.raises(ValueError, match="do not compare element by element"):
        tolerance_ladder.compare("x", left, right)


def test_a_row_survives_json():
    row = compare("float64", [NAN, 1e308], [INF, -1e308])
    assert type(row).model_validate_json(row.model_dump_json()) == row


TRUTH = np.linspace(1.0, 2.0, 10_000)


def off_by(error, at=slice(None)):
    array = TRUTH.copy()
    array[at] += error
    return array.astype(np.float32)


@pytest.mark.parametrize(
    ("left", "right", "rung", "said"),
    [
        (off_by(1e-5), off_by(-1e-5), "arbiter", "errors of 1e-05 and 1e-05"),
        (off_by(1e-5), off_by(-1.8e-5), "arbiter", "errors of"),
        (off_by(1e-5), off_by(-3e-5), "mismatch", "the first is nearer"),
        (off_by(3e-5), off_by(1e-5), "mismatch", "the second is nearer"),
        # The mean over all would hide it.
        (off_by(0.0), off_by(5e-6, 77), "mismatch", "the first is nearer"),
        # The largest would hide these, for one element of the other is as wrong.
        (off_by(1e-5, 77), off_by(1e-5), "mismatch", "the first is nearer"),
        (off_by(0.1), off_by(0.11), "mismatch", "too large for it to tell"),
    ],
)
def test_the_arbiter_takes_outputs_that_are_equally_near(left, right, rung, said):
    leaf = tolerance_ladder.compare("", left, right, TRUTH)
    assert leaf.rung == rung, leaf.note
    assert said in leaf.note


def test_no_output_in_double_precision_is_nearer_to_a_run_that_is_no_more_precise():
    found = tolerance_ladder.arbitrated(TRUTH + 1e-14, TRUTH, TRUTH)
    assert (found.equally_good, found.nearer) == (False, "")
    assert found.note == (
        "errors of 1e-14 and 0 against a run of single operations, as precise as they are"
    )


@pytest.mark.parametrize("truth", [TRUTH[:5], np.full(10_000, np.nan)])
def test_an_arbiter_that_does_not_fit_decides_nothing(truth):
    assert tolerance_ladder.compare("", off_by(1e-5), off_by(-1e-5), truth).rung == "mismatch"


def test_an_arbiter_does_not_excuse_what_is_not_finite():
    left, right = off_by(1e-5), off_by(-1e-5)
    left[3] = right[3] = np.inf
    assert tolerance_ladder.compare("", left, right, TRUTH).rung == "mismatch"
