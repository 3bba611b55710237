"""Arrays in a report: small ones come back as they were, of large ones every n-th element."""

import ml_dtypes
import numpy as np
import pytest

from parity_tests.evidence import values


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.float32(2.5),
        np.array([1, 2], ml_dtypes.bfloat16),
        np.array([1, -2], ml_dtypes.int4),
        np.zeros((0, 3), bool),
        np.array([1 + 2j], np.complex64),
    ],
)
def test_a_small_array_comes_back_as_it_was(array):
    array = np.asarray(array)
    back = values.kept_elements(values.keep_in_report(array))
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()


def test_of_a_large_array_every_nth_element_is_kept():
    array = np.arange(100_000, dtype=np.float32)
    kept = values.keep_in_report(array)
    assert kept.kept * array.itemsize <= values.MOST_BYTES
    np.testing.assert_array_equal(values.kept_elements(kept), array[:: kept.step])
