"""The manifest of an exported file: a description of its programs and constants, fully checked.

`docs/use/export.md` describes the format.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from engine.artifacts import container as containers
from engine.artifacts.container import Container, ContainerError, Tensor

FORMAT = "constparity.export"
FORMAT_VERSION = "1"


@dataclass(frozen=True, eq=False)
class Manifest:
    """The description of a file's programs and constants, after its types were checked.

    - `versions`: the versions of JAX and jaxlib that wrote the file.
    - `programs`, one for each order of derivatives: `tensor`, `sha256`, `constants` (their
      numbers), and, for people, `function`, `inputs`, `outputs`, `platforms`, `devices`,
      `calling_convention_version`.
    - `constants`: `tensor`, `dtype`, `shape`, `key_impl` (the generator of a typed PRNG key).
    - `crc32`: the checksum of each tensor that holds a constant.
    """

    versions: dict[str, str]
    programs: list[dict[str, Any]]
    constants: list[dict[str, Any]]
    crc32: dict[str, int]

    @classmethod
    def of(cls, container: Container) -> Manifest:
        """Read and check the manifest of a container.

        Raises ContainerError for a file of another format or version, and for a manifest that does
        not fit the file.
        """
        metadata = container.metadata
        if metadata.get("format") != FORMAT:
            raise ContainerError(
                f"the file is of format {metadata.get('format')!r}, not {FORMAT!r}: it is no "
                "hoisted export"
            )
        if metadata.get("format_version") != FORMAT_VERSION:
            raise ContainerError(
                f"the file has version {metadata.get('format_version')!r} of the format, and this "
                f"release reads version {FORMAT_VERSION!r}: export again, or use the release that "
                "wrote it"
            )
        try:
            found = json.loads(metadata.get("manifest", ""))
        except (ValueError, RecursionError) as error:
            raise ContainerError(f"the manifest of the file is not JSON ({error})") from error
        if not fits(found, _MANIFEST) or not found["programs"]:
            raise ContainerError("the manifest of the file lacks entries or has wrong ones")
        manifest = cls(*(found[name] for name in _MANIFEST))
        manifest._check_references(container)
        return manifest

    def _check_references(self, container: Container) -> None:
        for program in self.programs:
            _tensor_of(container, program["tensor"], "a program")
            for number in program["constants"]:
                if not 0 <= number < len(self.constants):
                    raise ContainerError(
                        f"{program['tensor']} needs constant {number}, and the file has "
                        f"{len(self.constants)}"
                    )
        for number, entry in enumerate(self.constants):
            tensor = _tensor_of(container, entry["tensor"], f"constant {number}")
            dtype = stored_dtype(entry["dtype"])
            shape = tuple(entry["shape"])
            name = containers.format_dtype(dtype)
            as_bytes = name == "U8" and dtype != np.uint8
            if (tensor.dtype, tensor.shape) != (
                name,
                (*shape, dtype.itemsize) if as_bytes else shape,
            ):
                raise ContainerError(
                    f"constant {number} should be {dtype} of shape {shape}, and the file has "
                    f"{tensor.dtype} of shape {tensor.shape} for it"
                )
            size = _KEY_WORDS.get(entry["key_impl"])
            if entry["key_impl"] is not None and (size, np.dtype("uint32")) != (
                shape[-1] if shape else None,
                dtype,
            ):
                raise ContainerError(
                    f"constant {number} cannot hold PRNG keys of {entry['key_impl']!r}"
                )
            if entry["tensor"] not in self.crc32:
                raise ContainerError(f"the file has no checksum of constant {number}")


_MANIFEST: dict[str, Any] = {
    "versions": {str: str},
    "programs": [
        {
            "tensor": str, "sha256": str, "constants": [int], "function": str, "inputs": [str],
            "outputs": [str], "platforms": [str], "devices": int,
            "calling_convention_version": int,
        }
    ],
    "constants": [{"tensor": str, "dtype": str, "shape": [int], "key_impl": (str, type(None))}],
    "crc32": {str: int},
}  # fmt: skip


def described(program: jax.export.Exported, num_constants: int) -> dict[str, Any]:
    """Describe a program to people, as a part of a manifest; a reader compares it, too."""
    return {
        "function": program.fun_name,
        "inputs": [spelled(aval) for aval in program.in_avals[num_constants:]],
        "outputs": [spelled(aval) for aval in program.out_avals],
        "platforms": list(program.platforms),
        "devices": program.nr_devices,
        "calling_convention_version": program.calling_convention_version,
    }


def spelled(aval: Any) -> str:
    """Spell dtype and shape of an aval, as in float32[8,n]; JAX's spelling varies by version."""
    dtype = "float0" if aval.dtype == jax.dtypes.float0 else str(aval.dtype)
    return f"{dtype}[{','.join(map(str, aval.shape))}]"


# The PRNG generators that `jax.export` knows, and the number of uint32 words in a key of each.
_KEY_WORDS = {"threefry2x32": 2, "rbg": 4, "unsafe_rbg": 4}


def fits(value: Any, form: Any) -> bool:
    """Say whether a value parsed from JSON has a form.

    A form is a type or a tuple of types; `[form]`, a list of such items; `{str: form}`, a map to
    such values; or a dict from all names of an object to their forms.

    Example::

        assert fits({"shape": [8, 8]}, {"shape": [int]})
    """
    if isinstance(form, list):
        return isinstance(value, list) and all(fits(item, form[0]) for item in value)
    if isinstance(form, dict) and str in form:
        return isinstance(value, dict) and all(fits(item, form[str]) for item in value.values())
    if isinstance(form, dict):
        return (
            isinstance(value, dict)
            and set(value) == set(form)
            and all(fits(value[name], named_form) for name, named_form in form.items())
        )
    if form is bool:
        return isinstance(value, bool)
    return isinstance(value, form) and not isinstance(value, bool)


def _tensor_of(container: Container, name: str, whose: str) -> Tensor:
    if name not in container.tensors:
        raise ContainerError(f"the file lacks {name}, {whose}")
    return container.tensors[name]


# The dtypes that `jax.export` can encode (jax 0.10.2). A file must name one of these: NumPy's dtype
# parser never gets text from a file.
_DTYPES = frozenset(
    np.dtype(getattr(jnp, name)).name
    for name in (
        "bool_", "int4", "int8", "int16", "int32", "int64", "uint4", "uint8",
        "uint16", "uint32", "uint64", "float16", "bfloat16", "float32", "float64", "complex64",
        "complex128", "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3fn",
        "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2", "float8_e5m2fnuz",
        "float8_e8m0fnu",
    )
    if hasattr(jnp, name)
)  # fmt: skip


def stored_dtype(name: str) -> np.dtype:
    """Return the dtype of that name; raise ContainerError if no file can hold constants of it."""
    if name not in _DTYPES:
        raise ContainerError(
            f"constants of dtype {name} cannot be kept in a file, since jax.export cannot encode "
            "that dtype; convert the array before it is captured"
        )
    return jnp.dtype(name)
