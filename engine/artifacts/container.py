"""Files of named arrays in the safetensors format, read strictly and mapped rather than copied.

The format: eight bytes, the length of the header as a little-endian number; the header, a JSON
object that maps the name of each tensor to its dtype, shape and place among the bytes that follow,
and `__metadata__` to strings; the bytes of the tensors, without gaps. What is written here adds two
things that the format allows: every tensor begins at a multiple of 64 bytes in the file (the header
ends in spaces, and tensors named `padding.*` fill up), so that a backend can use the mapped bytes
as they are; and the metadata hold the SHA-256 of the header.

The safetensors package is not used: its reader copies each tensor for NumPy, tells no offsets, and
its writer aligns nothing to 64 bytes. A test reads our files with it.

Nothing here knows what the tensors mean, and nothing imports JAX. A reader trusts no number of a
file: all are compared with the size of the file before anything is sliced, and nothing is copied or
allocated that is larger than the header. Source: https://github.com/huggingface/safetensors#format.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import re
import secrets
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ALIGNMENT = 64
# As in the safetensors package: a header of more is no header.
_MAX_HEADER = 100_000_000
_MAX_RANK = 64
_DIGEST = "header_sha256"
_NO_DIGEST = "0" * 64
_CLAIM = re.compile(rb'"header_sha256":"([0-9a-f]{64})"')
_PADDING = "padding."
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
# What NumPy and ml_dtypes call the dtypes that the format has names for. Others are stored as U8.
_FORMAT_NAMES = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32",
    "int32": "I32", "uint64": "U64", "int64": "I64", "float16": "F16", "bfloat16": "BF16",
    "float32": "F32", "float64": "F64", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2",
}  # fmt: skip
_ITEM_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "U16": 2, "I16": 2, "U32": 4, "I32": 4, "U64": 8, "I64": 8,
    "F16": 2, "BF16": 2, "F32": 4, "F64": 8, "F8_E4M3": 1, "F8_E5M2": 1,
}  # fmt: skip


class ContainerError(ValueError):
    """A file that is not what it should be; the message says what is wrong and what to do."""


@dataclass(frozen=True)
class Tensor:
    """One tensor of a container: its name in the format's dtypes, its shape, and its bytes.

    `data` is a view of `nbytes` bytes of the mapped file.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: memoryview

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return self.data.nbytes


@dataclass(frozen=True, eq=False)
class Container:
    """What a file holds: metadata, a map of strings, and tensors by name; padding is left out."""

    metadata: Mapping[str, str]
    tensors: Mapping[str, Tensor]
    nbytes: int


def format_dtype(dtype: np.dtype) -> str:
    """The format's name of a dtype, or "U8" for one that is stored as its bytes."""
    return _FORMAT_NAMES.get(dtype.name, "U8")


def as_tensor(name: str, array: np.ndarray) -> Tensor:
    """A tensor of an array's values, in row-major order; without copying where they lie so.

    A dtype that the format has no name for gets one more dimension, of its bytes.
    """
    array = np.ascontiguousarray(array).reshape(array.shape)
    dtype = format_dtype(array.dtype)
    shape: tuple[int, ...] = array.shape
    if dtype == "U8" and array.dtype != np.uint8:
        shape = (*shape, array.dtype.itemsize)
    return Tensor(name, dtype, shape, array.reshape(-1).view(np.uint8).data.toreadonly())


def raw_tensor(name: str, data: bytes | bytearray) -> Tensor:
    """A tensor of bytes that are no array."""
    return Tensor(name, "U8", (len(data),), memoryview(data).toreadonly())


# -- writing ---------------------------------------------------------------------------------------


def chunks(metadata: Mapping[str, str], tensors: Iterable[Tensor]) -> list[bytes | memoryview]:
    """The bytes of a file, in pieces; the tensors' own bytes are not copied.

    Raises ValueError for a name that a reader would refuse.
    """
    entries: dict[str, Any] = {"__metadata__": {_DIGEST: _NO_DIGEST, **metadata}}
    data: list[bytes | memoryview] = []
    end = 0

    def append(name: str, dtype: str, shape: tuple[int, ...], piece: bytes | memoryview) -> None:
        nonlocal end
        entries[name] = {
            "dtype": dtype,
            "shape": list(shape),
            "data_offsets": [end, end + len(piece)],
        }
        end += len(piece)
        data.append(piece)

    for tensor in tensors:
        if not _NAME.fullmatch(tensor.name) or tensor.name in entries:
            raise ValueError(f"a tensor cannot be named {tensor.name!r}")
        if gap := -end % ALIGNMENT:
            append(f"{_PADDING}{len(data)}", "U8", (gap,), bytes(gap))
        append(tensor.name, tensor.dtype, tensor.shape, tensor.data)
    header = json.dumps(entries, separators=(",", ":"), ensure_ascii=True).encode()
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    header = header.replace(_NO_DIGEST.encode(), hashlib.sha256(header).hexdigest().encode(), 1)
    return [len(header).to_bytes(8, "little"), header, *data]


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # Windows has that


