"""Aliases: which of the arrays that an execution captures and takes are one array.

After the flip of stock JAX it matters whether a donated argument is a captured array, so a
collected program has as many arrays as its test had.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations
from typing import Any

import jax
import numpy as np

from engine.ir.array_snapshots import memory_captured
from engine.ir.jaxprs import constant_key, values_in
from engine.runtime.watching import Execution
from parity_tests.evidence.distances import have_equal_bytes
from parity_tests.observe import device_buffers


def first_of_each(captured: Sequence[Any], operands: Sequence[Any]) -> list[int]:
    """Return for each value, the captured ones first, the place of the first that is one with it.

    Two arrays of JAX are one array if they have one buffer, as what `jax.device_put` returns may
    have. A NumPy array that was written to since it was captured is another one.

    Example::

        first_of_each([table], [x, table]) == [0, 1, 0]
    """
    keys = [_memory(each, is_captured=True) for each in captured]
    keys += [_memory(each, is_captured=False) for each in operands]
    values, places = [*captured, *operands], dict[Hashable, int]()
    firsts = []
    for place, (key, value) in enumerate(zip(keys, values, strict=True)):
        first = places.setdefault(key, place)
        is_one = not isinstance(value, np.ndarray) or _has_value(values[first], value)
        firsts.append(first if is_one else place)
    return firsts


def of_donating(execution: Execution) -> Hashable:
    """Return a key of what is one array in a call that donates; the same for all other calls.

    Example::

        of_donating(execution) == ()  # it donates nothing
    """
    if not any(execution.donated):
        return ()
    return tuple(first_of_each(values_in(execution.closed_jaxpr), execution.operands))


def overlapping(operands: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of NumPy operands that are views of one memory, and not one array."""
    arrays = [(n, each) for n, each in enumerate(operands) if isinstance(each, np.ndarray)]
    for (n, one), (m, other) in combinations(arrays, 2):
        if np.may_share_memory(one, other) and constant_key(one) != constant_key(other):
            yield n, m


def _memory(value: Any, *, is_captured: bool) -> Hashable:
    if isinstance(value, np.ndarray):
        return memory_captured(value) if is_captured else constant_key(value)
    if isinstance(value, jax.Array) and value.size:
        return frozenset(device_buffers.of([value])) or id(value)
    return id(value) if hasattr(value, "dtype") else object()  # a number is no array


def _has_value(one: Any, other: Any) -> bool:
    return one is other or (one.dtype == other.dtype and have_equal_bytes(one, other))
