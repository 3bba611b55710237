"""Numbers of arrays by their content: dtype, shape and elements.

An array is numbered by the elements that are left where it is cut to one slice along each axis on
which all slices are equal. So a broadcast of an array has a number that follows from the array's
own (`Content.broadcast`), and 4 GB of zeros are numbered by one zero.
"""

from __future__ import annotations

import hashlib
import math
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from parity_tests.proof.numbers import Number, UndecidedError, number

_CHUNK = 1 << 22  # bytes that are hashed at once; they must be the same in every process
_COMPARED = 1 << 20  # elements that are compared at once
_PROBES = 8
_FEW = 1 << 10  # elements that cost less than what would spare them

# NumPy's names of the types of elements that have a rule, by MLIR's. One whose elements do not fill
# their bytes is among `_BITS`, too.
DTYPES = {
    "i1": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"f{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
    "f4E2M1FN": "float4_e2m1fn",
    "f6E2M3FN": "float6_e2m3fn",
    "f6E3M2FN": "float6_e3m2fn",
    "f8E3M4": "float8_e3m4",
    "f8E4M3": "float8_e4m3",
    "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2": "float8_e5m2",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E8M0FNU": "float8_e8m0fnu",
}
# Bits of an element that mean something, of dtypes that leave others of their bytes unused.
_BITS = {
    "int1": 1,
    "uint1": 1,
    "int2": 2,
    "uint2": 2,
    "int4": 4,
    "uint4": 4,
    "float4_e2m1fn": 4,
    "float6_e2m3fn": 6,
    "float6_e3m2fn": 6,
}
_RULED = _BITS.keys() | DTYPES.values()


@dataclass(frozen=True, slots=True)
class Content:
    """What an array holds, and its number; `dtype` is NumPy's name of the type of its elements.

    `varying` are the axes along which slices differ; `elements` is the number of the elements, in
    row-major order, with index 0 on all other axes.
    """

    dtype: str
    shape: tuple[int, ...]
    varying: tuple[int, ...]
    elements: Number
    number: Number = field(init=False, compare=False)

    def __post_init__(self) -> None:
        found = number("array", self.dtype, *self.shape, "varying", *self.varying, self.elements)
        object.__setattr__(self, "number", found)

    def broadcast(self, shape: Sequence[int], dimensions: Sequence[int]) -> Content | None:
        """Return the content of a broadcast; axis i of this array is axis `dimensions[i]` of it.

        None where the broadcast also transposes.

        Example::

            content_of(x).broadcast((5, 3), (1,)) == content_of(np.broadcast_to(x, (5, 3)))
        """
        varying = tuple(dimensions[axis] for axis in self.varying)
        if 0 in shape:
            return Content(self.dtype, tuple(shape), (), _EMPTY)
        if varying != tuple(sorted(varying)):
            return None
        return Content(self.dtype, tuple(shape), varying, self.elements)

    def on_axes(self, axes: Sequence[int]) -> Content:
        """Return the content with index 0 on all but these axes, on which it does not vary."""
        shape = tuple([self.shape[axis] for axis in axes])
        return Content(self.dtype, shape, tuple(map(axes.index, self.varying)), self.elements)


def content(array: Any) -> Number:
    """Return the number of an array's dtype, shape and bytes.

    It takes arrays of NumPy and of JAX; typed PRNG keys are their key data. Raises
    `UndecidedError` if the elements cannot be read here.

    Example::

        content(np.zeros(3, np.float32)) == content(jnp.zeros(3))
        content(np.float32([0.0])) != content(np.float32([-0.0]))
    """
    return content_of(array).number


def content_of(array: Any) -> Content:
    """Return an array's content; that of an array which cannot change is read once a process.

    Raises `UndecidedError` as `content` does.
    """
    known = _known.get(id(array))
    if known is not None and known[0]() is array:
        return known[1]
    # A subclass of NumPy's arrays, as JAX has one, would make another object of each slice.
    of_numpy = array.view(np.ndarray) if isinstance(array, np.ndarray) else _on_host(array)
    found = _content_of_numpy(of_numpy)
    if _cannot_change(array):
        key = id(array)
        _known[key] = weakref.ref(array, lambda _: _known.pop(key, None)), found
    return found


def odd_bits_of(array: Any) -> str:
    """Return the dtype of elements with bits that mean nothing, which XLA computes with; else "".

    Example::

        odd_bits_of(np.uint8([0, 2]).view(bool)) == "bool"
    """
    name = _name_of(array.dtype)
    if name != "bool" and name not in _BITS:
        return ""
    elements = np.ascontiguousarray(array if isinstance(array, np.ndarray) else _on_host(array))
    is_odd = (elements.reshape(-1).view(np.uint8) >= 2 ** _BITS.get(name, 1)).any()
    return name if is_odd else ""


_known: dict[int, tuple[weakref.ref[Any], Content]] = {}


def _cannot_change(array: Any) -> bool:
    while isinstance(array, np.ndarray) and not array.flags.writeable:
        if array.base is None:
            return True
        array = array.base
    return isinstance(array, bytes | jax.Array)


