"""A compiled program taken apart, without its constants, and put together again.

JAX's own serialization is a pickle; these parts are plain data, except for the code itself.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.experimental.layout
import numpy as np
from jax._src import compiler as _compiler
from jax._src import core
from jax._src.export import _export
from jax._src.interpreters import pxla
from jax._src.lib import _jax as _jaxlib
from jax._src.sharding_impls import UNSPECIFIED

from engine.jax_internals.differences import exported_fields
from engine.jax_internals.names import Executable


@dataclasses.dataclass(frozen=True)
class ExecutableParts:
    """A compiled program without the values of its constants.

    - `code`: the executable, serialized by PJRT.
    - `interface`: avals and shardings of all inputs, const args first, and of the outputs, as a
      `jax.export.Exported` without a module. JAX's serialization of an `Exported` leaves out the
      fields below.
    - `kept`: the inputs that the executable takes; the shardings of the others are unknown.
    - `in_kinds`, `out_kinds`: the source of each sharding, one of `KINDS_OF_SHARDINGS`, for kept
      inputs and for outputs; `in_memories`, `out_memories`: their memory kinds.
    """

    code: bytes
    interface: _export.Exported
    platform: str
    platform_version: str
    kept: tuple[int, ...]
    committed: bool
    argument_names: tuple[str, ...]
    weak_inputs: tuple[bool, ...]
    weak_outputs: tuple[bool, ...]
    in_kinds: tuple[str, ...]
    out_kinds: tuple[str, ...]
    in_memories: tuple[str | None, ...]
    out_memories: tuple[str | None, ...]


KINDS_OF_SHARDINGS = ("device", "mesh", "xla")


def _kind_of(sharding: Any) -> str:
    """Name the kind of a sharding: one device, a mesh, or XLA's choice, told by the executable."""
    if isinstance(sharding, jax.sharding.SingleDeviceSharding):
        return "device"
    return "mesh" if isinstance(sharding, jax.sharding.NamedSharding) else "xla"


def platform_version(device: jax.Device) -> str:
    """Return the client's version and the kind of device, which compiled code is tied to."""
    kind = device.device_kind
    if device.platform == "cpu":  # the kind of every CPU is "cpu"
        kind += f" with instructions {_cpu_fingerprint():016x}"
    return f"{device.client.platform_version}; {kind}"


@functools.cache
def _cpu_fingerprint() -> int:
    """Return a fingerprint of the CPU's instruction set and of the part that XLA may use.

    JAX uses it in the keys of its persistent cache (jax 0.10.2). It also depends on the number of
    devices of the client, so this makes a client with one device, in a millisecond.
    """
    client = _jaxlib.get_tfrt_cpu_client(asynchronous=True, num_devices=1)
    return int(_jaxlib.get_topology_for_devices(client.devices()).fingerprint())


def executable_parts(executable: Executable, in_tree: Any, out_tree: Any) -> ExecutableParts:
    """Take a compiled program apart; `in_tree` includes the const args.

    Raises NotImplementedError for a program that needs more than its code: effects, callbacks or
    references that it mutates.
    """
    unloaded = executable._unloaded_executable
    _refuse_effects(unloaded)
    avals, names = unloaded.all_args_info.in_avals, unloaded.all_args_info.debug_info
    kept = tuple(sorted(unloaded.kept_var_idx))
    return ExecutableParts(
        code=unloaded.xla_executable.serialize(),
        interface=_interface(unloaded, kept, in_tree, out_tree),
        platform=unloaded.backend.platform,
        platform_version=platform_version(unloaded.device_list[0]),
        kept=kept,
        committed=unloaded.committed,
        argument_names=tuple(names.safe_arg_names(len(avals))),
        weak_inputs=tuple(aval.weak_type for aval in avals),
        weak_outputs=tuple(aval.weak_type for aval in unloaded.output_avals),
        in_kinds=tuple(map(_kind_of, unloaded.input_shardings)),
        out_kinds=tuple(map(_kind_of, unloaded.output_shardings)),
        in_memories=tuple(s.memory_kind for s in unloaded.input_shardings),
        out_memories=tuple(s.memory_kind for s in unloaded.output_shardings),
    )


def _refuse_effects(unloaded: Any) -> None:
    extras = {
        "ordered effects": unloaded.ordered_effects,
        "effects": unloaded.unordered_effects,
        "callbacks to the host": unloaded.host_callbacks or unloaded.keepalive,
        "captured mutable references": unloaded.mut,
    }
    for what, present in extras.items():
        if present:
            raise NotImplementedError(f"a compiled program with {what} cannot be serialized")


