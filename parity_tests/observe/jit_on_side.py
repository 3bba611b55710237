"""How a side jits a function: by the engine in one of its modes, or by stock JAX.

Stock sides never import the engine: stock JAX has to run as if the engine did not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, TypeGuard

import jax
import numpy as np

from reports.rows import Side

# JAX's own, whatever a program puts in its place while it is built.
STOCK_JIT = jax.jit


def is_ours(side: Side) -> TypeGuard[Literal["legacy", "simplified"]]:
    """Say whether a side runs the engine rather than stock JAX."""
    return side in ("legacy", "simplified")


def jitted_on(fun: Callable[..., Any], side: Side, **options: Any) -> Any:
    """Return a function jitted by a side: by `engine.jit` in its mode, or by stock `jax.jit`.

    `options` are keywords of `jax.jit`.
    """
    if is_ours(side):
        import engine

        return engine.jit(fun, constants=side, **options)
    return STOCK_JIT(fun, **options)


def warm_up(side: Side) -> None:
    """Trace and lower a function on a side, so that no program pays for what is loaded lazily.

    Nothing is compiled: JAX would look for its persistent cache then, which a program may still
    set. No array is put on a device.

    Example::

        warm_up("simplified")
    """
    captured = np.ones(64, np.float32)
    jitted_on(lambda x: x * captured, side).trace(captured).lower()


def staged_alone(side: Side) -> AbstractContextManager[None]:
    """Lower and compile every program of a side anew in a block, also if an equal one was before.

    Example::

        with staged_alone("simplified"):
            jitted_on(fun, "simplified").lower(x).compile()
    """
    if is_ours(side):
        from engine.runtime import executable_cache

        return executable_cache.unshared()
    return nullcontext()


def embed_threshold_on(side: Side) -> int:
    """Return the embed threshold in bytes that is in force on a side."""
    if is_ours(side):
        import engine

        return engine.config.embedded_constants_max_bytes
    return stock_embed_threshold()


def stock_embed_threshold() -> int:
    """Return the embed threshold of stock JAX in bytes; before 0.10.1 it embeds scalars alone."""
    return getattr(jax.config, "jax_embedded_constants_max_bytes", 0)
