"""Programs whose jit has options, as their users write them; no library is imported.

Stock JAX fails after the flip on each that ends in `_donates`, where its user calls it: an array
that is captured is donated.
"""

import jax
import jax.numpy as jnp

from parity_tests import program

TABLE = jnp.arange(64.0) + 1
STATE = jnp.ones(64) * 3


def fold(x, n):
    """Fold a vector; `n` has to be a Python number."""
    return x.reshape(n, -1).sum(0) * TABLE[: 64 // n]


def step(s):
    return s * 2 + STATE


@program
def tree_donates():
    return jax.jit(lambda t: step(t["a"]) + t["b"], donate_argnums=0), ({"a": STATE, "b": TABLE},)


@program
def keyword_donates():
    return jax.jit(lambda *, s: step(s), donate_argnames="s"), (), {"s": STATE}


@program
def alias_donates():
    """Donates another array, which lies in the buffer of the captured one."""
    alias = jax.device_put(STATE, jax.devices()[0])
    return jax.jit(step, donate_argnums=0), (alias,)


@program
def lambda_donates():
    """Donates a Python number as well, which nobody can copy."""
    scaled = jax.jit(lambda s, by: step(s) * by, donate_argnums=(0, 1))
    return lambda x: scaled(x, 2.0) + 1, (STATE,)


def with_state(fun, **options):
    """Jit a function as Haiku's `hk.jit` does: the jit is in a closure, and takes the state too."""
    jitted = jax.jit(lambda *args, state: (fun(*args), state), **options)
    return lambda *args: jitted(*args, state={"calls": jnp.zeros(())})[0]


@program
def wrapper_static():
    return with_state(fold, static_argnums=1), (jnp.ones(64), 4)


@program
def broken_by_its_trace():
    """Raises within another jit, and leaves its object without a state."""
    held = {"count": jnp.zeros(64)}

    def counts(x):
        count = held.pop("count")
        if isinstance(x, jax.core.Tracer):
            raise TypeError("not within another jit")
        held["count"] = count + x
        return step(count)

    return counts, (STATE,)


@program
def branches_on_tracers():
    """Leaves the jit to an outer one, as some wrappers do."""
    jitted = jax.jit(step, donate_argnums=0)
    return lambda x: step(x) if isinstance(x, jax.core.Tracer) else jitted(x), (STATE,)


@program
def options_of_an_outermost_jit():
    fast = jax.jit(step, compiler_options={"xla_cpu_enable_fast_math": True})
    return lambda x: fast(x) + 1, (STATE,)


@program
def fails_by_itself():
    return lambda x: x * STATE.no_such_name, (STATE,)
