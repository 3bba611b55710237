"""Deduplicate constants: captured arrays with equal values become one const arg.

Optional (`engine.deduplicate_constants`), because it reads every array. The first array of a value
stands for all equal ones in the process while it lives, so programs share its buffer.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Hashable
from typing import Any

import jax
import numpy as np

from engine import jax_internals
from engine.ir.jaxprs import constant_key

# The first array of each value, held weakly.
_first: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()


class Deduplication:
    """Finds the array that stands for each constant of one program.

    An array of more than `max_bytes` bytes is not read and stands for itself; with 0, every array.

    Example::

        deduplication, one, other = Deduplication(2**20), np.ones(3), np.ones(3)
        assert deduplication.key(one) == deduplication.key(other)
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        # Values are (array, representative): holding the array prevents reuse of its id.
        self._known: dict[Hashable, tuple[Any, Any]] = {}

    def key(self, value: Any) -> Hashable:
        """Return the key of a constant: the `constant_key` of its representative."""
        return constant_key(self.representative(value))

    def representative(self, value: Any) -> Any:
        """Return the array that stands for a captured value."""
        if not self._max_bytes:
            return value
        key = constant_key(value)
        if key not in self._known:
            self._known[key] = value, self._find(value)
        return self._known[key][1]

    def _find(self, value: Any) -> Any:
        if not self._is_compared(value):
            return value
        digest = _digest(value)
        first = _first.setdefault(digest, value)
        if isinstance(first, jax.Array) and first.is_deleted():
            _first[digest] = first = value
        return first

    def _is_compared(self, value: Any) -> bool:
        if not isinstance(value, (np.ndarray, jax.Array)) or jax_internals.is_tracer(value):
            return False
        if jax_internals.is_reference(value) or value.nbytes > self._max_bytes:
            return False
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
            return False
        if isinstance(value, np.ndarray):
            return True
        return value.is_fully_addressable and not value.is_deleted()


def _digest(value: Any) -> bytes:
    """Return a hash of the bytes and of all else that distinguishes arrays as const args."""
    placement: tuple[Any, ...] = ()
    if not isinstance(value, np.ndarray):
        # With the order of the devices, which the text of a sharding leaves out.
        shards = list(map(str, value.sharding.devices_indices_map(value.shape).items()))
        placement = (str(value.sharding), shards, value.committed, str(value.format.layout))
    described = (type(value).__name__, str(jax_internals.typeof(value)), placement)
    digest = hashlib.sha256(repr(described).encode())
    digest.update(np.ascontiguousarray(value).tobytes())
    return digest.digest()
