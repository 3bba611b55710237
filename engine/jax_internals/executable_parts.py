"""A compiled program taken apart, without its constants, and put together again."""

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

    - `code`: what PJRT's serialization makes of the executable.
    - `interface`: avals and shardings of all inputs, const args first, and of the outputs, as a
      `jax.export.Exported` without a module; what JAX's serialization of it leaves out follows.
    - `kept`: the inputs that the executable takes; the shardings of the others are unknown.
    - `in_kinds`, `out_kinds`: where the shardings come from, each of `KINDS_OF_SHARDINGS`, for kept
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
    """One device; a mesh; or what XLA chose, which the executable says itself."""
    if isinstance(sharding, jax.sharding.SingleDeviceSharding):
        return "device"
    return "mesh" if isinstance(sharding, jax.sharding.NamedSharding) else "xla"


def platform_version(device: jax.Device) -> str:
    """What compiled code is tied to beside the platform: version of the client, kind of device."""
    kind = device.device_kind
    if device.platform == "cpu":  # where that is "cpu" of all
        kind += f" with instructions {_instructions():016x}"
    return f"{device.client.platform_version}; {kind}"


@functools.cache
def _instructions() -> int:
    """What tells CPUs of other instruction sets apart, and what XLA may use of them.

    JAX asks the same for its persistent cache (jax 0.10.2). A number of its own for each number of
    devices is what a client says, so one with a single device is made for this, in a millisecond.
    """
    client = _jaxlib.get_tfrt_cpu_client(asynchronous=True, num_devices=1)
    return _jaxlib.get_topology_for_devices(client.devices()).fingerprint()


def executable_parts(executable: Executable, in_tree: Any, out_tree: Any) -> ExecutableParts:
    """Take a compiled program apart; `in_tree` includes the const args.

    Raises NotImplementedError for a program that is more than its code: with effects, callbacks or
    references that it mutates.
    """
    unloaded = executable._unloaded_executable
    extras = {
        "ordered effects": unloaded.ordered_effects,
        "effects": unloaded.unordered_effects,
        "callbacks to the host": unloaded.host_callbacks or unloaded.keepalive,
        "captured mutable references": unloaded.mut,
    }
    for what, present in extras.items():
        if present:
            raise NotImplementedError(f"a compiled program with {what} cannot be serialized")
    avals, names = unloaded.all_args_info.in_avals, unloaded.all_args_info.debug_info
    kept = tuple(sorted(unloaded.kept_var_idx))
    named: list[Any] = [None] * len(avals)
    for i, sharding in zip(kept, unloaded.input_shardings, strict=True):
        named[i] = _abstract(sharding)
    outs = tuple(_abstract(s) for s in unloaded.output_shardings)
    interface = _export.Exported(
        fun_name=unloaded.name, in_tree=in_tree, in_avals=tuple(avals), out_tree=out_tree,
        out_avals=tuple(unloaded.output_avals),
        _in_named_shardings=tuple(named), _out_named_shardings=outs,
        in_shardings_hlo=(None,) * len(avals), out_shardings_hlo=(None,) * len(outs),
        nr_devices=len(unloaded.device_list), platforms=(unloaded.backend.platform,),
        ordered_effects=(), unordered_effects=(), disabled_safety_checks=(),
        mlir_module_serialized=b"", module_kept_var_idx=(), uses_global_constants=False,
        calling_convention_version=_export.maximum_supported_calling_convention_version,
        _get_vjp=None, **exported_fields(),
    )  # fmt: skip
    return ExecutableParts(
        code=unloaded.xla_executable.serialize(),
        interface=interface,
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


def _loaded_code(code: bytes, devices: Sequence[jax.Device]) -> Any:
    assignment = np.array([[device.id for device in devices]])
    options = _compiler.get_compile_options(
        num_replicas=1, num_partitions=len(devices), device_assignment=assignment
    )
    # Without options the code would run on the devices that it was compiled for (jax 0.10.2).
    return devices[0].client.deserialize_executable(
        code, _jaxlib.DeviceList(tuple(devices)), options
    )


def _abstract(sharding: Any) -> Any:
    if not isinstance(sharding, jax.sharding.NamedSharding):
        return None
    return sharding.update(mesh=sharding.mesh.abstract_mesh)


def all_input_avals(executable: Executable) -> Sequence[Any]:
    """The avals of const args and arguments, those that are not used among them."""
    return executable._unloaded_executable.all_args_info.in_avals


def executable_of(parts: ExecutableParts, devices: Sequence[jax.Device]) -> Executable:
    """Put a compiled program together on devices, in the order of those it was compiled for."""
    device_list = _jaxlib.DeviceList(tuple(devices))
    backend = devices[0].client
    code = _loaded_code(parts.code, devices)
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

    def concrete(kind: str, memory: str | None, named: Any) -> Any:
        if kind == "device":
            return jax.sharding.SingleDeviceSharding(devices[0], memory_kind=memory)
        return UNSPECIFIED if kind == "xla" else pxla.maybe_concretize_mesh(named, device_list)

    kept_avals = [in_avals[i] for i in parts.kept]
    ins: Any = [
        concrete(kind, memory, interface._in_named_shardings[i])
        for kind, memory, i in zip(parts.in_kinds, parts.in_memories, parts.kept, strict=True)
    ]
    outs: Any = [
        concrete(*of_output)
        for of_output in zip(
            parts.out_kinds, parts.out_memories, interface._out_named_shardings, strict=True
        )
    ]
    if "xla" in parts.in_kinds:
        ins = pxla._maybe_get_and_check_in_shardings(code, ins, device_list, kept_avals, 0)
    if "xla" in parts.out_kinds:
        outs = pxla._maybe_get_and_check_out_shardings(code, outs, device_list, out_avals, 0)
    in_layouts, out_layouts = pxla._get_layouts_from_executable(
        code, (None,) * len(ins), (None,) * len(outs), 0, kept_avals, out_avals
    )
    names = core.DebugInfo("serialized", interface.fun_name, parts.argument_names, None)
    return pxla.UnloadedMeshExecutable(
        xla_executable=code, device_list=device_list, backend=backend,
        input_avals=kept_avals, input_shardings=ins, output_avals=out_avals,
        output_shardings=outs, committed=parts.committed, name=interface.fun_name,
        unordered_effects=[], ordered_effects=[], keepalive=(), host_callbacks=(),
        kept_var_idx=set(parts.kept), mut=None, xla_in_layouts=in_layouts,
        dispatch_in_layouts=pxla.get_dispatch_layouts(in_layouts, ins, kept_avals),
        xla_out_layouts=out_layouts, all_args_info=pxla.AllArgsInfo(in_avals, names),
        pgle_profiler=None,
    ).load()  # fmt: skip
