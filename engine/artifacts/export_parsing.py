"""Parse the bytes of an export of JAX, with errors that say what to do."""

from __future__ import annotations

import struct

import jax

from engine.artifacts.container import ContainerError

# The errors that JAX's parser raises for bytes that are no export (jax 0.9.2 and 0.10.2):
# flatbuffers reads beyond the end or finds no number, or a look-up in JAX fails.
_NO_EXPORT = (
    struct.error,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    NotImplementedError,
    RecursionError,
    OverflowError,
)
_UNREGISTERED = "Cannot deserialize a PyTreeDef containing an unregistered type"


def parsed(data: bytes | bytearray | memoryview, what: str) -> jax.export.Exported:
    """Have JAX parse the bytes of an export; `what` names them in errors.

    Raises ContainerError, with JAX's reason, for bytes that JAX cannot read, and ValueError for a
    node type that is not registered in this process. JAX reads no file and runs nothing here, so
    its errors can only be about the bytes.
    """
    try:
        # A copy as `bytes`, which the caller cannot change: JAX parses a derivative only on demand.
        # It accepts bytes as well as the bytearray of its annotation.
        return jax.export.deserialize(bytes(data))  # type: ignore[arg-type]
    except _NO_EXPORT as error:
        if _UNREGISTERED in str(error):
            raise ValueError(
                f"{what} has nodes of a type that is not registered in this process. Register it "
                "as its writer did, with engine.export.register_namedtuple_serialization or "
                f"engine.export.register_pytree_node_serialization ({error})"
            ) from error
        raise ContainerError(
            f"{what} cannot be read as an export by this JAX, {jax.__version__} "
            f"({type(error).__name__}: {error}): damaged, or made by another program or version; "
            "export again"
        ) from error
