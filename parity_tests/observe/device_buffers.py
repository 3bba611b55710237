"""Device memory that arrays really hold: unique buffers.

XLA's own account is of arguments, and differs. A const arg that is passed three times is one
buffer. A NumPy array that two executables took to the device is two.
"""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np

from parity_tests.jaxpr.captured import words_of

Buffers: TypeAlias = dict[tuple[Any, int], int]  # (device, address) to bytes
Arrays: TypeAlias = Sequence[weakref.ref[jax.Array]]


def alive() -> Arrays:
    """Return weak references to all arrays of this process.

    Addresses would not do: an array that is garbage now may be gone when another has its address.
    """
    return [weakref.ref(each) for each in jax.live_arrays()]


def of(values: Iterable[Any]) -> Buffers:
    """Return the buffers of the arrays of JAX among values.

    Typed PRNG keys are left out: the words that they wrap are an array of their own.
    """
    found: Buffers = {}
    for value in values:
        if not isinstance(value, jax.Array) or value.is_deleted():
            continue
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
            continue
        for shard in value.addressable_shards:
            data = shard.data
            found[shard.device, data.unsafe_buffer_pointer()] = data.nbytes
    return found


def overlaps(array: np.ndarray[Any, Any], buffers: Buffers) -> bool:
    """Say whether an array of NumPy's shares memory with buffers, as `jax.device_put` may have it.

    Example::

        overlaps(array, of([jax.device_put(array)]))
    """
    low, high = np.lib.array_utils.byte_bounds(array)
    return any(start < high and low < start + size for (_, start), size in buffers.items())


class Held:
    """Some arrays and the buffers that they lie in: another array may lie in one of these.

    Example::

        jax.device_put(array) in Held([array])  # on the device of the array
    """

    def __init__(self, arrays: Iterable[Any]) -> None:
        arrays = list(arrays)
        self._ids, self._buffers = set(map(id, arrays)), of(arrays).keys()

    def __contains__(self, value: Any) -> bool:
        return id(value) in self._ids or not self._buffers.isdisjoint(of([value]))


def due_to_constants(
    before: Arrays, results: Iterable[Any], captured: Iterable[Any], *, are_passed: bool = False
) -> int:
    """Return the bytes of the captured arrays and of the buffers that are new since `alive()`.

    Buffers of results are left out, the words of typed PRNG keys among them. So are 0-d arrays,
    which no form passes as const args. Captured values that nobody holds on a device, such as
    constants within an executable, are not counted. `are_passed` says that the program has const
    args.
    """
    captured = list(captured)
    there = (each for each in results if isinstance(each, jax.Array) and not each.is_deleted())
    returned = of(map(words_of, there))
    constants = of(each for each in captured if np.ndim(each))
    # A CPU may compute in the memory of a NumPy array, and have done so for a program before.
    own = {each.ctypes.data for each in captured if isinstance(each, np.ndarray)}
    others = {key for key in of(each() for each in before) if key[1] not in own} | returned.keys()

    def new() -> Buffers:
        arrays = (each for each in jax.live_arrays() if each.ndim)
        return {key: size for key, size in of(arrays).items() if key not in others}

    # Garbage of tracing is rare, and to collect it every time would cost more than to measure. Of
    # a NumPy array, one buffer is expected, or none where it was inlined: some may be const args.
    expected = Counter(each.nbytes for each in captured if isinstance(each, np.ndarray))
    found = new()
    unexplained = Counter(size for key, size in found.items() if key not in constants)
    is_all = unexplained.total() == 0 or unexplained == expected
    if not is_all and (unexplained - expected or not are_passed):
        gc.collect()
        found = new()
    return sum({**found, **constants}.values())