def _on_host(array: Any) -> np.ndarray[Any, Any]:
    """Return the elements of an array of JAX, or of what NumPy takes for an array."""
    if isinstance(array, jax.core.Tracer):
        raise UndecidedError("a captured value that JAX traces")
    if not isinstance(array, jax.Array):
        return np.asarray(array)
    if array.is_deleted():
        raise UndecidedError("a captured array that is deleted")
    if not isinstance(array.dtype, np.dtype):
        if not jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key):
            raise UndecidedError(f"a captured array of the extended dtype {array.dtype}")
        array = jax.random.key_data(array)
    if not array.is_fully_addressable:
        raise UndecidedError("a captured array with shards on other machines")
    if array.is_fully_replicated:
        return uncached(array if array.size <= _FEW else array.addressable_data(0))
    whole = np.empty(array.shape, array.dtype)
    for shard in array.addressable_shards:
        if shard.replica_id == 0:
            whole[shard.index] = uncached(shard.data)
    return whole


def uncached(array: jax.Array) -> np.ndarray[Any, Any]:
    """Return the elements of an array on one device, which JAX does not keep on it."""
    if array.size <= _FEW:
        return np.asarray(array)
    # JAX keeps what NumPy has read on the array that was asked, so another one is asked.
    again = jax.make_array_from_single_device_arrays(array.shape, array.sharding, [array])
    return np.asarray(again)


def _content_of_numpy(array: np.ndarray[Any, Any]) -> Content:
    shape = array.shape
    if array.dtype == jax.dtypes.float0:
        return Content("float0", shape, (), _EMPTY)
    name = _name_of(array.dtype)
    if name not in _RULED:
        raise UndecidedError(f"an array of dtype {name}")
    if array.size == 0:
        return Content(name, shape, (), _EMPTY)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.size <= _FEW:
        axes, elements = _cut(_bits(array).tobytes(), shape)
        return Content(name, shape, axes, number("elements", elements))
    varying = []
    for axis, size in enumerate(shape):
        if size > 1 and _differs_along(array, axis):
            varying.append(axis)
        else:
            array = array[_along(axis, 0, 1)]
    return Content(name, shape, tuple(varying), _hashed(array))


def _cut(elements: bytes, shape: Sequence[int]) -> tuple[tuple[int, ...], bytes]:
    """Return the axes of a few elements along which slices differ, and what is left of others."""
    varying, before = [], 1
    for axis, size in enumerate(shape):
        row = len(elements) // before
        one = row // size
        rows = range(0, len(elements), row)
        if any(elements[at : at + row] != elements[at : at + one] * size for at in rows):
            varying.append(axis)
            before *= size
        else:
            elements = b"".join([elements[at : at + one] for at in rows])
    return tuple(varying), elements


@lru_cache(maxsize=100)
def _name_of(dtype: np.dtype[Any]) -> str:
    return dtype.name  # NumPy makes it anew each time


def _differs_along(array: np.ndarray[Any, Any], axis: int) -> bool:
    """Say whether any slice along an axis has other bits than the first one."""
    if array.strides[axis] == 0:
        return False
    first, others = array[_along(axis, 0, 1)], array[_along(axis, 1, None)]
    if array.size <= _COMPARED:
        return not _has_equal_bits(others, first)
    if any(_probes(np.moveaxis(array, axis, 0))):
        return True
    first = np.broadcast_to(first, others.shape)
    return not all(_has_equal_bits(*pieces) for pieces in _pieces(others, first))


def _along(axis: int, start: int, stop: int | None) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, slice(start, stop))


def _probes(slices: np.ndarray[Any, Any]) -> Iterator[bool]:
    """Compare a few elements with those of the first slice: one that differs spares the rest."""
    for probe in range(1, _PROBES + 1):
        index = tuple(size * probe // (_PROBES + 1) for size in slices.shape)
        one, first = slices[index[0] or 1][index[1:]], slices[0][index[1:]]
        yield not _has_equal_bits(np.asarray(one), np.asarray(first))


def _pieces(
    one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]
) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Cut two arrays of one shape into pieces that are small enough to be compared at once."""
    if one.size <= _COMPARED:
        yield one, other
        return
    axis = int(np.argmax(one.shape))
    half = one.shape[axis] // 2
    for part in (slice(None, half), slice(half, None)):
        where = (slice(None),) * axis + (part,)
        yield from _pieces(one[where], other[where])


def _has_equal_bits(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Say whether two arrays have equal bits, the second one broadcast to the first."""
    size = one.itemsize
    if size > 8 or one.dtype == bool or _name_of(one.dtype) in _BITS:
        other = np.broadcast_to(other, one.shape)
        return np.array_equal(_bits(one), _bits(other))
    as_integers = f"u{size}"  # a view, also of elements that do not lie side by side
    return bool((one.view(as_integers) == other.view(as_integers)).all())


def _bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return elements as bytes, without those of their bits that mean nothing, in a new axis."""
    array = np.ascontiguousarray(array)
    as_bytes = array.reshape(-1).view(np.uint8)
    name = _name_of(array.dtype)
    if name == "bool":
        as_bytes = as_bytes != 0
    elif name in _BITS:
        as_bytes = as_bytes & (2 ** _BITS[name] - 1)
    return as_bytes


def _hashed(array: np.ndarray[Any, Any]) -> Number:
    """Hash elements in row-major order, in chunks, so that threads can share them."""
    if array.size <= _FEW:
        return number("elements", _bits(array).tobytes())
    step = _CHUNK // array.itemsize
    flat = array.reshape(-1) if array.flags.c_contiguous else array.flat

    def of_chunk(start: int) -> bytes:
        return hashlib.sha256(_bits(flat[start : start + step]).data).digest()

    starts = range(0, math.prod(array.shape), step)
    if len(starts) == 1:
        return number("chunks", of_chunk(0))
    # hashlib frees the lock of Python.
    with ThreadPoolExecutor(max_workers=2) as threads:
        return number("chunks", *threads.map(of_chunk, starts))


_EMPTY = number("elements")
