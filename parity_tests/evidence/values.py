"""Output arrays between processes: any dtype to a file and back, bit by bit, without pickle."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import ml_dtypes
import numpy as np

from parity_tests.evidence.distances import in_chunks
from parity_tests.jax_defaults import jax_defaults
from reports.rows import OutputLeaf
from reports.rows.calls import KeptArray

FLOAT0 = "float0"


@dataclass(frozen=True)
class Value:
    """One output leaf on the host; a typed PRNG key is the key data under it."""

    path: str
    array: np.ndarray[Any, Any]


def dtype_named(name: str) -> np.dtype[Any]:
    """Return the dtype of a name that NumPy or ml_dtypes knows, such as "bfloat16"."""
    if name == FLOAT0:
        return np.dtype(bool)  # a float0 array holds nothing but its shape
    return np.dtype(getattr(ml_dtypes, name, name))


@jax_defaults()
def to_host(path: str, leaf: Any) -> tuple[OutputLeaf, Value]:
    """Bring one output leaf to the host, and describe it as a row."""
    import jax

    value = Value(path, host_array(leaf))
    dtype = FLOAT0 if leaf.dtype == jax.dtypes.float0 else str(leaf.dtype)
    is_extended = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended)  # which has no weak types
    weak = isinstance(leaf, jax.Array) and not is_extended and leaf.weak_type
    row = OutputLeaf(
        path=path,
        shape=tuple(leaf.shape),
        dtype=dtype,
        weak_type=weak,
        sha256=digest(value),
        sharding=sharding_of(leaf),
        committed=is_committed(leaf),
    )
    return row, value


def host_array(leaf: Any) -> np.ndarray[Any, Any]:
    """Return an output leaf on the host: the key data of typed PRNG keys, False for a float0."""
    import jax

    if leaf.dtype == jax.dtypes.float0:
        return np.zeros(leaf.shape, bool)
    is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def digest(value: Value) -> str:
    """Return the SHA-256 of an array on the host: of its dtype, its shape and its bytes."""
    array = value.array
    digest = hashlib.sha256(f"{array.dtype}{array.shape}".encode())
    for (part,) in in_chunks(array):
        digest.update(part.tobytes())
    return digest.hexdigest()


def save(file: Path | IO[bytes], values: Sequence[Value]) -> None:
    """Write values to an .npz file, their bytes raw and their dtypes by name.

    A file given by its path is there as a whole or not at all.
    """
    meta = [(each.path, str(each.array.dtype), each.array.shape) for each in values]
    raw = {
        # Bytes, not a view as integers: that one way holds for every dtype, int4 included.
        f"leaf{number}": np.frombuffer(each.array.tobytes(), np.uint8)
        for number, each in enumerate(values)
    }
    if not isinstance(file, Path):
        np.savez(file, meta=np.array(json.dumps(meta)), **raw)  # type: ignore[arg-type]
        return
    part = file.with_suffix(".part")
    try:
        with part.open("wb") as whole:
            np.savez(whole, meta=np.array(json.dumps(meta)), **raw)  # type: ignore[arg-type]
        part.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def load(file: Path | IO[bytes]) -> tuple[Value, ...]:
    """Read what `save` wrote."""
    with np.load(file, allow_pickle=False) as stored:
        meta = json.loads(str(stored["meta"]))
        return tuple(
            Value(path, stored[f"leaf{number}"].view(dtype_named(dtype)).reshape(shape))
            for number, (path, dtype, shape) in enumerate(meta)
        )


MOST_BYTES = 2**14  # of one array, before it is compressed


def keep_in_report(array: np.ndarray[Any, Any]) -> KeptArray:
    """Keep an array in a report: a small one whole, of a large one every n-th element.

    Example::

        kept_elements(keep_in_report(np.arange(3))).tolist() == [0, 1, 2]
    """
    step = max(1, math.ceil(array.nbytes / MOST_BYTES))
    flat = np.ascontiguousarray(array).reshape(-1)[::step]
    return KeptArray(
        dtype=str(array.dtype),
        shape=array.shape,
        kept=flat.size,
        step=step,
        data=base64.b64encode(zlib.compress(flat.tobytes())).decode("ascii"),
    )


def kept_elements(kept: KeptArray) -> np.ndarray[Any, Any]:
    """Return the elements that were kept: in the shape of the array where all of them were."""
    raw = zlib.decompress(base64.b64decode(kept.data))
    flat = np.frombuffer(raw, np.uint8).view(dtype_named(kept.dtype))
    return flat.reshape(kept.shape) if kept.step == 1 else flat


# -- where an array is: its devices, what each of them holds, and whether it is committed ----------

LONGEST = 200


def sharding_of(array: Any) -> str | None:
    """Describe where the parts of an array are; None if it is not a JAX array.

    By devices and indices and not by the sharding's own text: shardings of several classes and
    spellings place an array alike.

    Example::

        sharding_of(jnp.ones(3)) == "cpu:0"
    """
    sharding = _sharding(array)
    if sharding is None:
        return None
    held = {
        f"{device.platform}:{device.id}": _spelled(index, array.shape)
        for device, index in sharding.devices_indices_map(tuple(array.shape)).items()
    }
    kind = "" if sharding.memory_kind in (None, *_default_kinds(sharding)) else sharding.memory_kind
    if len(held) == 1:
        return " ".join(filter(None, [*held, kind]))
    text = "; ".join(f"{device} {index}" for device, index in sorted(held.items()))
    text = " ".join(filter(None, [text, kind]))
    if len(text) > LONGEST:
        text = f"{len(held)} devices, sha256 {hashlib.sha256(text.encode()).hexdigest()}"
    return text


def is_committed(array: Any) -> bool | None:
    """Say whether an array is committed to its devices; None if it is not a JAX array."""
    import jax

    return array.committed if isinstance(array, jax.Array) else None


def devices_of(array: Any) -> int:
    """Count the devices that an array is on, 0 for what is no array of JAX."""
    sharding = _sharding(array)
    return 0 if sharding is None else len(sharding.device_set)


def _sharding(array: Any) -> Any:
    import jax

    return array.sharding if isinstance(array, jax.Array) else None


def _default_kinds(sharding: Any) -> set[str]:
    return {device.default_memory().kind for device in sharding.device_set}


def _spelled(index: tuple[Any, ...], shape: tuple[int, ...]) -> str:
    bounds = (part.indices(size) for part, size in zip(index, shape, strict=True))
    return "[" + ",".join(f"{start}:{stop}" for start, stop, _ in bounds) + "]"
