"""Tracing: which pipeline the trace now running belongs to, and what holds while it runs.

The outermost program decides: a function traced into it joins its side, so no program is a mixture
of two representations. A function that JAX evaluates by itself after all, as an eager
`jax.checkpoint` does, runs on the side that it asked for.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from typing import Any, Self

import jax
import numpy as np

from engine import jax_internals
from engine.configuration.parsing import Side
from engine.configuration.settings import use_simplified_constants
from engine.ir.array_snapshots import capture, while_tracing
from engine.pipeline import Pipeline

# The pipeline of the program now being traced. No part of the key of JAX's trace caches, because
# `tracing_for` chooses the form that JAX's tracer emits, and that is in the key.
_pipeline = jax_internals.TracedSetting("constparity_pipeline", None, in_trace_key=False)

# The side that this program asked for, where it is traced in the form of the other one; else None,
# so that most traces of plain JAX and of the engine have one key.
_asked_for = jax_internals.TracedSetting("constparity_asked_for", None, in_trace_key=True)


# Which repetition of a trace this is; a number of its own keeps JAX from finding an earlier one.
_repetition = jax_internals.TracedSetting("constparity_repetition", None, in_trace_key=True)
_repetitions = itertools.count(1)


class _Outside(threading.local):
    """The settings of this thread outside of the outermost `tracing_for`; None outside of it."""

    settings: tuple[Any, Any] | None = None


_outside = _Outside()


def side_now(constants: Side | None) -> Side:
    """Return the side of a traced function: the enclosing program's, else its own, else the flag's.

    The enclosing program may belong to plain `jax.jit`. JAX will lower it whole, so the function
    takes the form that JAX is tracing in: JAX would inline the other form's Literals once per use.
    """
    enclosing: Pipeline | None = _pipeline.value
    if enclosing is not None:
        return enclosing.side
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
    asked_for: Side | None = _asked_for.value
    if asked_for is not None:
        return asked_for
    return "simplified" if use_simplified_constants.value else "legacy"


def traced_form() -> bool | None:
    """Say whether arrays are Literals in the program of the engine that this thread traces now.

    None where it traces none.
    """
    pipeline: Pipeline | None = _pipeline.value
    return None if pipeline is None else pipeline.arrays_are_literals


def capture_while_tracing(value: np.ndarray) -> np.ndarray:
    """Capture an array by value in programs of the engine; leave programs of plain JAX alone."""
    return value if _pipeline.value is None else capture(value)


@contextlib.contextmanager
def standing_alone() -> Iterator[None]:
    """Trace within this block without joining the enclosing program, as for an export."""
    with _pipeline.local(None), jax.core.eval_context():
        yield


def tracing_anew() -> contextlib.AbstractContextManager[None]:
    """Have JAX trace each function within this block, also those that it has traced before."""
    return _repetition.local(next(_repetitions))


class tracing_for:
    """Trace within this block for a pipeline: JAX's tracer emits its form; inner programs join it.

    Captured arrays live until the block ends. `asked_for` is the side of the program where it is
    executed by itself. No generator, because each first call waits for it.
    """

    __slots__ = ("_held", "_is_outermost", "_while_tracing")

    def __init__(self, pipeline: Pipeline, asked_for: Side) -> None:
        self._held = jax_internals.held(
            (_pipeline, pipeline),
            (_asked_for, None if asked_for == pipeline.side else asked_for),
            (use_simplified_constants._state, pipeline.arrays_are_literals),
            jax_internals.form_of_jaxprs(pipeline.arrays_are_literals),
        )
        self._while_tracing = while_tracing()

    def __enter__(self) -> Self:
        self._is_outermost = _outside.settings is None
        if self._is_outermost:
            flag = use_simplified_constants._state.get_local()
            _outside.settings = _pipeline.get_local(), flag
        self._held.__enter__()
        self._while_tracing.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._while_tracing.__exit__(*error)
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
    pipeline, flag = _outside.settings
    before, _outside.settings = _outside.settings, None
    try:
        with jax_internals.held(
            (_pipeline, pipeline),
            (_asked_for, None),
            (use_simplified_constants._state, flag),
            jax_internals.form_of_jaxprs(None),
        ):
            yield
    finally:
        _outside.settings = before
