"""Captured values of every kind: JAX accepts them, or its error is raised."""

import functools
import re

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import engine

REFUSED = {
    "object": np.array([object()]),
    "string": np.array(["a", "b"]),
    "bytes": np.array([b"a"]),
    "datetime": np.array(["2020-01-01"], "datetime64[D]"),
    "record": np.zeros(3, [("a", "f4"), ("b", "i4")]),
    "masked": np.ma.masked_array(np.arange(4.0), [0, 1, 0, 0]),
    "of other byte order": np.ones(3, ">f4"),
    "long double": np.ones(3, np.longdouble),
    "a string": "text",
    "bytes of Python": b"text",
}
USES = {
    "in an operation": lambda value: lambda x: x + value,
    "as a result": lambda value: lambda x: (x, value),
    "converted": lambda value: lambda x: x + jnp.asarray(value),
    "in a loop": lambda value: lambda x: jax.lax.fori_loop(0, 2, lambda _, c: c + value, x),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", REFUSED)
def test_values_that_jax_refuses_raise_its_error(side, kind, use):
    def error(jit):
        with pytest.raises((TypeError, ValueError)) as raised:
            jit(fun)(1.0)
        return type(raised.value), re.sub("0x[0-9a-f]+", "", str(raised.value))

    fun = USES[use](REFUSED[kind])
    assert error(functools.partial(engine.jit, constants=side)) == error(jax.jit)


BASE = np.arange(24.0, dtype=np.float32).reshape(4, 6)
TAKEN = {
    "Fortran order": np.asfortranarray(BASE),
    "not contiguous": BASE[:, ::2],
    "reversed": BASE[::-1],
    "zero strides": np.broadcast_to(np.float32(3), (4, 6)),
    "read-only": np.frombuffer(BASE.tobytes(), np.float32).reshape(4, 6),
    "not aligned": np.frombuffer(b"x" + BASE.tobytes(), np.float32, offset=1).reshape(4, 6),
    "0-d": np.array(2.5, np.float32),
    "no elements": np.zeros((0, 6), np.float32),
    "not finite": np.array([np.nan, np.inf, -np.inf, -0.0] * 3, np.float32),
    "bool": BASE > 5,
    "complex": BASE * (1 + 2j),
    "64 bits": BASE.astype(np.float64) / 3,
    "unsigned": BASE.astype(np.uint8),
    "a scalar of NumPy": np.float32(2.5),
    "a scalar of Python": 2.5,
    "weakly typed": jnp.asarray(2.5),
    "bfloat16": BASE.astype(ml_dtypes.bfloat16),
    "float8": BASE.astype(ml_dtypes.float8_e4m3fn),
    "exponents and NaN": np.arange(216, 256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu),
    "float4": BASE.astype(ml_dtypes.float4_e2m1fn),
    "float8 within the embed threshold": BASE.ravel()[:8].astype(ml_dtypes.float8_e5m2),
    "int4": jnp.arange(-8, 8, dtype=jnp.int4),
    "uint2": jnp.arange(64, dtype=jnp.uint2),
    "float0": np.zeros((4,), jax.dtypes.float0),
    "raw key": jax.random.PRNGKey(0),
    "typed key": jax.random.key(0),
    "typed keys": jax.random.split(jax.random.key(1), 6),
    "keys of another generator": jax.random.split(jax.random.key(2, impl="rbg"), 6),
}


@pytest.mark.parametrize("kind", TAKEN)
def test_values_that_jax_accepts_come_out_unchanged(side, kind):
    """As a result, through a nested jit, and through the branches of a cond."""
    value = TAKEN[kind]

    def fun(x):
        both = jax.lax.cond(x > 0, lambda: (value, x), lambda: (value, 2 * x))
        return value, jax.jit(lambda: value)(), both[0]

    def described(result):
        if jax.dtypes.issubdtype(result.dtype, jax.dtypes.prng_key):
            result = jax.random.key_data(result)
        return result.dtype, result.shape, result.weak_type, np.asarray(result).tobytes()

    if kind == "float0":
        fun = lambda x: (value, value, value)  # noqa: E731  # an inner jit cannot return it
        described = lambda result: (result.dtype, result.shape)  # noqa: E731
    expected = jax.tree.map(described, jax.jit(fun)(1.0))
    jitted = engine.jit(fun, constants=side)
    assert jax.tree.map(described, jitted(1.0)) == expected
    assert jax.tree.map(described, jitted(1.0)) == expected
    assert jax.tree.map(described, jitted.lower(1.0).compile()(1.0)) == expected


def test_one_numpy_array_in_programs_with_and_without_x64(side):
    """Stock JAX reuses the form of the first trace and fails to lower (jax 0.10.2)."""
    value, x = np.arange(20) / 3, np.ones(20, np.float32)
    jitted = engine.jit(lambda x: (x + value, value), constants=side)
    for enabled in (True, False, True, False):
        with jax.enable_x64(enabled):
            for result in (*jitted(x), *jitted.lower(x).compile()(x)):
                assert result.dtype == (np.float64 if enabled else np.float32)
