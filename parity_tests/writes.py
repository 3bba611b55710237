"""Write into the NumPy arrays that a program captured: its results must be those from before.

Stock JAX does not promise that, so our sides alone are held to it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from parity_tests.calls import Result
from parity_tests.checks import WRITES
from reports.rows import Check


def check(
    fun: Callable[..., Any],
    first: Result,
    call: Callable[[], Any],
    captured_values: Callable[[], str],
    *,
    callbacks: bool,
) -> tuple[Check, ...]:
    """Check that neither a call nor what the jaxpr holds follows a write; none where none can be.

    `captured_values` is asked for a digest of what the jaxpr captured. With `callbacks` no call is
    made: what Python reads when it is called back is no constant of the program. The arrays of the
    user are as they were when this returns or raises.
    """
    arrays = writeable_arrays(fun)
    if not arrays:
        return ()
    before = captured_values()
    with _overwritten(arrays):
        after = captured_values()
        later = first if callbacks else Result.read(jax.block_until_ready(call()))
    found = []
    if before != after:
        found.append("the jaxpr holds what was written into a captured array after it was traced")
    if apart := first.differs(later):
        found.append(f"a call after writing into captured arrays differs from the first {apart}")
    return (Check(name=WRITES, holds=not found, statement="; ".join(found) or "never seen"),)


def writeable_arrays(fun: Callable[..., Any]) -> list[np.ndarray[Any, Any]]:
    """Find the NumPy arrays with elements that a function refers to and that can be written to.

    In its closure, the globals that it names and its defaults, and in containers there; arrays
    that a function called by it refers to are not found.
    """
    try:
        variables = inspect.getclosurevars(inspect.unwrap(fun))
    except (TypeError, ValueError):  # no Python function: a partial, a bound method of C
        return []
    names = [*variables.nonlocals.values(), *variables.globals.values()]
    leaves = jax.tree.leaves([names, getattr(fun, "__defaults__", None)])
    arrays = {id(each): each for each in leaves if isinstance(each, np.ndarray)}
    return [
        each
        for each in arrays.values()
        if each.size and each.flags.writeable and each.dtype.kind in "biufc"
    ]


@contextmanager
def _overwritten(arrays: list[np.ndarray[Any, Any]]) -> Iterator[None]:
    """Write other numbers into arrays, and in the end what was there."""
    kept = [each.copy() for each in arrays]  # all before the first write: they may share memory
    try:
        for array in arrays:
            array[...] = (array == 0).astype(array.dtype)
        yield
    finally:
        for array, copy in zip(arrays, kept, strict=True):
            array[...] = copy
