"""A module evaluated by the reference interpreter has the bits of its jitted function."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from parity_tests.proof import evaluation
from parity_tests.proof.evaluation import Evaluator, NotEvaluatedError

X = np.float32([[0.5, -1.25], [3.0, 0.75]])
KEY = jax.random.key(0)


def as_every_type(x):
    """All types that JAX's arrays on a CPU have; none is rounded otherwise by XLA."""
    names = (
        "bool", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32", "bfloat16",
        "float16", "float32", "float8_e4m3fn", "float8_e5m2", "complex64",
    )  # fmt: skip
    return [abs(x).astype(getattr(jnp, name)) for name in names]


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (as_every_type, (X,)),
        (lambda *args: args, jax.jit(as_every_type)(X)),
        (lambda *args: args, [each[::-1, ::-1].T for each in (X > 0, X, X + 1j * X)]),
        (lambda x: (x[:, :0], x[0, 0], x.sum(), lax.sort(x)), (X,)),
        (lambda x: lax.top_k(x, 1), (X,)),
        (lambda x: (jax.random.bits(KEY, x.shape), x), (X,)),
        (lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.where(c > i, c - 1, 2 * c), x), (X,)),
    ],
)
def test_results_have_the_bits_of_the_jitted_function(fun, args):
    found = Evaluator.of(jax.jit(fun).lower(*args).compiler_ir()).results(
        list(map(np.asarray, args))
    )
    expected = jax.tree.leaves(jax.jit(fun)(*args))
    assert [(each.dtype, each.tobytes()) for each in found] == [
        (each.dtype, np.asarray(each).tobytes()) for each in expected
    ]


def test_an_array_that_a_scatter_updates_stays_as_it_is():
    """jaxlib 0.10.2 overwrites it: an array that is used twice would have two values."""

    def fun(x):
        return x.at[0, 1].set(7.0), x

    [updated, before] = Evaluator.of(jax.jit(fun).lower(X).compiler_ir()).results([X])
    assert updated.tolist() == [[0.5, 7.0], [3.0, 0.75]]
    assert before.tolist() == X.tolist()


def unstable(x):
    return lax.sort(x, is_stable=False)


@pytest.mark.parametrize(
    ("fun", "why"),
    [
        (
            lambda x: jax.pure_callback(np.sin, x, x),
            "the reference interpreter has no custom call xla_ffi_python_cpu_callback",
        ),
        (jnp.fft.fft, "the reference interpreter has no stablehlo.fft"),
        (unstable, "an unstable sort has an order of its own in each implementation"),
        (
            lambda x: x + lax.rng_uniform(0.0, 1.0, x.shape),
            "stablehlo.rng has other bits in each implementation",
        ),
        (
            lambda x: jnp.zeros((1024, 1025)) + x[0, 0],
            "an array of 1,049,600 elements is too large for the reference interpreter (at most "
            "1,048,576)",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_named_and_no_process_ends(fun, why):
    with pytest.raises(NotEvaluatedError) as raised:
        Evaluator.of(jax.jit(fun).lower(X).compiler_ir())
    assert str(raised.value) == why


def test_a_module_of_open_sizes_is_not_evaluated():
    [size] = jax.export.symbolic_shape("n")
    module = jax.jit(lambda x: x + 1).trace(jax.ShapeDtypeStruct((size,), "float32")).lower()
    with pytest.raises(NotEvaluatedError):
        Evaluator.of(module.compiler_ir())


def test_the_module_is_left_as_it_is():
    module = jax.jit(lambda x: x.at[0].set(jax.scipy.special.erf(x[1]))).lower(X).compiler_ir()
    before = str(module)
    Evaluator.of(module)
    assert str(module) == before
    assert evaluation.MOST_ELEMENTS == 2**20
