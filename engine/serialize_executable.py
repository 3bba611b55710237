"""Compiled programs as bytes, without their constants: the caller passes these when loading.

The counterpart of `jax.experimental.serialize_executable` (jax 0.10.2), which refuses programs with
const args and reads its bytes with pickle. Our bytes are a container (`docs/use/export.md`) of the
compiled code, the interface in the format of `jax.export`, and a manifest in JSON.

Loading compiled code means running machine code. The checksums find damage, not malice, so load
only files of yours or of people you trust. A program is refused unless the platform, its version,
the kind of device and, for CPUs, the instruction set that XLA uses are those it was compiled for.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Sequence, Set
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from engine import jax_internals
from engine.artifacts import container as containers
from engine.artifacts.container import Container, ContainerError
from engine.artifacts.export_parsing import parsed
from engine.artifacts.hoisted_export import takes_constants
from engine.artifacts.manifest import fits
from engine.artifacts.reader import is_array, named
from engine.artifacts.tree_structures import writable
from engine.ir.array_snapshots import capture
from engine.jax_internals import KINDS_OF_SHARDINGS, ExecutableParts
from engine.stages import Compiled

FORMAT = "constparity.executable"
FORMAT_VERSION = "1"

_TENSORS = ("code", "interface")
_PARTS: dict[str, Any] = {
    "platform": str, "platform_version": str, "kept": [int], "committed": bool,
    "argument_names": [str], "weak_inputs": [bool], "weak_outputs": [bool], "in_kinds": [str],
    "out_kinds": [str], "in_memories": [(str, type(None))], "out_memories": [(str, type(None))],
}  # fmt: skip
_MANIFEST: dict[str, Any] = {
    "versions": {"jax": str, "jaxlib": str}, "sha256": {str: str}, "num_const_args": int,
    "donated": [bool], "no_kwargs": bool, "parts": _PARTS,
}  # fmt: skip


def serialize(compiled: Compiled) -> bytearray:
    """Return the bytes of a compiled program of `engine.jit`, without its const args.

    Arguments and results may contain named tuples and other node types if these are registered with
    `engine.export.register_namedtuple_serialization` or
    `engine.export.register_pytree_node_serialization`, here and where the program is loaded.

    On CPU, compile with JAX's persistent compilation cache off: XLA cannot serialize an executable
    from that cache again, and calling the result fails with "Function ... not found" (jaxlib
    0.10.2).

    Raises TypeError for anything but an `engine.Compiled`, NotImplementedError for a program with
    effects, callbacks or captured references, and ValueError for a program that was itself loaded,
    for an unregistered node type and for a dictionary key that cannot be written.

    Example::

        compiled = engine.jit(f, constants="simplified").lower(x).compile()
        blob = engine.serialize_executable.serialize(compiled)

    Source: `jax.experimental.serialize_executable.serialize`.
    """
    if not isinstance(compiled, Compiled):
        raise TypeError(
            f"expected the result of engine.jit(f).lower(...).compile(), got {compiled!r}"
        )
    if isinstance(compiled, _Loaded):
        raise ValueError(
            "this program was loaded, and XLA cannot serialize a loaded program again; keep "
            "the bytes that it was loaded from"
        )
    infos, _ = jax.tree.flatten(compiled.args_info)
    args, kwargs = compiled.args_info
    const_args = tuple(compiled.const_args)
    called_with = jax_internals.call_params(compiled)
    parts = jax_internals.executable_parts(
        called_with.executable,
        writable(jax.tree.structure(((const_args, *args), kwargs))),
        writable(compiled.out_tree),
    )
    data: dict[str, Any] = {"code": parts.code, "interface": parts.interface.serialize()}
    manifest = {
        "versions": {"jax": jax.__version__, "jaxlib": jax_internals.JAXLIB_VERSION},
        "sha256": {name: hashlib.sha256(data[name]).hexdigest() for name in _TENSORS},
        "num_const_args": len(const_args),
        "donated": [info.donated for info in infos],
        "no_kwargs": called_with.no_kwargs,
        "parts": {name: getattr(parts, name) for name in _PARTS},
    }
    metadata = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "manifest": json.dumps(manifest, separators=(",", ":")),
    }
    tensors = [containers.raw_tensor(name, data[name]) for name in _TENSORS]
    return bytearray().join(containers.chunks(metadata, tensors))


class _Loaded(Compiled):
    """A program loaded from bytes: XLA's CPU backend would serialize it without its code."""


