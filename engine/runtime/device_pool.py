"""Host arrays on devices: each captured NumPy array is transferred once, not once per executable.

JAX transfers the const args of an executable when that runs first. The pool remembers the device
arrays weakly, by the host memory that they came from: they live as long as an executable that uses
them, and the next one gets the same buffers. What a `jax.Array` holds is on a device already and is
shared without a pool.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Sequence
from typing import Any

import jax
import numpy as np

from engine import jax_internals
from engine.ir.jaxprs import constant_key

# For each piece of host memory: who owns it, for an address alone may come back as other memory,
# and the arrays on devices that were made of it, one for each placement.
_Placed = tuple[weakref.ref, list[weakref.ref]]
_pool: dict[Hashable, _Placed] = {}


def place(executable: Any, const_args: Sequence[Any]) -> list[Any]:
    """The const args as they lie on the devices of an executable.

    Source: `MeshExecutable.shard_const_args` (jax 0.10.2).
    """
    wanted = jax_internals.const_shardings(executable, len(const_args))
    known = [_find(const, sharding) for const, sharding in zip(const_args, wanted, strict=True)]
    given = [
        const if found is None else found for const, found in zip(const_args, known, strict=True)
    ]
    placed = list(executable.shard_const_args(given))
    for const, array in zip(const_args, placed, strict=True):
        if isinstance(const, np.ndarray):
            _remember(const, array)
    return placed


def _find(const: Any, sharding: Any) -> Any:
    if not isinstance(const, np.ndarray):
        return None
    owner, arrays = _pool.get(constant_key(const), (None, []))
    if owner is None or owner() is not _owner(const):
        return None
    alive = (reference() for reference in list(arrays))
    return next(
        (
            array
            for array in alive
            if array is not None
            and not array.is_deleted()
            and array.dtype == const.dtype  # without x64 JAX makes 32 bits of a plain array
            and array.sharding.is_equivalent_to(sharding, array.ndim)
        ),
        None,
    )


def _remember(const: np.ndarray, array: jax.Array) -> None:
    key, owner = constant_key(const), _owner(const)
    entry = _pool.get(key)
    if entry is None or entry[0]() is not owner:
        # When the memory is freed, so is its entry, unless the address has a new owner by then.
        forget = weakref.ref(owner, lambda reference: _forget(key, reference))
        entry = _pool[key] = forget, []
    arrays = [reference for reference in entry[1] if reference() is not None]
    if all(reference() is not array for reference in arrays):
        arrays.append(weakref.ref(array))
    entry[1][:] = arrays


def _forget(key: Hashable, owner: weakref.ref) -> None:
    entry = _pool.get(key)
    if entry is not None and entry[0] is owner:
        del _pool[key]


def _owner(array: np.ndarray) -> np.ndarray:
    """The array at the bottom of a chain of views."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
