"""Where the constants of an exported program are: their shardings, meshes and kinds of memory."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from engine import jax_internals
from engine.artifacts.hoisted_export import put


def has_sharding_of(given: jax.Array, program: jax.export.Exported, place: int) -> bool:
    """Say whether an array is sharded as the input at `place` of a program was when exported."""
    expected = jax_internals.exported_shardings(program)[0][place]
    if expected is None or expected.mesh.empty:
        return given.sharding.is_fully_replicated
    if not isinstance(given.sharding, NamedSharding) or _axes(given.sharding) != _axes(expected):
        return False
    wanted = sharding_on(given.sharding.mesh, program, place)
    wanted = wanted.update(memory_kind=given.sharding.memory_kind)
    return given.sharding.is_equivalent_to(wanted, given.ndim)


def sharding_on(mesh: Any, program: jax.export.Exported, place: int) -> NamedSharding:
    """Return the sharding of an input over a mesh of devices; replicated if the export names none.

    Unlike in JAX's `in_shardings_jax`, the axes of the mesh may be explicit or not. Raises
    ValueError for a mesh with other axes.
    """
    exported = jax_internals.exported_shardings(program)[0][place]
    memory_kind = "pinned_host" if is_in_host_memory(program, place) else None
    sharding = NamedSharding(mesh, PartitionSpec(), memory_kind=memory_kind)
    if exported is None or exported.mesh.empty:
        return sharding
    if _axes(sharding) != _axes(exported):
        raise ValueError(
            f"{program.fun_name} was exported for a mesh with axes {_axes(exported)}, and cannot "
            f"have its constants on one with axes {_axes(sharding)}"
        )
    return sharding.update(spec=exported.spec)


def _axes(sharding: NamedSharding) -> dict[str, int]:
    mesh = sharding.mesh.abstract_mesh
    return dict(zip(mesh.axis_names, mesh.axis_sizes, strict=True))


def is_in_host_memory(program: jax.export.Exported, place: int) -> bool:
    """Say whether a program takes its input at `place` in host memory."""
    return program.in_avals[place].memory_space == jax.memory.Space.Host


def put_uncommitted(value: np.ndarray, in_host_memory: bool) -> Any:
    """Put a constant, uncommitted, in the default device's own memory or in host memory."""
    sharding = None
    if in_host_memory:
        # Not `jax.memory.Space.Host`: with that, JAX compiles a program for the mesh in context.
        [device] = put(np.empty(0)).devices()
        sharding = SingleDeviceSharding(device, memory_kind="pinned_host")
    return jax_internals.uncommitted(put(value, sharding))
