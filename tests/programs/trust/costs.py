"""Programs that cost more after a flip, and programs that only look like them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import mlir

from parity_tests import program

RANDOM = np.random.default_rng(0)
LARGE = jnp.asarray(RANDOM.random(50_000, np.float32))
SMALL = jnp.asarray(RANDOM.random((8, 8), np.float32))
X = RANDOM.random((8, 8), np.float32)


def _flipped():
    return jax.config.jax_use_simplified_jaxpr_constants


def _milliseconds_of_work():
    """Return True, after work on a captured array that has the same bits where XLA folds it."""
    work = LARGE
    for _ in range(8):
        work = jnp.cos(jnp.sin(work))
    return work.max() > 0.5


@program(args=(np.float32(2.0),))
def folded_call(x):
    """All work is on a captured array: XLA does it while it compiles, before a flip."""
    return x * _milliseconds_of_work()


ROWS = jnp.asarray(RANDOM.random((128, 128), np.float32))


@program(args=(np.linspace(0.1, 1.0, 128, dtype=np.float32),))
def closure(x):
    """A model that does all its work on what it captured, and rounds otherwise if folded."""
    steps = jnp.cumsum(jnp.tanh(ROWS), axis=0)
    return (steps.T @ jnp.sin(steps)) @ x * _milliseconds_of_work()


@program(args=(np.asarray(LARGE),))
def same_work_on_the_argument(x):
    """As much work, and no captured array to fold it with."""
    for _ in range(8):
        x = jnp.cos(jnp.sin(x))
    return x.max() * SMALL


def _repeated(times):
    @program(name=f"work_{times}_times", args=(X,))
    def repeated(x):
        y = jnp.tanh(x @ SMALL)
        for _ in range(times - 1 if _flipped() else 0):
            y = jnp.maximum(y, jnp.tanh(x @ SMALL))
        return y

    return repeated


three, ten = _repeated(3), _repeated(10)


@program(args=(X,))
def other_words(x):
    """Another way to write the same, under the flag: nothing more is computed."""
    y = jnp.tanh(x @ SMALL)
    return y.T.T.reshape(64).reshape(8, 8) if _flipped() else y


@program(args=(X,))
def gradient_through_a_loop(x):
    """Legacy differentiates the loop by the captured array as well: more equations, and known."""

    def loss(x):
        return jax.lax.scan(lambda carry, _: (jnp.tanh(carry @ SMALL), None), x, None, 3)[0].sum()

    return jax.grad(loss)(x)


class ByIdentity:
    """An array as a parameter of an operation, which has to be hashable."""

    def __init__(self, array):
        self.array = array


def _lower_scaled(context, x, *, table):
    constant = mlir.ir_constant(table.array)
    return [stablehlo.multiply(x, constant)]


scaled_p = core.Primitive("scaled")
scaled_p.def_abstract_eval(lambda x, *, table: x)
mlir.register_lowering(scaled_p, _lower_scaled)
TABLE = RANDOM.random((8, 8), np.float32)


@program(args=(X,))
def inlined_by_its_lowering(x):
    """A library that takes the array as a parameter, in the new form alone."""
    return scaled_p.bind(x, table=ByIdentity(TABLE)) if _flipped() else x * TABLE


@program(args=(X,))
def inlined_by_its_lowering_in_both_forms(x):
    """A parameter is no captured array before the flip either."""
    return scaled_p.bind(x, table=ByIdentity(TABLE))


SQUARE = RANDOM.random((160, 160), np.float32)
EVERYWHERE = jnp.ones((160, 160), bool)


@program(args=(SQUARE,))
def a_branch_that_legacy_drops(x):
    """XLA knows before a flip that the mask is set everywhere, and computes one branch."""
    return jnp.where(EVERYWHERE, x, x @ x @ x @ x)


@program(args=(SQUARE, np.asarray(EVERYWHERE)))
def a_mask_that_is_an_argument(x, mask):
    """XLA computes both branches before a flip, too."""
    return jnp.where(mask, x, x @ x @ x @ x)
