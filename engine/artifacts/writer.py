"""Write the file of a hoisted export: its programs and its constants in one container.

A file holds the constants and one program for each order of derivatives: an export in JAX's own
format whose first argument is a tuple of constants. The identity of its array identifies a
constant. Two arrays of equal content are two constants, which can be replaced one by one, but their
bytes are stored once.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from engine import jax_internals
from engine.artifacts import container
from engine.artifacts.container import Tensor
from engine.artifacts.manifest import FORMAT, FORMAT_VERSION, described, stored_dtype


class Constant(Protocol):
    """A constant of an exported program: in memory, or still unread in a file."""

    @property
    def key(self) -> Hashable:
        """Equal for the same constant: the identity of the array, or its number in a file."""

    @property
    def value(self) -> Any:
        """The array that the user captured or gave."""

    @property
    def operand(self) -> Any:
        """The array to pass to the program."""


def pieces(
    programs: Sequence[tuple[jax.export.Exported, Sequence[Constant]]],
) -> list[bytes | memoryview]:
    """Return the bytes of a file, in pieces: a program, its derivatives, and the constants of each.

    The bytes of the constants are not copied. Raises ValueError for a constant that cannot be
    written: an array of which this process holds only a part, or a PRNG key of a user's own
    generator.
    """
    numbers: dict[Hashable, int] = {}
    entries: list[dict[str, Any]] = []
    stored: list[Tensor] = []
    by_content: dict[tuple[Any, ...], list[Tensor]] = {}
    blobs, program_entries = [], []
    for order, (program, held) in enumerate(programs):
        for constant in held:
            if constant.key in numbers:
                continue
            i = numbers[constant.key] = len(numbers)
            array, entry = _stored_form(constant.value, i)
            tensor = container.as_tensor(f"constant.{i}", array)
            alike = by_content.setdefault((tensor.dtype, tensor.shape, zlib.crc32(tensor.data)), [])
            equal = next((t for t in alike if t.data == tensor.data), None)
            if equal is None:
                alike.append(tensor)
                stored.append(tensor)
            entries.append({"tensor": (equal or tensor).name, **entry})
        blob = program.serialize()
        blobs.append(container.raw_tensor(f"program.{order}", blob))
        program_entries.append(
            {
                "tensor": f"program.{order}",
                "sha256": hashlib.sha256(blob).hexdigest(),
                "constants": [numbers[constant.key] for constant in held],
                **described(program, len(held)),
            }
        )
    manifest = {
        "versions": {"jax": jax.__version__, "jaxlib": jax_internals.JAXLIB_VERSION},
        "programs": program_entries,
        "constants": entries,
        "crc32": {tensor.name: zlib.crc32(tensor.data) for tensor in stored},
    }
    metadata = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "manifest": json.dumps(manifest, separators=(",", ":")),
    }
    return container.chunks(metadata, [*blobs, *stored])


def _stored_form(value: Any, i: int) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the array to store for a constant, and its entry in the manifest."""
    impl = None
    if isinstance(value, jax.Array):
        if not value.is_fully_addressable:
            raise ValueError(
                f"constant {i} ({value.aval.str_short()}) is partly on devices of other processes; "
                "gather it before it is captured, or export on one process"
            )
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
            impl = jax.random.key_impl(value)
            if not isinstance(impl, str):
                raise ValueError(
                    f"constant {i} is a PRNG key of {impl}, which other processes cannot know; "
                    "pass the key as an argument"
                )
            value = jax.random.key_data(value)
    array = np.asarray(value)
    stored_dtype(array.dtype.name)
    return array, {"dtype": array.dtype.name, "shape": list(array.shape), "key_impl": impl}
