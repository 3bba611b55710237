"""Equal arrays as one constant: what captured arrays hold decides, not which objects they are.

Optional (`engine.deduplicate_constants`), because it reads every array. Arrays of a program that
are equal become one const arg. The first array of a value stands for all others in the process, as
long as it lives, so that programs share its buffer.
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

# The first array of each value; it is not kept alive for this.
_first: weakref.WeakValueDictionary[bytes, Any] = weakref.WeakValueDictionary()


class Deduplication:
    """Says for the constants of one program which array stands for each.

    `max_bytes` is the size in bytes above which an array is not read and stands for itself.

        Deduplication(2**20).key(np.ones(3)) == Deduplication(2**20).key(np.ones(3))
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        # With the array, which keeps its key its own.
        self._known: dict[Hashable, tuple[Any, Any]] = {}

    def key(self, value: Any) -> Hashable:
        """What makes a constant the same constant: `constant_key` of what stands for it."""
        return constant_key(self.representative(value))

    def representative(self, value: Any) -> Any:
        """The array that stands for a captured value."""
        own = constant_key(value)
        if own not in self._known:
            self._known[own] = value, self._found(value)
        return self._known[own][1]

    def _found(self, value: Any) -> Any:
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
    """A hash of the bytes, and of all else in which two arrays may differ as const args."""
    placement: tuple[Any, ...] = ()
    if not isinstance(value, np.ndarray):
        # In the order of the devices, which the text of a sharding does not say.
        where = list(map(str, value.sharding.devices_indices_map(value.shape).items()))
        placement = (str(value.sharding), where, value.committed, str(value.format.layout))
    described = (type(value).__name__, str(jax_internals.typeof(value)), placement)
    digest = hashlib.sha256(repr(described).encode())
    digest.update(np.ascontiguousarray(value).tobytes())
    return digest.digest()
