"""How a side jits a function: by the engine in one of its modes, or by stock JAX.

Stock sides never import the engine: stock JAX has to run as if the engine did not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any

import jax
import numpy as np

from parity_tests.jaxpr.bodies import inner
from parity_tests.jaxpr.donating_jits import own_jits
from parity_tests.own_jit import OwnJit, jitted_type
from reports.rows import Side, is_ours

# JAX's own, whatever a program puts in its place while it is built.
STOCK_JIT = jax.jit
jitted_type()


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
    """
    argument = np.ones(64, np.float32)
    # Some releases before 0.10.0 fail on a captured NumPy array that is no scalar, in simplified.
    captured = argument if jax.__version_info__ >= (0, 10, 0) else np.float32(1)
    jitted_on(lambda x: x * captured, side).trace(argument).lower()


def traced_as_it_takes(
    own: OwnJit, jitted: Any, jit: Callable[..., Any]
) -> tuple[OwnJit, Any, Any]:
    """Trace a program that `jit` has jitted; return it, its jitted function and its trace.

    Where a jit within the program wants Python values that a trace does not give it, the program is
    jitted and traced as the function of its arrays alone. Raises what the program raises.
    """
    try:
        return own, jitted, without_leaks(jitted.trace(*own.args, **own.kwargs))
    except Exception:
        narrower = own.of_arrays_alone()
        if narrower is None:
            raise
        # What the function of arrays raises is not told: the program has raised already.
        with suppress(Exception):
            jitted = jit(narrower.fun)
            traced = jitted.trace(*narrower.args, **narrower.kwargs)
            if own_jits(traced.jaxpr):
                return narrower, jitted, traced
        raise


def without_leaks(traced: Any) -> Any:
    """Return what was traced; raise `UnexpectedTracerError` where a tracer of another trace leaked.

    JAX makes such a tracer an argument of the jaxpr, and raises when the program is called.

    Example::

        without_leaks(jax.jit(lambda x: x + leaked).trace(x))
    """
    if len(traced.jaxpr.in_avals) > traced.in_tree.num_leaves:
        raise jax.errors.UnexpectedTracerError(
            f"{traced.fun_name} captures a tracer that another trace has left behind, so no call "
            "of it can succeed"
        )
    return traced


def expanded(traced: Any) -> Any:
    """Return the closed_jaxpr that a traced stage lowers: its hijax primitives are expanded.

    JAX does so once, by their rules in Python, which may capture arrays and leave operands unread.

    Example::

        expanded(jax.jit(lambda x: Scale()(x)).trace(x))
    """
    if not inner(traced.jaxpr).is_high:
        return traced.jaxpr
    return (traced.lojax if hasattr(traced, "lojax") else traced.fall()).jaxpr  # lojax from 0.9 on


def expanded_on_leaves(traced: Any) -> Any:
    """Return `expanded` if it takes the leaves of the arguments, and else the traced closed_jaxpr.

    An argument of a hijax type is one leaf, and may be several arrays when it is expanded.
    """
    is_high = any(aval.is_high for aval in traced.jaxpr.in_avals)
    return traced.jaxpr if is_high else expanded(traced)


def staged_alone(side: Side) -> AbstractContextManager[None]:
    """Lower and compile each program of a side anew in a block, also if an equal one was before."""
    if is_ours(side):
        from engine.runtime import executable_cache

        return executable_cache.unshared()
    return nullcontext()


def embed_threshold_on(side: Side) -> int:
    """Return the embed threshold in bytes that is in force on a side."""
    if is_ours(side):
        import engine

        return int(engine.config.embedded_constants_max_bytes)
    return stock_embed_threshold()


def stock_embed_threshold() -> int:
    """Return the embed threshold of stock JAX in bytes; before 0.10.1 it embeds scalars alone."""
    return getattr(jax.config, "jax_embedded_constants_max_bytes", 0)
