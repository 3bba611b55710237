"""Where an array is: on which devices, what each of them holds, and whether it is committed."""

from __future__ import annotations

import hashlib
from typing import Any

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