def _interface(
    unloaded: Any, kept: tuple[int, ...], in_tree: Any, out_tree: Any
) -> _export.Exported:
    avals = unloaded.all_args_info.in_avals
    ins: list[Any] = [None] * len(avals)
    for i, sharding in zip(kept, unloaded.input_shardings, strict=True):
        ins[i] = _abstract(sharding)
    outs = tuple(_abstract(s) for s in unloaded.output_shardings)
    return _export.Exported(
        fun_name=unloaded.name, in_tree=in_tree, in_avals=tuple(avals), out_tree=out_tree,
        out_avals=tuple(unloaded.output_avals),
        _in_named_shardings=tuple(ins), _out_named_shardings=outs,
        in_shardings_hlo=(None,) * len(avals), out_shardings_hlo=(None,) * len(outs),
        nr_devices=len(unloaded.device_list), platforms=(unloaded.backend.platform,),
        ordered_effects=(), unordered_effects=(), disabled_safety_checks=(),
        mlir_module_serialized=b"", module_kept_var_idx=(), uses_global_constants=False,
        calling_convention_version=_export.maximum_supported_calling_convention_version,
        _get_vjp=None, **exported_fields(),
    )  # fmt: skip


def _abstract(sharding: Any) -> Any:
    if not isinstance(sharding, jax.sharding.NamedSharding):
        return None
    return sharding.update(mesh=sharding.mesh.abstract_mesh)


def all_input_avals(executable: Executable) -> list[Any]:
    """Return the avals of all const args and arguments, used or not."""
    return list(executable._unloaded_executable.all_args_info.in_avals)


def executable_of(parts: ExecutableParts, devices: Sequence[jax.Device]) -> Executable:
    """Put a compiled program together on devices, in the order that it was compiled for."""
    device_list = _jaxlib.DeviceList(tuple(devices))
    code = _loaded_code(parts.code, devices, device_list)
    in_avals, out_avals = _avals(parts)
    kept_avals = [in_avals[i] for i in parts.kept]
    ins, outs = _shardings(parts, devices[0], device_list)
    if "xla" in parts.in_kinds:
        ins = pxla._maybe_get_and_check_in_shardings(code, ins, device_list, kept_avals, 0)
    if "xla" in parts.out_kinds:
        outs = pxla._maybe_get_and_check_out_shardings(code, outs, device_list, out_avals, 0)
    in_layouts, out_layouts = pxla._get_layouts_from_executable(
        code, (None,) * len(ins), (None,) * len(outs), 0, kept_avals, out_avals
    )
    interface = parts.interface
    names = core.DebugInfo("serialized", interface.fun_name, parts.argument_names, None)
    return pxla.UnloadedMeshExecutable(
        xla_executable=code, device_list=device_list, backend=devices[0].client,
        input_avals=kept_avals, input_shardings=ins, output_avals=out_avals,
        output_shardings=outs, committed=parts.committed, name=interface.fun_name,
        unordered_effects=[], ordered_effects=[], keepalive=(), host_callbacks=(),
        kept_var_idx=set(parts.kept), mut=None, xla_in_layouts=in_layouts,
        dispatch_in_layouts=pxla.get_dispatch_layouts(in_layouts, ins, kept_avals),
        xla_out_layouts=out_layouts, all_args_info=pxla.AllArgsInfo(in_avals, names),
        pgle_profiler=None,
    ).load()  # fmt: skip


def _loaded_code(code: bytes, devices: Sequence[jax.Device], device_list: Any) -> Any:
    assignment = np.array([[device.id for device in devices]])
    # Without options the code would run on the devices that it was compiled for (jax 0.10.2).
    options = _compiler.get_compile_options(
        num_replicas=1, num_partitions=len(devices), device_assignment=assignment
    )
    return devices[0].client.deserialize_executable(code, device_list, options)


def _avals(parts: ExecutableParts) -> tuple[list[Any], list[Any]]:
    """Return the avals of all inputs and of the outputs, weak types and shardings included."""
    interface = parts.interface
    in_avals = [
        aval.update(weak_type=weak)
        for aval, weak in zip(interface.in_avals, parts.weak_inputs, strict=True)
    ]
    out_avals = [
        core.update_aval_with_sharding(aval.update(weak_type=weak), sharding)
        for aval, weak, sharding in zip(
            interface.out_avals, parts.weak_outputs, interface._out_named_shardings, strict=True
        )
    ]
    return in_avals, out_avals


def _shardings(parts: ExecutableParts, device: jax.Device, device_list: Any) -> tuple[Any, Any]:
    """Return the shardings of kept inputs and of outputs; unspecified where XLA chose them."""

    def concrete(source: tuple[str, str | None, Any]) -> Any:
        kind, memory, named = source
        if kind == "device":
            return jax.sharding.SingleDeviceSharding(device, memory_kind=memory)
        return UNSPECIFIED if kind == "xla" else pxla.maybe_concretize_mesh(named, device_list)

    in_named = [parts.interface._in_named_shardings[i] for i in parts.kept]
    out_named = parts.interface._out_named_shardings
    ins = zip(parts.in_kinds, parts.in_memories, in_named, strict=True)
    outs = zip(parts.out_kinds, parts.out_memories, out_named, strict=True)
    return list(map(concrete, ins)), list(map(concrete, outs))
