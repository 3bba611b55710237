"""Parts of exports for which `jax.export` has no public function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._src import ad_util as _ad_util
from jax._src import dtypes, stages
from jax._src.export import _export


def argument_info(aval: Any, donated: bool = False) -> Any:
    """Make the record that a stage keeps of each argument."""
    return stages.ArgInfo(aval, donated)


def call_exported(exported: _export.Exported, operands: Sequence[Any]) -> list[Any]:
    """Apply an exported program to flat operands, without a rule for its derivative."""
    return list(_export.call_exported_p.bind(*operands, exported=exported))


def cotangent(value: Any, aval: Any) -> Any:
    """Return a cotangent as an exported derivative takes it: float0 zeros if `aval` is float0."""
    return _ad_util.zeros_like_jaxval(value) if aval.dtype == dtypes.float0 else value


def tangent_aval(aval: Any) -> Any:
    """Return the aval of the cotangent of an output; float0 where it has no derivative."""
    return aval.to_tangent_aval()


def can_be_exported(node_type: type) -> bool:
    """Say whether a type of nodes of pytrees is registered with `jax.export`."""
    return node_type in _export.serialization_registry


def exported_shardings(exported: _export.Exported) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return input and output shardings over an export's abstract mesh; None if unspecified.

    The public `in_shardings_jax` needs a concrete mesh, and an `Exported` has none.
    """
    return exported._in_named_shardings, exported._out_named_shardings
