"""Read the file of a hoisted export, and replace its constants on request.

Everything is checked before it is used: the header and the programs when the file is opened, each
constant when it is first needed and its bytes are read. The checksums find damage, not malice: a
program is code for XLA, so do not run one from a stranger.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import zlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec, SingleDeviceSharding

from engine import jax_internals
from engine.artifacts.container import Container, ContainerError
from engine.artifacts.export_parsing import parsed
from engine.artifacts.hoisted_export import HeldConstant, HoistedExport, put, takes_constants
from engine.artifacts.manifest import Manifest, described, spelled, stored_dtype
from engine.artifacts.writer import Constant

Replacements = Mapping[int, Any] | Sequence[Any]


def read(
    container: Container, constants: Replacements | None = None, mesh: Any = None
) -> HoistedExport:
    """Read the export in a container; `constants` replaces the file's constants, by number or all.

    Raises ContainerError where the container holds no export, a program is damaged, or the manifest
    contradicts a program; ValueError where a replacement has another shape, dtype or sharding.
    """
    manifest = Manifest.of(container)
    file = _File(container, manifest)
    file.check_programs()
    programs = [file.program(order) for order in range(len(manifest.programs))]
    for order, (program, derivative) in enumerate(itertools.pairwise(programs)):
        file.check_derivative(order, program, derivative)
    held = file.replaced(constants, programs, mesh)
    exported: HoistedExport | None = None
    for order in reversed(range(len(programs))):
        held_by_program = tuple(held[i] for i in manifest.programs[order]["constants"])
        exported = HoistedExport(programs[order], held_by_program, _always(exported))
    assert exported is not None
    return exported


def check_constants(container: Container, manifest: Manifest) -> None:
    """Raise ContainerError unless the bytes of all constants match their checksums."""
    file = _File(container, manifest)
    for number in range(len(manifest.constants)):
        file.checked_bytes(number)


def is_array(value: Any) -> bool:
    """Say whether a value is an array of JAX or NumPy, but not a masked one: JAX drops masks."""
    return isinstance(value, jax.Array | np.ndarray | np.generic) and not isinstance(
        value, np.ma.MaskedArray
    )


def named(value: Any) -> str:
    """Describe the value that was given for an array, in words for an error."""
    if not is_array(value):
        return f"{type(value).__name__}, which is no array of JAX or NumPy"
    return f"{value.dtype} of shape {value.shape}"


def _numbered(given: Replacements | None, count: int) -> dict[int, Any]:
    """Return the replacements, keyed by the number of the constant that each replaces."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        for number in given:
            if type(number) is not int or number not in range(count):
                raise ValueError(
                    f"there is no constant {number!r} to replace: the file has {count} constants"
                )
        return dict(given)
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise ValueError(
            "constants= takes a sequence of arrays, one for each constant of the file, or a "
            f"mapping from their numbers to arrays, and not {type(given).__name__}"
        )
    if len(given) != count:
        raise ValueError(f"the file has {count} constants, and {len(given)} were given")
    return dict(enumerate(given))


def _always(derivative: HoistedExport | None) -> Any:
    return None if derivative is None else lambda _: derivative


