"""Pool of device arrays: each captured NumPy array is transferred once, not once per executable.

JAX transfers the const args of an executable at its first run. The pool maps host memory to the
device arrays made from it, with weak references: they live as long as an executable uses them, and
further executables get the same buffers. Captured `jax.Array`s need no pool, as they are on a
device already.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Hashable, Sequence
from typing import Any

import jax
import numpy as np

from engine import jax_internals
from engine.ir.array_snapshots import copies_are_made
from engine.ir.jaxprs import constant_key

# For each piece of host memory: its owner, because the address may be reused after the owner is
# gone, and the device arrays made from it, one for each placement.
_Entry = tuple[weakref.ref[Any], list[weakref.ref[Any]]]
_pool: dict[Hashable, _Entry] = {}


def place(executable: Any, const_args: Sequence[Any]) -> list[Any]:
    """Put const args on the devices of an executable, or find them there; in the same order.

    Example::

        arrays = place(executable, lowered.const_args)

    Source: `MeshExecutable.shard_const_args` (jax 0.10.2).
    """
    wanted = jax_internals.const_shardings(executable, len(const_args))
    known = [_find(const, sharding) for const, sharding in zip(const_args, wanted, strict=True)]
    given = [
        const if found is None else found for const, found in zip(const_args, known, strict=True)
    ]
    # The user's guard is for what the user transfers; JAX takes this for a transfer of theirs.
    with jax.transfer_guard("allow") if copies_are_made() else contextlib.nullcontext():
        # Not committed: of a committed array JAX compares the layout, and finds that of int4, which
        # is packed on the device, other than the executable's (jax 0.10.2).
        placed = list(map(jax_internals.uncommitted, executable.shard_const_args(given)))
    for const, array in zip(const_args, placed, strict=True):
        if isinstance(const, np.ndarray):
            _remember(const, array)
    return placed


def _find(const: Any, sharding: Any) -> Any:
    # Memory that may change is transferred anew for each executable, as JAX does.
    if not isinstance(const, np.ndarray) or not copies_are_made():
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
            and array.dtype == const.dtype  # without x64, JAX turned 64 bits into 32
            and array.sharding.is_equivalent_to(sharding, array.ndim)
        ),
        None,
    )


def _remember(const: np.ndarray, array: jax.Array) -> None:
    key, owner = constant_key(const), _owner(const)
    entry = _pool.get(key)
    if entry is None or entry[0]() is not owner:
        # Drop the entry when the memory is freed, unless the address has a new owner by then.
        forget = weakref.ref(owner, lambda reference: _forget(key, reference))
        entry = _pool[key] = forget, []
    arrays = [reference for reference in entry[1] if reference() is not None]
    if all(reference() is not array for reference in arrays):
        arrays.append(weakref.ref(array))
    entry[1][:] = arrays


def _forget(key: Hashable, owner: weakref.ref[Any]) -> None:
    entry = _pool.get(key)
    if entry is not None and entry[0] is owner:
        del _pool[key]


def _owner(array: np.ndarray) -> np.ndarray:
    """Return the array at the bottom of a chain of views."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