def write(path: str | os.PathLike, pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file under a temporary name beside `path`, then give it its name.

    A reader sees the whole file or none, and one that has the former file mapped keeps it. Who may
    read and write it is as `open` would have it: as the former file had it, or as the system does
    for a new one. Raises OSError as `open` does.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_urlsafe(6)}")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    handle = os.open(temporary, _NEW_FILE, 0o666 if mode is None else mode)  # less the umask
    try:
        with os.fdopen(handle, "wb") as file:
            if mode is not None:
                os.chmod(temporary, mode)
            for piece in pieces:
                file.write(piece)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


# -- reading ---------------------------------------------------------------------------------------


def mapped(path: str | os.PathLike) -> memoryview:
    """The bytes of a file, mapped and read-only; they stay as long as a view of them does.

    Raises OSError as `open` does, and ContainerError for what is empty or no regular file.
    """
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ContainerError(f"{os.fspath(path)} is empty")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def parse(data: memoryview) -> Container:
    """Read the header of a container and check it against the bytes that are there.

    Raises ContainerError for anything but a container as `chunks` makes it: too short or too long,
    tensors that overlap, leave a gap or reach beyond the end, a header that is not what was
    written, names that could be paths.
    """
    header, start = _header(data)
    metadata = header.pop("__metadata__")
    places = sorted(
        (_tensor(name, entry, len(data) - start) for name, entry in header.items()),
        key=lambda place: place[1],
    )
    end = 0
    tensors = {}
    for tensor, (first, last) in places:
        if first != end:
            raise ContainerError(
                f"tensor {tensor.name} begins at {first}, where {end} was due: the tensors of a "
                "file lie one after the other"
            )
        end = last
        view = data[start + first : start + last]
        if tensor.name.startswith(_PADDING):
            if len(view) >= ALIGNMENT or any(view):
                raise ContainerError(f"{tensor.name} is not padding; {_DAMAGED}")
        else:
            tensors[tensor.name] = Tensor(tensor.name, tensor.dtype, tensor.shape, view)
    if start + end != len(data):
        raise ContainerError(
            f"the file has {len(data)} bytes and its header speaks of {start + end}; {_DAMAGED}"
        )
    return Container(metadata, tensors, len(data))


_DAMAGED = "it was damaged or cut off on its way: copy it again, or export again"


def looks_like_a_container(data: bytes | bytearray | memoryview) -> bool:
    """Whether bytes begin as a container does; what follows may be damaged all the same.

    Either sign is enough, so that damage to one of them is found by `parse`.
    """
    head = bytes(data[:40])
    return head[8:9] == b"{" or b"__metadata__" in head


def _header(data: memoryview) -> tuple[dict[str, Any], int]:
    if len(data) < 8:
        raise ContainerError(f"the file has {len(data)} bytes, too few to be one; {_DAMAGED}")
    size = int.from_bytes(data[:8], "little")
    if size > len(data) - 8 or size > _MAX_HEADER:
        raise ContainerError(
            f"the file claims a header of {size} bytes, and has {len(data)} in all: it is no "
            f"exported file, or {_DAMAGED}"
        )
    raw = data[8 : 8 + size]
    if raw[:1] != b"{":
        raise ContainerError("the file has no header: it is no exported file of this project")
    claimed = _CLAIM.search(raw)
    if claimed is None:
        raise ContainerError(
            f"the header of the file has no {_DIGEST}: the file was made by another program, or "
            f"{_DAMAGED}"
        )
    # Before anything is parsed or copied: JSON takes many times its size in memory.
    found = hashlib.sha256(raw[: claimed.start(1)])
    found.update(_NO_DIGEST.encode())
    found.update(raw[claimed.end(1) :])
    if found.hexdigest().encode() != claimed[1]:
        raise ContainerError(f"the header of the file is not what was written; {_DAMAGED}")
    try:
        header = json.loads(bytes(raw), object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise ContainerError(f"the header of the file is not JSON ({error})") from error
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise ContainerError("the file says nothing of itself: it is no exported file")
    return header, 8 + size


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is given twice")
    return found


def _tensor(name: str, entry: Any, available: int) -> tuple[Tensor, tuple[int, int]]:
    if not _NAME.fullmatch(name) or ".." in name:
        raise ContainerError(
            f"a tensor is named {name!r}: names have letters, digits, '.', '_' and '-', so that "
            "none is a path"
        )
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ContainerError(f"tensor {name}: the header's entry is not one")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if (
        not isinstance(shape, list)
        or not isinstance(offsets, list)
        or len(shape) > _MAX_RANK
        or len(offsets) != 2
        or not all(type(n) is int and 0 <= n < 2**63 for n in [*shape, *offsets])
    ):
        raise ContainerError(f"tensor {name}: shape {shape!r} or offsets {offsets!r} are none")
    if not isinstance(dtype, str) or dtype not in _ITEM_BYTES:
        raise ContainerError(f"tensor {name}: unknown dtype {dtype!r}")
    first, last = offsets
    if not first <= last <= available:
        raise ContainerError(
            f"tensor {name} lies at {first} to {last} of {available} bytes; {_DAMAGED}"
        )
    if math.prod(shape) * _ITEM_BYTES[dtype] != last - first:
        raise ContainerError(
            f"tensor {name}: {dtype} of shape {shape} does not take {last - first} bytes"
        )
    return Tensor(name, dtype, tuple(shape), memoryview(b"")), (first, last)