def deserialize_and_load(
    serialized: bytes | bytearray | memoryview,
    const_args: Sequence[Any] = (),
    *,
    execution_devices: Sequence[jax.Device] | None = None,
) -> Compiled:
    """Load a compiled program with its const args, in the order of `Lowered.const_args`.

    `execution_devices` replace the devices that it was compiled for; by default they are the first
    devices of the default backend. The const args may be other arrays than at compile time. NumPy
    arrays are copied, and so are JAX arrays that could also be passed as a donated argument.

    Never load bytes from a stranger: compiled code is code. Raises ContainerError (a ValueError)
    for damaged bytes, and ValueError for another platform, version, kind of CPU or number of
    devices, and for const args of another count, shape or dtype.

    Example::

        compiled = engine.serialize_executable.deserialize_and_load(blob, lowered.const_args)
        y = compiled(x)

    Source: `jax.experimental.serialize_executable.deserialize_and_load`.
    """
    view = memoryview(serialized)
    in_one_row = view.cast("B") if view.c_contiguous else memoryview(bytes(view))
    container = containers.parse(in_one_row.toreadonly())
    manifest = _manifest(container)
    devices = tuple(jax.devices() if execution_devices is None else execution_devices)
    if not devices:
        raise ValueError("execution_devices has no devices")
    _refuse_other_platforms(manifest, devices)
    # JAX parses the interface first: all checks come before the code is loaded.
    interface = parsed(container.tensors["interface"].data, "the interface of the program")
    parts = _parts(container, manifest, interface)
    if len(devices) < interface.nr_devices or (
        execution_devices is not None and len(devices) > interface.nr_devices
    ):
        raise ValueError(
            f"the program was compiled for {interface.nr_devices} devices, and there are "
            f"{len(devices)}"
        )
    count = manifest["num_const_args"]
    _check_const_args(interface.in_avals[:count], const_args)
    executable = jax_internals.executable_of(parts, devices[: interface.nr_devices])
    avals = jax_internals.all_input_avals(executable)[count:]
    infos = list(map(jax_internals.argument_info, avals, manifest["donated"]))
    args, kwargs = jax.tree.unflatten(interface.in_tree, [None] * count + infos)
    donated = set(map(jax_internals.buffer_type, itertools.compress(avals, manifest["donated"])))
    return _Loaded(
        executable,
        [_held(const_arg, donated) for const_arg in const_args],
        (args[1:], kwargs),
        interface.out_tree,
        manifest["no_kwargs"],
        None,
        None,
    )


def _manifest(container: Container) -> dict[str, Any]:
    format_ = container.metadata.get("format"), container.metadata.get("format_version")
    if format_ != (FORMAT, FORMAT_VERSION):
        raise ContainerError(
            f"these bytes are of format {format_[0]!r} version {format_[1]!r}, not {FORMAT!r} "
            f"version {FORMAT_VERSION!r}"
        )
    try:
        manifest: dict[str, Any] = json.loads(container.metadata.get("manifest", ""))
    except (ValueError, RecursionError) as error:
        raise ContainerError(f"the manifest is not JSON ({error})") from error
    if not fits(manifest, _MANIFEST):
        raise ContainerError("the manifest lacks entries or has wrong ones")
    for name in _TENSORS:
        tensor = container.tensors.get(name)
        if tensor is None or hashlib.sha256(tensor.data).hexdigest() != manifest["sha256"].get(
            name
        ):
            raise ContainerError(
                f"the {name} of the program is not what was written: compile it again"
            )
    return manifest


