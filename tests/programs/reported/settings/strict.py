"""Programs of a module with strict settings, under which the tester's own work would fail."""

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests import program

table = jnp.arange(64.0)
on_host = np.arange(64, dtype=np.float32)
moved = jax.device_put(on_host)
x = jnp.ones(64)
with_nan = x.at[0].set(jnp.nan)

jax.config.update("jax_transfer_guard", "disallow")
jax.config.update("jax_debug_nans", True)
jax.config.update("jax_check_tracer_leaks", True)
jax.config.update("jax_enable_checks", True)
jax.config.update("jax_log_compiles", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_default_device", jax.devices()[0])
jax.config.update("jax_disable_jit", True)


@program(args=(x,))
def captures(x):
    return x * table


@program(args=(with_nan,))
@jax.jit(donate_argnums=0)
def donates_a_nan(x):
    return jnp.where(jnp.isnan(x), 0.0, x) + table


@program(args=(x,))
def captures_numpy(x):
    return x + on_host


@program(args=(x,))
def captures_what_was_moved(x):
    return x + moved
