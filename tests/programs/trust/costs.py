"""Programs that cost more after a flip, and programs that only look like them."""

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import program

RANDOM = np.random.default_rng(0)
LARGE = jnp.asarray(RANDOM.random(400_000, np.float32))
SMALL = jnp.asarray(RANDOM.random((8, 8), np.float32))
X = RANDOM.random((8, 8), np.float32)


def _flipped():
    return jax.config.jax_use_simplified_jaxpr_constants


@program(args=(np.float32(2.0),))
def folded_call(x):
    """Milliseconds of work that XLA does while it compiles, before a flip."""
    work = LARGE
    for _ in range(8):
        work = jnp.cos(jnp.sin(work))
    return x * work.max()


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
