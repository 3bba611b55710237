"""Which of its two forms JAX's tracer emits: this project decides, whatever JAX's flag says.

JAX's tracer asks `core.is_literalable` of each constant, the one place of a trace that reads the
flag (jax 0.10.2, 0.12.0.1). `hooks.py` puts `decide` in its place. The setting here is a part of
the keys of JAX's trace caches, and it is unset where the tracer emits the wanted form by itself, so
that programs of plain JAX share their traces with the engine's.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from jax._src import array, config, core

from engine.jax_internals.settings import TracedSetting

# True: arrays are Literals; False: arrays are constvars; None: as JAX decides.
_literals = TracedSetting("constparity_literals", None, in_trace_key=True)

_SOME_ARRAY = np.zeros(1)


def decide(stock: Callable[..., bool]) -> Callable[..., bool]:
    """Return the function that decides whether a constant becomes a Literal; `stock` is JAX's."""

    @functools.wraps(stock)
    def is_literalable(x: Any, for_ad: bool = False) -> bool:
        literals = _literals.value
        if literals is None:
            return stock(x, for_ad)
        if type(x) in core.literalable_scalar_types:
            return True
        of_any_shape = literals and not for_ad  # differentiation tells constvars from variables
        if isinstance(x, array.ArrayImpl):
            return of_any_shape
        is_of_a_type = any(t in core.literalable_types for t in type(x).__mro__)
        return is_of_a_type and (of_any_shape or np.ndim(x) == 0)

    return is_literalable


def form_of_jaxprs(simplified: bool | None) -> tuple[TracedSetting, bool | None]:
    """Return the setting that chooses the form that JAX's tracer emits, and its value, for `held`.

    None leaves the form to JAX.
    """
    return _literals, None if _of_jax() is simplified else simplified


def jax_emits_simplified_jaxprs() -> bool:
    """Say whether a trace that runs now in this thread emits the simplified form."""
    return core.is_literalable(_SOME_ARRAY)


def _of_jax() -> bool | None:
    """Return whether JAX by itself emits the simplified form; None where it emits a mixture.

    Where the flag was set when JAX was imported and is not set now, 0-d arrays alone are Literals.
    """
    flag = getattr(config, "use_simplified_jaxpr_constants", None)
    # A JAX without the flag is asked, which takes longer.
    simplified: bool = flag.value if flag is not None else _stock()(_SOME_ARRAY)
    return None if not simplified and array.ArrayImpl in core.literalable_types else simplified


def _stock() -> Callable[..., bool]:
    return getattr(core.is_literalable, "__wrapped__", core.is_literalable)
