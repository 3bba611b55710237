"""The arbiter against the same functions traced in 64 bits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from parity_tests.drift import arbiter
from parity_tests.program import from_function, program

TABLE = np.linspace(0.1, 0.9, 7, dtype=np.float32)
X = np.linspace(-1.0, 1.0, 7, dtype=np.float32)


@jax.custom_jvp
def with_jvp(x):
    return jnp.sin(x) * TABLE


with_jvp.defjvp(lambda p, t: (with_jvp(*p), t[0] * 3.0))


@jax.custom_vjp
def with_vjp(x):
    return jnp.sin(x) * TABLE


with_vjp.defvjp(lambda x: (with_vjp(x), x), lambda x, c: (c * x * 3.0,))

FUNCTIONS = {
    "arithmetic": lambda x: jnp.exp(x) / (1 + TABLE) - x**3,
    "matrices": lambda x: jnp.outer(x, TABLE) @ TABLE,
    "scan": lambda x: lax.scan(lambda c, y: (c * 0.5 + y, c / 3), 1.0, x),
    "reverse scan": lambda x: lax.scan(lambda c, y: (c / 3 + y, c), 1.0, x, reverse=True),
    "while": lambda x: lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] / 3), (0, x)),
    "fori": lambda x: lax.fori_loop(0, 5, lambda i, c: c / 3 + jnp.asarray(TABLE)[i], x),
    "cond": lambda x: lax.cond(x.sum() > 10, lambda: x / 3, lambda: x / 7),
    "switch": lambda x: lax.switch(9, [lambda: x, lambda: x / 7]),
    "jit": lambda x: jax.jit(lambda y: y / 3 + TABLE)(x) / 7,
    "custom jvp": with_jvp,
    "custom vjp": jax.grad(lambda x: with_vjp(x).sum()),
    "gradient": jax.grad(lambda x: (jnp.tanh(x) @ TABLE) ** 2),
    "checkpoint": jax.grad(lambda x: jax.checkpoint(lambda y: jnp.sin(y / 3) @ TABLE)(x)),
    "reductions": lambda x: {"mean": x.mean(), "max": x.max(), "softmax": jax.nn.softmax(x)},
    "complex": lambda x: jnp.exp(1j * x) / 3,
    "scatter-add": lambda x: jnp.zeros(3, x.dtype).at[jnp.array([0, 1, 1])].add(x[:3] / 3),
    "scatter-mul": lambda x: x.at[jnp.array([0, 1, 1])].multiply(x[:3] / 3),
    "scatter-min": lambda x: x.at[jnp.array([0, 1, 1])].min(x[:3] / 3),
    "scatter-max": lambda x: x.at[jnp.array([0, 1, 1])].max(x[:3] / 3),
    "scatter": lambda x: x.at[jnp.array([0, 1])].set(x[:2] / 3),
}


def truth(fun, x=X):
    return arbiter.truth(from_function(program(args=(x,))(lambda x: fun(x)), "here:fun"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_the_program_in_double_precision(name):
    found = truth(FUNCTIONS[name])
    with jax.enable_x64(True):
        wanted = jax.tree_util.tree_leaves(FUNCTIONS[name](jnp.asarray(X, np.float64)))
    for value, each in zip(found, wanted, strict=True):
        if each.dtype.kind in "fc":
            assert value.array.dtype == each.dtype
        np.testing.assert_allclose(value.array, each, rtol=1e-13, atol=1e-13)


def test_the_program_stays_the_one_of_32_bits():
    [integers, bits] = truth(
        lambda x: (jnp.arange(3) + x.astype(int)[:3], jax.random.uniform(jax.random.key(1), (5,)))
    )
    assert integers.array.dtype == np.int32
    assert bits.array.dtype == np.float64
    same = jax.random.uniform(jax.random.key(1), (5,), dtype=jnp.float32)
    np.testing.assert_array_equal(bits.array, np.float64(same))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64"])
def test_subnormal_numbers_are_widened_as_they_are(dtype):
    tiny = np.array([1e-40, -3e-39, 1.0]).astype(jnp.dtype(dtype))
    wide = tiny.astype("complex128" if dtype == "complex64" else "float64")
    [argument, captured] = truth(lambda x: (x * 2.0**20, jnp.asarray(tiny) * 2.0**20), tiny)
    np.testing.assert_array_equal(argument.array, wide * 2.0**20)
    np.testing.assert_array_equal(captured.array, wide * 2.0**20)


def test_a_pure_function_is_called_with_the_dtypes_that_it_expects():
    seen = []

    def halved(x, n):
        seen.append((x.dtype, n.dtype))
        return np.asarray(x) / np.float32(2)

    shape = jax.ShapeDtypeStruct((7,), np.float32)
    [found] = truth(lambda x: jax.pure_callback(halved, shape, x / 3, jnp.int32(1)) / 3)
    assert seen == [(np.float32, np.int32)]
    wanted = (np.float64(X) / 3).astype(np.float32).astype(np.float64) / 2 / 3
    np.testing.assert_allclose(found.array, wanted, rtol=1e-14)  # rounded once, to float32


@pytest.mark.parametrize(
    ("fun", "why"),
    [
        (lambda x: lax.bitcast_convert_type(x, jnp.int32), "reads the bits"),
        (lambda x: lax.reduce(x, 1.0, lambda a, b: a * b + b, (0,)), "a body of reduce, which"),
        (
            lambda x: lax.reduce_window(x, 0.0, lambda a, b: a + b * a, (2,), (1,), "SAME"),
            "reduce_",
        ),
        (
            jax.vmap(lambda y: lax.while_loop(lambda c: c < 5, lambda c: c + 1.0, y)),
            "batched condition",
        ),
        (lambda x: (jax.debug.print("{}", x[0]), x)[1], "has effects"),
    ],
)
def test_what_cannot_be_widened_has_no_arbiter(fun, why):
    with pytest.raises(arbiter.NoArbiterError, match=why):
        truth(fun)
