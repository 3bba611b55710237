"""Captured values: when two of them are one array, its size, and a digest of its elements."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np

from parity_tests.jax_defaults import jax_defaults


@dataclass(frozen=True)
class CapturedValue:
    """One captured array, with its identity; `key` tells a typed PRNG key array."""

    identity: Hashable
    shape: tuple[int, ...]
    bytes: int
    key: bool
    value: Any = field(compare=False)  # `identity` tells it, and arrays have no truth value

    def digest(self) -> str:
        """Return the sha256 of its bytes, as they were when this was first asked."""
        return self._digest

    def has_changed(self) -> bool:
        """Say whether it holds other bytes than when `digest` read it first.

        A `jax.Array` may share the memory of a NumPy array, through DLPack or `jax.device_put`.
        """
        return not is_gone(self.value) and digest_of(self.value) != self._digest

    @cached_property
    def _digest(self) -> str:
        return digest_of(self.value)


def is_gone(value: Any) -> bool:
    """Say whether an array cannot be read: it was deleted, or lies partly on other hosts."""
    return isinstance(value, jax.Array) and (value.is_deleted() or not value.is_fully_addressable)


def captured_value(value: Any) -> CapturedValue | None:
    """Describe a captured value if it is an array; scalars are inlined in every mode.

    A mutable reference gives None too: it is state, and has no size.

    Example::

        captured_value(np.arange(3.0)).shape == (3,)
    """
    value = unwrapped(value)
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", ())
    key = is_key(dtype)
    if (shape == () and not key) or not hasattr(value, "nbytes"):
        return None
    return CapturedValue(identity(value), tuple(shape), int(value.nbytes), key, value)


def identity(value: Any) -> Hashable:
    """Return a key that two captured values share if they are one array.

    JAX hands NumPy arrays on as new views. So two NumPy objects are one array if they see the same
    memory in the same way. A `jax.Array` is one array with itself alone.
    """
    value = unwrapped(value)
    if isinstance(value, np.ndarray):
        pointer = value.__array_interface__["data"][0]
        return (pointer, value.shape, value.strides, value.dtype.str)
    return id(value)


def unwrapped(value: Any) -> Any:
    """Return the NumPy array in what JAX makes of one before 0.9; later JAX has a subclass of it.

    Any other value is returned unchanged.
    """
    inside = getattr(value, "val", None) if not isinstance(value, np.ndarray) else None
    return inside if isinstance(inside, np.ndarray) else value


@jax_defaults()
def digest_of(value: Any) -> str:
    """Return the sha256 of the bytes of an array; of a typed PRNG key, of its key data."""
    return sha256_of(np.asarray(words_of(value)))


def sha256_of(array: np.ndarray[Any, Any]) -> str:
    """Return the sha256 of an array's bytes in row-major order, without a copy of those that are.

    Example::

        sha256_of(np.zeros(3)) == sha256_of(np.zeros((3, 1)))
    """
    octets = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.sha256(octets.data).hexdigest()


def words_of(value: Any) -> Any:
    """Return the array that typed PRNG keys wrap; any other value as it is."""
    return jax.random.key_data(value) if is_key(getattr(value, "dtype", None)) else value


def is_key(dtype: Any) -> bool:
    """Say whether a dtype is a dtype of typed PRNG keys; None is not."""
    # No dtype of NumPy is one, and JAX takes long to say so.
    if dtype is None or isinstance(dtype, np.dtype):
        return False
    return jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)
