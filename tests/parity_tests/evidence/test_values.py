"""Arrays of every dtype are written and read back bit by bit."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from parity_tests.evidence import values

INTEGERS = ["bool", "int4", "uint4", "int8", "uint64"]
FLOATS = ["bfloat16", "float16", "float32", "float64", "complex64", "complex128"]
NARROW = ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn"]


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS + NARROW)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_any_array_comes_back_bit_by_bit(tmp_path, dtype, shape):
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    array = np.ones(shape, np.float32).astype(kind)
    values.save(tmp_path / "a.npz", (values.Value("['x']", array), values.Value("", array)))
    first, second = values.load(tmp_path / "a.npz")
    assert (first.path, second.path) == ("['x']", "")
    assert first.array.dtype == kind
    assert first.array.shape == shape
    assert first.array.tobytes() == array.tobytes()


def test_nothing_comes_back_as_nothing(tmp_path):
    values.save(tmp_path / "a.npz", ())
    assert values.load(tmp_path / "a.npz") == ()


def test_a_typed_key_is_compared_by_its_data():
    row, value = values.to_host("k", jax.random.key(3))
    assert (row.dtype, row.shape) == ("key<fry>", ())
    assert value.array.tolist() == [0, 3]


def test_a_float0_leaf_has_nothing_but_a_shape():
    gradient = jax.grad(lambda x: 1.0, allow_int=True)(np.zeros((2, 3), np.int32))
    row, value = values.to_host("g", gradient)
    assert (row.dtype, row.shape, value.array.shape) == ("float0", (2, 3), (2, 3))


def test_the_digest_tells_dtype_shape_and_content_apart():
    arrays = [jnp.zeros(4), jnp.zeros((2, 2)), jnp.zeros(4, "int32"), jnp.ones(4), -jnp.zeros(4)]
    digests = {values.to_host("x", array)[0].sha256 for array in arrays}
    assert len(digests) == len(arrays)


def test_weak_types_are_told():
    assert values.to_host("x", jax.jit(lambda: 1.0)())[0].weak_type
    assert not values.to_host("x", jnp.float32(1.0))[0].weak_type
