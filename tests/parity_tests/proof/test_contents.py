"""An array's number is that of its dtype, shape and elements, wherever and however it lies."""

import gc
import itertools
import subprocess
import sys
import weakref

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from parity_tests.proof import contents
from parity_tests.proof.contents import content, content_of
from parity_tests.proof.numbers import UndecidedError

DTYPES = (
    "bool int2 int4 int8 int16 int32 uint2 uint4 uint8 uint16 uint32 float16 bfloat16 float32 "
    "complex64 float4_e2m1fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn "
    "float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu"
)
A = np.arange(12, dtype=np.float32).reshape(3, 4)


def with_bits(dtype: str, bits: int) -> np.ndarray:
    return np.array([bits], np.dtype(dtype).str.replace("f", "u")).view(dtype)


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_a_device_array_has_the_number_of_its_elements(dtype):
    elements = np.array([[0, 1, 1], [1, 0, 1]]).astype(jnp.dtype(dtype))
    assert content(jnp.asarray(elements)) == content(elements)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(A, A.astype(np.float64), id="dtype"),
        pytest.param(A, A.view(np.int32), id="dtype with equal bytes"),
        pytest.param(A, A.reshape(4, 3), id="shape"),
        pytest.param(A, A.reshape(3, 4, 1), id="rank"),
        pytest.param(A, A.T.copy(), id="transposed"),
        pytest.param(A, np.nextafter(A, 1).astype(np.float32), id="last bits"),
        pytest.param(np.float32([0.0]), np.float32([-0.0]), id="negative zero"),
        pytest.param(
            with_bits("<f4", 0x7FC00000), with_bits("<f4", 0x7FC00001), id="payload of NaN"
        ),
        pytest.param(np.zeros(0, np.float32), np.zeros(0, np.int32), id="dtype without elements"),
        pytest.param(np.zeros((0, 3)), np.zeros((3, 0)), id="shape without elements"),
        pytest.param(np.zeros((2, 3)), np.zeros((3, 2)), id="shape of a splat"),
        pytest.param(np.zeros(3), np.ones(3), id="splats"),
        pytest.param(
            np.broadcast_to(A[0], (4, 4)), np.broadcast_to(A[0][:, None], (4, 4)), id="axis"
        ),
        pytest.param(np.int8([1, -1]).astype("int4"), np.int8([1, 1]).astype("int4"), id="int4"),
    ],
)
def test_arrays_that_differ_in_one_thing_have_two_numbers(one, other):
    assert content(one) != content(other)


def test_bits_that_mean_nothing_do_not_count():
    int4, boolean = np.uint8([0x01, 0xF2]).view(ml_dtypes.int4), np.uint8([0, 1]).view(bool)
    assert content(int4) == content(np.int8([1, 2]).astype(ml_dtypes.int4))
    assert content(np.uint8([0, 3]).view(bool)) == content(boolean)


def test_where_elements_lie_does_not_count():
    big = np.arange(3_000_000, dtype=np.float32).reshape(1000, 3000)
    number = content(big)
    assert content(np.asfortranarray(big)) == number
    assert content(np.repeat(big, 2, axis=1)[:, ::2]) == number
    assert content(big.astype(big.dtype.newbyteorder())) == number
    assert content(big[::-1][::-1]) == number


def test_one_element_in_a_large_array_counts():
    splat = np.zeros(5_000_000, np.float32)
    other = splat.copy()
    other[3_210_987] = 1
    assert content(splat) == content(np.broadcast_to(np.float32(0), splat.shape))
    assert content(other) != content(splat)


def test_a_broadcast_has_the_number_of_what_it_makes():
    """Each small array, broadcast along each choice of axes: what NumPy makes is the law."""
    shapes = [(), (1,), (2,), (3, 2), (1, 2), (2, 1)]
    for shape, value in itertools.product(shapes, (0, 1)):
        array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) * value
        for bigger in [(2,), (3, 2), (2, 3, 2), (4, 2, 3, 2), (0, 2), (2, 0)]:
            for axes in itertools.combinations(range(len(bigger)), len(shape)):
                if any(n not in (1, bigger[axis]) for n, axis in zip(shape, axes, strict=True)):
                    continue
                with_axes = [1] * len(bigger)
                for n, axis in zip(shape, axes, strict=True):
                    with_axes[axis] = n
                made = np.broadcast_to(array.reshape(with_axes), bigger).copy()
                assert content_of(array).broadcast(bigger, axes) == content_of(made)


@pytest.mark.parametrize("dtype", DTYPES.split())
def test_few_elements_are_read_as_many_are(dtype):
    few = np.array([[[0], [1], [1]], [[1], [0], [1]]]).astype(jnp.dtype(dtype))
    many = np.broadcast_to(few, (500, 2, 3, 4)).copy()
    assert content_of(few).broadcast(many.shape, (1, 2, 3)) == content_of(many)


def test_a_broadcast_that_transposes_has_no_number_by_content():
    assert content_of(A).broadcast((4, 3), (1, 0)) is None


def test_a_typed_key_has_the_number_of_its_data():
    key = jax.random.key(7)
    assert content(key) == content(jax.random.key_data(key))
    assert content(key) != content(jax.random.key(8))


def test_an_array_that_cannot_change_is_read_once_and_not_kept(monkeypatch):
    array = jnp.arange(5.0)
    frozen = np.arange(5.0)
    frozen.setflags(write=False)
    numbers = content(array), content(frozen), content(frozen[1:])
    monkeypatch.setattr(contents, "_hashed", None)
    assert (content(array), content(frozen)) == numbers[:2]
    gone = weakref.ref(array)
    del array
    gc.collect()
    assert gone() is None


def test_an_array_that_can_change_is_read_each_time():
    array = np.arange(3.0)
    view = array[:]
    view.setflags(write=False)
    before = content(array), content(view)
    array[0] = 5
    assert content(array) != before[0]
    assert content(view) != before[1]


def test_no_copy_stays_on_a_device_array():
    one = jnp.arange(8.0) + 1
    mesh = jax.sharding.Mesh(jax.devices()[:1], "x")
    sharded = jax.device_put(one, jax.NamedSharding(mesh, jax.P("x")))
    for array in (one, sharded):
        content(array)
        assert array._npy_value is None


def test_what_cannot_be_read_is_undecided():
    deleted = jnp.arange(3.0)
    deleted.delete()
    with pytest.raises(UndecidedError, match="a captured array that is deleted"):
        content(deleted)
    with pytest.raises(UndecidedError, match="an array of dtype object"):
        content(np.array([None]))
    with pytest.raises(UndecidedError, match="a captured value that JAX traces"):
        jax.jit(lambda x: content(x))(1.0)


def test_a_sharded_array_has_the_number_of_its_elements():
    """In a process of its own, because the number of devices is set before JAX starts."""
    program = """
import jax, numpy as np
from parity_tests.proof.contents import content
whole = np.arange(32, dtype=np.float32).reshape(8, 4)
mesh = jax.make_mesh((2, 2), ("x", "y"))
for spec in (jax.P("x", "y"), jax.P(None, "y"), jax.P(("x", "y")), jax.P()):
    array = jax.device_put(whole, jax.NamedSharding(mesh, spec))
    assert content(array) == content(whole), spec
    assert array._npy_value is None
    assert all(shard.data._npy_value is None for shard in array.addressable_shards), spec
"""
    settings = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    subprocess.run([sys.executable, "-c", program], env=settings, check=True)
