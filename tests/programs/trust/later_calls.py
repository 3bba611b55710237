"""Programs that are right at first: later calls, or what calls leave in memory, are not."""

import os

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

from parity_tests import program

SIMPLIFIED = os.environ["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "1"
WEIGHTS = np.linspace(0.0, 1.0, 40, dtype=np.float32)
X = (np.float32(2.0),)
SCALAR = jax.ShapeDtypeStruct((), np.float32)


def factory(of_call):
    """Make a program whose factor is a function of the number of the call."""

    def build():
        calls = iter(range(1, 10**9))

        def factor(x):
            return np.float32(of_call(next(calls)))

        return (lambda x: io_callback(factor, SCALAR, x, ordered=True) * x * WEIGHTS), X

    return build


# -- planted differences ---------------------------------------------------------------------------


@program
def wrong_the_fifth_time():
    return factory(lambda call: 3 if SIMPLIFIED and call == 5 else 2)()


@program
def wrong_from_the_tenth_time_on():
    return factory(lambda call: 3 if SIMPLIFIED and call >= 10 else 2)()


@program
def changes_at_another_call():
    return factory(lambda call: 2 + (call >= (5 if SIMPLIFIED else 7)))()


@program
def changes_to_another_value():
    return factory(lambda call: 2 + (call >= 4) * (2 if SIMPLIFIED else 1))()


@program
def leaves_arrays():
    kept = []

    def keep(x):
        if SIMPLIFIED:
            kept.append(jnp.ones(1000) * 2)

    def run(x):
        jax.debug.callback(keep, x)
        return x * WEIGHTS

    return run, X


@program
def leaves_host_memory():
    kept = []

    def keep(x):
        if SIMPLIFIED:
            kept.append(np.ones(2**19))

    def run(x):
        jax.debug.callback(keep, x)
        return x * WEIGHTS

    return run, X


# -- look-alikes -----------------------------------------------------------------------------------


@program
def changes_alike():
    return factory(lambda call: 2 + (call >= 4))()


@program
def counts():
    return factory(lambda call: call)()


@program
def leaves_arrays_on_both():
    kept = []

    def run(x):
        jax.debug.callback(kept.append, x)
        return x * WEIGHTS

    return run, X


@program
def keeps_the_last_few():
    kept = []

    def keep(x):
        kept.append(jnp.ones(10))
        del kept[:-3]

    def run(x):
        jax.debug.callback(keep, x)
        return x * WEIGHTS

    return run, X


@program(args=(np.ones((1200, 1200), np.float32),))
def returns_much(x):
    return x @ x, x + 1, jax.random.key(3)
