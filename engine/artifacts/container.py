"""Files of named arrays in the safetensors format, read strictly and mapped rather than copied.

A file has three parts. Eight bytes: the length of the header, a little-endian number. The header: a
JSON object that maps the name of each tensor to its dtype, shape and offsets, and `__metadata__` to
a map of strings. The bytes of the tensors, without gaps. Our files add two things that the format
allows. Every tensor begins at a multiple of 64 bytes in the file, so that a backend can use the
mapped bytes in place; spaces after the header and tensors named `padding.*` fill the gaps. And the
metadata hold the SHA-256 of the header.

The safetensors package is not used: its reader copies each tensor for NumPy and reports no offsets,
and its writer does not align to 64 bytes. A test reads our files with it.

This module gives the tensors no meaning and does not import JAX. The reader checks every number of
a file against the size of the file before it slices, and copies or allocates nothing larger than
the header.

Source: https://github.com/huggingface/safetensors#format.
"""

from __future__ import annotations

import errno
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
# Bytes, for some 60,000 constants; JSON takes up to 25 times as much memory. The safetensors
# package reads 100,000,000.
_MAX_HEADER = 2**24
_MAX_RANK = 64
_DIGEST = "header_sha256"
_NO_DIGEST = "0" * 64
_CLAIM = re.compile(rb'"header_sha256":"([0-9a-f]{64})"')
_PADDING = "padding."
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
# From names of NumPy and ml_dtypes to names of the format. Other dtypes are stored as U8.
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
    """A file is damaged or of another kind; the message says what is wrong and what to do."""


@dataclass(frozen=True)
class Tensor:
    """One tensor of a container: name, dtype, shape, and bytes in row-major order.

    `dtype` is the format's name of it. `data` is a view on the mapped file, not a copy.
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
    """The content of a file of `nbytes` bytes: metadata, and tensors by name without padding."""

    metadata: Mapping[str, str]
    tensors: Mapping[str, Tensor]
    nbytes: int


def format_dtype(dtype: np.dtype) -> str:
    """Return the format's name of a dtype; "U8", which means bytes, for a dtype without one."""
    return _FORMAT_NAMES.get(dtype.name, "U8")


def as_tensor(name: str, array: np.ndarray) -> Tensor:
    """Make the tensor of an array in row-major order; copy only if the array has another order.

    For a dtype without a name in the format, the tensor has one more dimension: the item's bytes.
    """
    array = np.ascontiguousarray(array).reshape(array.shape)
    dtype = format_dtype(array.dtype)
    shape: tuple[int, ...] = array.shape
    if dtype == "U8" and array.dtype != np.uint8:
        shape = (*shape, array.dtype.itemsize)
    return Tensor(name, dtype, shape, array.reshape(-1).view(np.uint8).data.toreadonly())


def raw_tensor(name: str, data: bytes | bytearray) -> Tensor:
    """Make a U8 tensor of bytes that are no array."""
    return Tensor(name, "U8", (len(data),), memoryview(data).toreadonly())


# -- writing ---------------------------------------------------------------------------------------


def chunks(metadata: Mapping[str, str], tensors: Iterable[Tensor]) -> list[bytes | memoryview]:
    """Return the bytes of a file, in pieces; the tensors' own bytes are not copied.

    Raises ValueError for a name or a header that a reader would refuse.

    Example::

        write("f", chunks({}, [as_tensor("table", np.eye(3))]))
        table = parse(mapped("f")).tensors["table"]
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
    if len(header) > _MAX_HEADER:
        raise ValueError(
            f"the file would have a header of {len(header)} bytes, and at most {_MAX_HEADER} are "
            "read: it has too many constants"
        )
    header = header.replace(_NO_DIGEST.encode(), hashlib.sha256(header).hexdigest().encode(), 1)
    return [len(header).to_bytes(8, "little"), header, *data]


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)  # the last: Windows


def write(path: str | os.PathLike[str], pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file under a temporary name beside `path`, then rename it to `path`.

    A reader sees the whole file or none, and whoever has mapped a previous file keeps it. The
    permissions are those of the previous file, or the system's default for a new one, as with
    `open`. A link stays, and the file that it leads to is written. Raises OSError as `open` does,
    and for what is no regular file, such as a device.
    """
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    if not path.parent.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
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


def mapped(path: str | os.PathLike[str]) -> memoryview:
    """Map a file and return its bytes, read-only; the mapping lives as long as a view on it.

    Raises OSError as `open` does, and ContainerError where the file is empty or not a regular one.
    """
    if not (os.path.isfile(path) or os.path.isdir(path)) and os.path.exists(path):
        raise ContainerError(f"{os.fspath(path)} is no regular file")  # `open` waits for a pipe
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise ContainerError(f"{os.fspath(path)} is empty")
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def parse(data: memoryview) -> Container:
    """Read the header of a container and check it against the bytes of the file.

    Raises ContainerError for anything but a container made by `chunks`: too few or too many bytes,
    tensors that overlap, leave a gap or reach beyond the end, a header that was changed, names that
    could be paths.
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
                f"tensor {tensor.name} begins at byte {first} instead of {end}: tensors must "
                "follow each other without gaps"
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
            f"the file has {len(data)} bytes and its header describes {start + end}; {_DAMAGED}"
        )
    return Container(metadata, tensors, len(data))


_DAMAGED = "it was damaged or cut off on its way: copy it again, or export again"


def looks_like_a_container(data: bytes | bytearray | memoryview) -> bool:
    """Say whether bytes begin like a container; the rest may be damaged.

    Either of two signs is enough, so that `parse` reports damage to the other one.
    """
    head = bytes(data[:40])
    return head[8:9] == b"{" or b"__metadata__" in head


def _header(data: memoryview) -> tuple[dict[str, Any], int]:
    if len(data) < 8:
        raise ContainerError(f"the file has only {len(data)} bytes; {_DAMAGED}")
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
    # Check before parsing: JSON takes many times its size in memory.
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
        raise ContainerError("the header has no map of metadata: it is no exported file")
    return header, 8 + size


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _tensor(name: str, entry: Any, available: int) -> tuple[Tensor, tuple[int, int]]:
    if not _NAME.fullmatch(name) or ".." in name:
        raise ContainerError(
            f"a tensor is named {name!r}: names have letters, digits, '.', '_' and '-', so that "
            "none is a path"
        )
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ContainerError(f"tensor {name}: its entry must have dtype, shape and data_offsets")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if (
        not isinstance(shape, list)
        or not isinstance(offsets, list)
        or len(shape) > _MAX_RANK
        or len(offsets) != 2
        or not all(type(n) is int and 0 <= n < 2**63 for n in [*shape, *offsets])
    ):
        raise ContainerError(f"tensor {name}: invalid shape {shape!r} or offsets {offsets!r}")
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
