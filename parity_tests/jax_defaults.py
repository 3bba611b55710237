"""JAX's defaults around what the tester does itself: the user's settings are for the program alone.

A transfer guard, `debug_nans` or a default device is meant for the user's program. The tester reads
arrays, copies and replaces them, and evaluates equations; what a setting has to say of that is no
news of the program. Traces, lowerings, compilations and calls of the program stay outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, cast

# The settings of JAX that stop, slow or tell of work, or choose where it is done; each has a
# context manager. Those that say what a value is, such as `jax_enable_x64`, are not among them.
_DEFAULTS: dict[str, Any] = {
    "jax_transfer_guard_host_to_device": "allow",
    "jax_transfer_guard_device_to_device": "allow",
    "jax_transfer_guard_device_to_host": "allow",
    "jax_check_tracer_leaks": False,
    "jax_debug_infs": False,
    "jax_debug_key_reuse": False,
    "jax_debug_nans": False,
    "jax_default_device": None,
    "jax_default_matmul_precision": None,
    "jax_disable_jit": False,
    "jax_enable_checks": False,
    "jax_explain_cache_misses": False,
    "jax_legacy_prng_key": "allow",
    "jax_log_compiles": False,
    "jax_no_execution": False,
    "jax_no_tracing": False,
    "jax_numpy_dtype_promotion": "standard",
    "jax_numpy_rank_promotion": "allow",
}


# Of these, what only logs.
LOGS = ("jax_explain_cache_misses", "jax_log_compiles")


@contextmanager
def jax_defaults(names: Iterable[str] = _DEFAULTS) -> Iterator[None]:
    """Hold JAX's settings at their defaults in this thread, whatever the user's; also a decorator.

    `names` are those that are held.

    Example::

        with jax.transfer_guard("disallow"), jax_defaults():
            jnp.ones(3) + np.ones(3)
    """
    import jax  # here, because a command that measures nothing starts without it

    config = jax.config
    # Where nothing is set nothing is held: this is asked for every array that is read.
    # JAX before 0.8.0 does not have all of them.
    users = [
        (name, _DEFAULTS[name])
        for name in names
        if getattr(config, name, None) not in (None, _DEFAULTS[name])
    ]
    with ExitStack() as stack:
        for name, default in users:
            stack.enter_context(getattr(jax, name.removeprefix("jax_"))(default))
        yield


def with_64_bits() -> AbstractContextManager[None]:
    """Let values have 64 bits within a block, whatever the user's setting.

    Example::

        with with_64_bits():
            jnp.ones(3, np.float64).dtype == np.float64
    """
    import jax

    if hasattr(jax, "enable_x64"):
        return cast(AbstractContextManager[None], jax.enable_x64(True))
    from jax.experimental import enable_x64  # type: ignore[attr-defined]  # before 0.8

    return cast(AbstractContextManager[None], enable_x64(True))
