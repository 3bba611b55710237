"""Writing the file of a hoisted export: its programs and its constants in one container.

A file holds one program for each order of derivatives, each an export in JAX's own format whose
first argument is a tuple of constants, and the constants. A constant is told by the identity of its
array; two of equal content are two constants, which can be replaced one by one, and share their
bytes.
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
    """A constant of an exported program: in memory, or in a file and not yet read."""

    @property
    def key(self) -> Hashable:
        """What makes two constants the same: the identity of the array, or its place in a file."""

    @property
    def value(self) -> Any:
        """The array, as the user knows it."""

    @property
    def operand(self) -> Any:
        """The array as it is passed to the program."""


def pieces(
    programs: Sequence[tuple[jax.export.Exported, Sequence[Constant]]],
) -> list[bytes | memoryview]:
    """The bytes of the file of a program and of its derivatives, each with its constants.

    The bytes of the constants are not copied. Raises ValueError for a constant that cannot be
    written: one of which this process holds a part only, or a PRNG key of a generator that the user
    made.
    """
    numbers: dict[Hashable, int] = {}
    entries: list[dict[str, Any]] = []
    stored: list[Tensor] = []
    by_content: dict[tuple, list[Tensor]] = {}
    blobs, of_programs = [], []
    for order, (program, held) in enumerate(programs):
        for constant in held:
            if constant.key in numbers:
                continue
            i = numbers[constant.key] = len(numbers)
            array, entry = _stored_form(constant.value, i)
            tensor = container.as_tensor(f"constant.{i}", array)
            alike = by_content.setdefault((tensor.dtype, tensor.shape, zlib.crc32(tensor.data)), [])
            same = next((t for t in alike if t.data == tensor.data), None)
            if same is None:
                alike.append(tensor)
                stored.append(tensor)
            entries.append({"tensor": (same or tensor).name, **entry})
        blob = program.serialize()
        blobs.append(container.raw_tensor(f"program.{order}", blob))
        of_programs.append(
            {
                "tensor": f"program.{order}",
                "sha256": hashlib.sha256(blob).hexdigest(),
                "constants": [numbers[constant.key] for constant in held],
                **described(program, len(held)),
            }
        )
    manifest = {
        "versions": {"jax": jax.__version__, "jaxlib": jax_internals.JAXLIB_VERSION},
        "programs": of_programs,
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
    """The numbers of a constant, and what the manifest says of it."""
    impl = None
    if isinstance(value, jax.Array):
        if not value.is_fully_addressable:
            raise ValueError(
                f"constant {i} ({value.aval.str_short()}) lies on devices of other processes; "
                "gather it before it is captured, or export on one process"
            )
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
            impl = jax.random.key_impl(value)
            if not isinstance(impl, str):
                raise ValueError(
                    f"constant {i} is a PRNG key of {impl}, which a reader could not know; pass it "
                    "as an argument"
                )
            value = jax.random.key_data(value)
    array = np.asarray(value)
    stored_dtype(array.dtype.name)
    return array, {"dtype": array.dtype.name, "shape": list(array.shape), "key_impl": impl}