@dataclass(frozen=True, eq=False)
class _File:
    """An open file; each constant is read, checked and put on a device when first needed."""

    container: Container
    manifest: Manifest
    # Arrays by number, not by content: two equal constants stay two arrays.
    _constants: dict[int, Any] = field(default_factory=dict)

    def check_programs(self) -> None:
        """Raise ContainerError unless all programs match their digests; JAX parses them later."""
        for entry in self.manifest.programs:
            data = self.container.tensors[entry["tensor"]].data
            if hashlib.sha256(data).hexdigest() != entry["sha256"]:
                raise ContainerError(
                    f"{entry['tensor']} is not what was written: the file was damaged; copy it "
                    "again, or export again"
                )

    def program(self, order: int) -> jax.export.Exported:
        """Read a program; raises ContainerError unless it fits the constants and the manifest."""
        entry = self.manifest.programs[order]
        program = parsed(self.container.tensors[entry["tensor"]].data, entry["tensor"])
        avals = program.in_avals[: len(entry["constants"])]
        expected = [self._type_of(number) for number in entry["constants"]]
        types = [(aval.shape, aval.dtype) for aval in avals]
        if types != expected or not takes_constants(program, len(expected)):
            raise ContainerError(
                f"{entry['tensor']} takes constants of types {[str(a) for a in avals]}, and the "
                f"file has {expected}"
            )
        for name, found in described(program, len(expected)).items():
            if entry[name] != found:
                raise ContainerError(
                    f"the manifest says of {entry['tensor']} that its {name} is {entry[name]!r}, "
                    f"but it is {found!r}: the file was changed; export again"
                )
        return program

    def check_derivative(
        self, order: int, program: jax.export.Exported, derivative: jax.export.Exported
    ) -> None:
        """Raise ContainerError unless a derivative's inputs and outputs fit its program."""
        before, after = (self.manifest.programs[i] for i in (order, order + 1))
        args = program.in_avals[len(before["constants"]) :]
        takes = [*args, *map(jax_internals.tangent_aval, program.out_avals)]
        returns = map(jax_internals.tangent_aval, args)
        if after["inputs"] != list(map(spelled, takes)) or after["outputs"] != list(
            map(spelled, returns)
        ):
            raise ContainerError(
                f"{after['tensor']} takes {after['inputs']} and returns {after['outputs']}, so it "
                f"is not the derivative of {before['tensor']}; export again"
            )

    def _type_of(self, number: int) -> tuple[tuple[int, ...], Any]:
        entry = self.manifest.constants[number]
        shape, dtype = tuple(entry["shape"]), stored_dtype(entry["dtype"])
        if entry["key_impl"] is None:
            return shape, dtype
        return _type_of_keys(shape, entry["key_impl"])

    def checked_bytes(self, number: int) -> memoryview:
        """Compare the bytes of a constant with their checksum, and return them."""
        name = self.manifest.constants[number]["tensor"]
        data = self.container.tensors[name].data
        if zlib.crc32(data) != self.manifest.crc32[name]:
            raise ContainerError(
                f"the bytes of constant {number} are not what was written: the file was damaged; "
                "copy it again, or export again"
            )
        return data

    def array(self, number: int, in_host_memory: bool) -> Any:
        """Put a constant on the default device, uncommitted: it follows a call's arguments.

        Nothing is copied where the backend can use mapped bytes in place, as XLA's CPU can. Raises
        ContainerError where the bytes do not match their checksum.
        """
        if number in self._constants:
            return self._constants[number]
        entry = self.manifest.constants[number]
        dtype, shape = stored_dtype(entry["dtype"]), tuple(entry["shape"])
        stored = np.frombuffer(self.checked_bytes(number), np.uint8).view(dtype).reshape(shape)
        # Constants that share a tensor still get a buffer each: one of them may be donated.
        constant = put_uncommitted(stored, in_host_memory)
        if entry["key_impl"] is not None:
            with jax.ensure_compile_time_eval():
                constant = jax.random.wrap_key_data(constant, impl=entry["key_impl"])
        return self._constants.setdefault(number, constant)  # the first of several threads wins

    def replaced(
        self, given: Replacements | None, programs: Sequence[jax.export.Exported], mesh: Any
    ) -> list[Constant]:
        """Return the constants of the file or their replacements, on `mesh` if there is one."""
        count = len(self.manifest.constants)
        numbered = _numbered(given, count)
        held: list[Constant] = []
        for number in range(count):
            program, place = self._first_use(number, programs)
            in_host_memory = is_in_host_memory(program, place)
            constant: Constant = _MappedConstant(self, number, in_host_memory)
            if number in numbered:
                array = self._checked(number, numbered[number], program, place)
                if mesh is None and isinstance(array, np.ndarray):
                    array = put_uncommitted(array, in_host_memory)
                constant = HeldConstant(number, array, array)
            if mesh is not None:
                constant = _PlacedConstant(constant, program, place, mesh)
            held.append(constant)
        return held

    def _first_use(
        self, number: int, programs: Sequence[jax.export.Exported]
    ) -> tuple[jax.export.Exported, int]:
        for program, entry in zip(programs, self.manifest.programs, strict=True):
            if number in entry["constants"]:
                return program, entry["constants"].index(number)
        raise ContainerError(f"no program of the file takes its constant {number}")

    def _checked(self, number: int, given: Any, program: jax.export.Exported, place: int) -> Any:
        """Check that a replacement fits the constant; copy NumPy arrays, lest others change them.

        Raises ValueError for another shape, dtype or sharding.
        """
        if isinstance(given, jax.core.Tracer):
            raise ValueError(
                f"constant {number} cannot be replaced by a tracer: load the file outside of what "
                "is traced, and export a function that has what changes there as an argument"
            )
        shape, dtype = self._type_of(number)
        if not is_array(given) or (given.shape, given.dtype) != (shape, dtype):
            raise ValueError(
                f"constant {number} is {dtype} of shape {shape}, and cannot be replaced by "
                f"{named(given)}"
            )
        if isinstance(given, jax.Array) and not has_sharding_of(given, program, place):
            exported_with = jax_internals.exported_shardings(program)[0][place]
            raise ValueError(
                f"constant {number} was exported with sharding {exported_with}, and cannot be "
                f"replaced by an array with sharding {given.sharding}; jax.device_put changes it"
            )
        return given if isinstance(given, jax.Array) else np.array(given)


@functools.lru_cache(maxsize=128)
def _type_of_keys(shape: tuple[int, ...], impl: str) -> tuple[tuple[int, ...], Any]:
    data = jax.ShapeDtypeStruct(shape, np.uint32)
    keys = jax.eval_shape(lambda data: jax.random.wrap_key_data(data, impl=impl), data)
    return keys.shape, keys.dtype


@dataclass(frozen=True, eq=False)
class _MappedConstant:
    """A constant that is not read from its file until it is needed."""

    file: _File
    key: int
    in_host_memory: bool

    @property
    def value(self) -> Any:
        return self.file.array(self.key, self.in_host_memory)

    operand = value


@dataclass(frozen=True, eq=False)
class _PlacedConstant:
    """A constant on a mesh, sharded as it was exported, or replicated if it had no sharding."""

    constant: Constant
    program: jax.export.Exported
    place: int
    mesh: Any

    @property
    def key(self) -> Hashable:
        return self.constant.key

    @functools.cached_property
    def value(self) -> Any:
        return put(self.constant.value, sharding_on(self.mesh, self.program, self.place))

    @property
    def operand(self) -> Any:
        return self.value


# -- placement -------------------------------------------------------------------------------------


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
    return bool(program.in_avals[place].memory_space == jax.memory.Space.Host)


def put_uncommitted(value: np.ndarray, in_host_memory: bool) -> Any:
    """Put a constant, uncommitted, in the default device's own memory or in host memory."""
    sharding = None
    if in_host_memory:
        # Not `jax.memory.Space.Host`: with that, JAX compiles a program for the mesh in context.
        [device] = put(np.empty(0)).devices()
        sharding = SingleDeviceSharding(device, memory_kind="pinned_host")
    return jax_internals.uncommitted(put(value, sharding))
