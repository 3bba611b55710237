"""Arrays on devices: buffers, memories, layouts, and whether they are committed."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.experimental.layout
from jax._src import array, config, core
from jax._src import mesh as _mesh
from jax._src.interpreters import pxla
from jax._src.random import prng as _prng

from engine.jax_internals.differences import holder_of

_DEVICE_CONTEXT = holder_of("device_context")
_ABSTRACT_MESH = holder_of("abstract_mesh_context_manager")


def buffer_type(aval: Any) -> tuple[tuple[int, ...], Any]:
    """Return shape and dtype of an array's buffer; the buffer of PRNG keys holds their words."""
    physical = core.physical_aval(aval)
    return physical.shape, physical.dtype


def in_default_memory(value: jax.Array) -> bool:
    """Say whether an array is in the default memory of its devices."""
    devices: set[Any] = value.sharding.device_set
    kind = value.sharding.memory_kind
    return kind is None or all(kind == device.default_memory().kind for device in devices)


def uncommitted(value: Any) -> Any:
    """Return a view of a single-device array that follows the arguments of a call to their device.

    The view shares the buffer; nothing is copied. An array over several devices is returned
    unchanged, because its placement has a meaning.
    """
    if type(value) is not array.ArrayImpl:
        if not isinstance(value, _prng.PRNGKeyArray):
            return value
        data = uncommitted(value._base_array)
        return value if data is value._base_array else _prng.PRNGKeyArray(value._impl, data)
    value._check_if_deleted()
    if not value._committed or value.sharding.num_devices > 1:
        return value
    return array.ArrayImpl(
        value.aval, value.sharding, value._arrays, committed=False, _skip_checks=True
    )


def with_buffer(value: Any, buffer: Any) -> Any:
    """Return an array on devices as what was captured: typed PRNG keys, or the array itself.

    JAX puts the words of keys on devices, and places them by the sharding of the keys: it takes
    keys alone for that (jax 0.10.2).
    """
    if not isinstance(value, _prng.PRNGKeyArray):
        return buffer
    return _prng.PRNGKeyArray(value._impl, buffer)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Run this block outside of the user's context: its traces, its mesh and its checks for NaN.

    For operations that the user did not ask for. They are not traced, they run on the devices of
    their operands, and a NaN in their results raises nothing.
    """
    mesh = _DEVICE_CONTEXT.swap_local(_mesh.empty_concrete_mesh)
    abstract_mesh = _ABSTRACT_MESH.swap_local(_mesh.empty_abstract_mesh)
    try:
        with core.eval_context(), config.debug_nans(False), config.debug_infs(False):
            yield
    finally:
        _ABSTRACT_MESH.set_local(abstract_mesh)
        _DEVICE_CONTEXT.set_local(mesh)


def follows_arguments_as_it_is(value: Any) -> bool:
    """Say whether `uncommitted` applies: not to a single-device array with a layout of its own.

    JAX assumes that uncommitted arrays have the device's default layout (jax 0.10.2). Raises
    RuntimeError for a deleted array.
    """
    # Each first call asks this of each const arg: compare types before any `isinstance`.
    if type(value) is not array.ArrayImpl:
        if not isinstance(value, _prng.PRNGKeyArray):
            return True
        value = value._base_array
    value._check_if_deleted()  # jaxlib does not, and reading the layout would crash the process
    sharding = value.sharding
    if type(sharding) is not jax.sharding.SingleDeviceSharding and sharding.num_devices > 1:
        return True
    try:
        layout = value._pjrt_layout
    except jax.errors.JaxRuntimeError:  # the platform has no layouts
        return bool(pxla.is_default_layout(value.format.layout, sharding, value.aval))
    return _is_default_layout(layout, sharding._device_assignment[0], value.aval)


# The device and not its sharding is in the key: JAX compares shardings in Python, array by array.
@functools.lru_cache(maxsize=2048)
def _is_default_layout(layout: Any, device: jax.Device, aval: Any) -> bool:
    """Call `pxla.is_default_layout` on a layout of PJRT; cached, because converting one is slow."""
    layout = jax.experimental.layout.Layout.from_pjrt_layout(layout)
    return bool(pxla.is_default_layout(layout, jax.sharding.SingleDeviceSharding(device), aval))
