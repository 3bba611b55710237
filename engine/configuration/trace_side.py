"""The side that the trace now running belongs to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import jax

from engine import jax_internals
from engine.configuration.parsing import Side
from engine.configuration.settings import use_simplified_constants

# The side that the program now being traced was given. Whoever is traced into that program joins
# it: the outermost program decides, so one program is never a mixture of two representations.
# JAX's caches of traces need not be told: within a program JAX's own flag says the same.
_program_side = jax_internals.TracedSetting("constparity_program_side", None, in_trace_key=False)


def side_now(constants: Side | None) -> Side:
    """The side of a function traced now: the enclosing program's, else its own, else the flag's.

    The enclosing program may be one of plain `jax.jit`. Its pipeline will lower the whole, so what
    becomes a part of it takes the form that JAX is tracing in: Literals in a program that JAX
    lowers without hoisting would be inlined once per use.
    """
    if (enclosing := _program_side.value) is not None:
        return enclosing
    if jax_internals.staged_by_jax():
        return "simplified" if jax_internals.jax_emits_simplified_jaxprs() else "legacy"
    if constants is not None:
        return constants
    return "simplified" if use_simplified_constants.value else "legacy"


def tracing_a_program() -> bool:
    """Whether a program of the engine is being traced in this thread."""
    return _program_side.value is not None


@contextlib.contextmanager
def standing_alone() -> Iterator[None]:
    """Trace what is no part of the program around it in this block, such as an export."""
    with _program_side.local(None), jax.core.eval_context():
        yield


@contextlib.contextmanager
def tracing_for(side: Side) -> Iterator[None]:
    """Trace within this block for `side`: JAX's tracer emits its form, inner programs join it."""
    simplified = side == "simplified"
    with (
        _program_side.local(side),
        use_simplified_constants._state.local(simplified),
        jax_internals.simplified_jaxprs(simplified),
    ):
        yield