def _refuse_other_platforms(manifest: dict[str, Any], devices: Sequence[jax.Device]) -> None:
    parts = manifest["parts"]
    here = {
        **manifest["versions"],
        "platform": devices[0].client.platform,
        "platform version": jax_internals.platform_version(devices[0]),
        "jax": jax.__version__,
        "jaxlib": jax_internals.JAXLIB_VERSION,
    }
    there = {
        **manifest["versions"],
        "platform": parts["platform"],
        "platform version": parts["platform_version"],
    }
    for what in here:
        if here[what] != there[what]:
            raise ValueError(
                f"the program was compiled for {what} {there[what]!r}, and this is "
                f"{here[what]!r}: compile it again, or keep it with engine.export"
            )
    memories = {None, *(memory.kind for memory in devices[0].addressable_memories())}
    for memory in (*parts["in_memories"], *parts["out_memories"]):
        if memory not in memories:
            raise ContainerError(
                f"the manifest has a memory {memory!r}, which the device does not have"
            )


def _parts(
    container: Container, manifest: dict[str, Any], interface: jax.export.Exported
) -> ExecutableParts:
    found: dict[str, Any] = {
        n: tuple(v) if isinstance(v, list) else v for n, v in manifest["parts"].items()
    }
    parts = ExecutableParts(
        code=bytes(container.tensors["code"].data), interface=interface, **found
    )
    inputs, outputs = len(interface.in_avals), len(interface.out_avals)
    kept, count = list(parts.kept), manifest["num_const_args"]
    if kept != sorted(set(kept) & set(range(inputs))):
        raise ContainerError("the manifest has kept inputs that the program does not have")
    if count not in range(inputs + 1) or not takes_constants(interface, count):
        raise ContainerError("the manifest and the program differ in the number of const args")
    lengths = {
        "argument_names": inputs,
        "weak_inputs": inputs,
        "weak_outputs": outputs,
        "in_kinds": len(kept),
        "in_memories": len(kept),
        "out_kinds": outputs,
        "out_memories": outputs,
    }
    found["donated"], lengths["donated"] = manifest["donated"], inputs - count
    for name, length in lengths.items():
        if len(found[name]) != length:
            raise ContainerError(f"the manifest has a wrong number of values in {name}")
    ins, outs = jax_internals.exported_shardings(interface)
    for name, kinds, shardings in [
        ("in_kinds", parts.in_kinds, [ins[i] for i in kept]),
        ("out_kinds", parts.out_kinds, outs),
    ]:
        for kind, sharding in zip(kinds, shardings, strict=True):
            if kind not in KINDS_OF_SHARDINGS or (kind == "mesh") == (sharding is None):
                raise ContainerError(f"the manifest has {name} that do not fit the program")
    return parts


def _check_const_args(avals: Sequence[Any], const_args: Sequence[Any]) -> None:
    if len(const_args) != len(avals):
        raise ValueError(
            f"the program takes {len(avals)} const args, and {len(const_args)} were given"
        )
    for i, (aval, given) in enumerate(zip(avals, const_args, strict=True)):
        if not is_array(given) or (given.shape, given.dtype) != (aval.shape, aval.dtype):
            raise ValueError(
                f"const arg {i} of the program is {aval.dtype} of shape {aval.shape}, and "
                f"{named(given)} was given"
            )


def _held(given: Any, donated: Set[tuple[tuple[int, ...], Any]]) -> Any:
    """Return a const arg that nobody else can change, of its own dtype in every x64 mode.

    A NumPy array is copied once for all programs. A JAX array is copied in two cases: if it has the
    shape and dtype of a donated argument, since the caller could pass it as one; and if its layout
    is not the default one, which the program was compiled for.
    """
    if isinstance(given, jax.Array):
        is_donatable = jax_internals.buffer_type(given.aval) in donated
        if not is_donatable and jax_internals.follows_arguments_as_it_is(given):
            return given
        with jax_internals.undisturbed():
            return jnp.copy(given)
    return jax_internals.of_its_own_type(capture(given) if given.ndim else np.array(given))
