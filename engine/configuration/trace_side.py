"""The side that the trace now running belongs to.

The outermost program decides: a function traced into it joins its side, so no program is a mixture
of two representations. A function that JAX evaluates by itself after all, as an eager
`jax.checkpoint` does, runs on the side that it asked for.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import jax

from engine import jax_internals
from engine.configuration.parsing import Side
from engine.configuration.settings import use_simplified_constants

# The side of the program now being traced. No part of the key of JAX's trace caches, because
# `tracing_for` sets JAX's own flag to the same side, and that flag is in the key.
_program_side = jax_internals.TracedSetting("constparity_program_side", None, in_trace_key=False)

# The side that this program asked for, where it is traced in the form of the other one; else None,
# so that most traces of plain JAX and of the engine have one key.
_asked_for = jax_internals.TracedSetting("constparity_asked_for", None, in_trace_key=True)


class _Outside(threading.local):
    """The settings of this thread outside of the outermost `tracing_for`; None outside of it."""

    settings: tuple[Any, Any] | None = None


_outside = _Outside()


def side_now(constants: Side | None) -> Side:
    """Return the side of a traced function: the enclosing program's, else its own, else the flag's.

    The enclosing program may belong to plain `jax.jit`. JAX will lower it whole, so the function
    takes the form that JAX is tracing in: JAX would inline the other form's Literals once per use.
    """
    if (enclosing := _program_side.value) is not None:
        return enclosing
    if jax_internals.staged_by_jax():
        return "simplified" if jax_internals.jax_emits_simplified_jaxprs() else "legacy"
    return side_asked_for(constants)


def side_asked_for(constants: Side | None) -> Side:
    """Return the side of a function that is executed by itself: its own, else the flag's.

    JAX may trace a function and evaluate the equations one by one (`jax.checkpoint` outside of
    `jit`, `jax.closure_convert`, `jax.custom_batching.custom_vmap`). No trace knows beforehand.
    """
    if constants is not None:
        return constants
    if (asked_for := _asked_for.value) is not None:
        return asked_for
    return "simplified" if use_simplified_constants.value else "legacy"


def traced_side() -> Side | None:
    """Return the side of the program of the engine that is being traced in this thread, or None."""
    side: Side | None = _program_side.value
    return side


@contextlib.contextmanager
def standing_alone() -> Iterator[None]:
    """Trace within this block without joining the enclosing program, as for an export."""
    with _program_side.local(None), jax.core.eval_context():
        yield


def tracing_for(side: Side, asked_for: Side) -> contextlib.AbstractContextManager[None]:
    """Trace within this block for `side`: JAX's tracer emits its form; inner programs join it.

    `asked_for` is the side of the program where it is executed by itself.
    """
    return _TracingFor(side, asked_for)


class _TracingFor:
    """The context manager of `tracing_for`; each first call would wait for a generator, slower."""

    __slots__ = ("_held", "_is_outermost")

    def __init__(self, side: Side, asked_for: Side) -> None:
        simplified = side == "simplified"
        self._held = jax_internals.held(
            (_program_side, side),
            (_asked_for, None if asked_for == side else asked_for),
            (use_simplified_constants._state, simplified),
            jax_internals.form_of_jaxprs(simplified),
        )

    def __enter__(self) -> None:
        self._is_outermost = _outside.settings is None
        if self._is_outermost:
            flag = use_simplified_constants._state.get_local()
            _outside.settings = _program_side.get_local(), flag
        self._held.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._held.__exit__(*error)
        if self._is_outermost:
            _outside.settings = None


@contextlib.contextmanager
def executing() -> Iterator[None]:
    """Leave the trace within this block, which runs a program that was derived in a trace.

    The settings of a trace are in the keys of JAX's caches, and what runs has to find there what
    ran before outside of a trace: lowered programs, and programs that slice an array for devices.
    """
    if _outside.settings is None:
        yield
        return
    program_side, flag = _outside.settings
    before, _outside.settings = _outside.settings, None
    try:
        with jax_internals.held(
            (_program_side, program_side),
            (_asked_for, None),
            (use_simplified_constants._state, flag),
            jax_internals.form_of_jaxprs(None),
        ):
            yield
    finally:
        _outside.settings = before
