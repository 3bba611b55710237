"""`jax.export` for functions of `engine.jit`, name for name, and exports that do not inline.

A plain export is a `jax.export.Exported` and is serialized in JAX's own format. With
`hoist_constants=True` it is a `HoistedExport`, which has the same attributes and keeps the
constants beside the module.

Source: `jax.export`; JAX's "Exporting and serializing staged-out computations".
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.export import DisabledSafetyCheck as DisabledSafetyCheck
from jax.export import Exported as Exported
from jax.export import SymbolicScope as SymbolicScope
from jax.export import default_export_platform as default_export_platform
from jax.export import is_symbolic_dim as is_symbolic_dim
from jax.export import (
    maximum_supported_calling_convention_version as maximum_supported_calling_convention_version,
)
from jax.export import (
    minimum_supported_calling_convention_version as minimum_supported_calling_convention_version,
)
from jax.export import register_namedtuple_serialization as register_namedtuple_serialization
from jax.export import register_pytree_node_serialization as register_pytree_node_serialization
from jax.export import symbolic_args_specs as symbolic_args_specs
from jax.export import symbolic_shape as symbolic_shape

from engine import export_adapter, jax_internals
from engine.api import jit
from engine.artifacts import container, export_parsing, reader
from engine.artifacts.container import ContainerError as ContainerError
from engine.artifacts.hoisted_export import HoistedExport as HoistedExport
from engine.artifacts.hoisted_export import inputs_as_arguments
from engine.artifacts.reader import Replacements
from engine.configuration.parsing import Side
from engine.configuration.settings import (
    constant_policy,
    embedded_constants_max_bytes,
    strict_placement,
)
from engine.tracing import standing_alone


def __getattr__(name: str) -> Any:
    """Return a public name that only later versions have: `symbolic_dim_bounds` (jax 0.11.2)."""
    if name in jax.export.__all__:
        return getattr(jax.export, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Read at import, so that a user may replace it: `jax.export.export = engine.export.export`.
_jax_export: Any = jax.export.export


@jax_internals.api_boundary
def export(
    fun_jit: Any,
    *,
    platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
    hoist_constants: bool = False,
) -> Callable[..., Any]:
    """Return a function that exports `fun_jit`, a result of `engine.jit`, for given arguments.

    `platforms` ("cpu", "cuda", "rocm", "tpu") and `disabled_checks` mean the same as for
    `jax.export.export`. The arguments of the returned function may be arrays or
    `jax.ShapeDtypeStruct`s, with dimension variables in their shapes. The export has the function's
    side. Without `hoist_constants` both sides inline the captured arrays, and the result is a
    `jax.export.Exported`. With it the simplified side makes them inputs of the module, and the
    result is a `HoistedExport`.

    Raises ValueError where `fun_jit` is no result of `engine.jit`, and for a function of the legacy
    side with `hoist_constants`; also the errors of `jax.export.export`.

    Example::

        exported = engine.export.export(engine.jit(f))(jax.ShapeDtypeStruct((8,), "float32"))
        blob = exported.serialize(vjp_order=1)

    Source: `jax.export.export`.
    """
    if not isinstance(fun_jit, jax.stages.Wrapped):
        raise ValueError(
            f"Function to be exported must be the result of `engine.jit` but is: {fun_jit}"
        )

    def do_export(*args: Any, **kwargs: Any) -> Any:
        function = export_adapter.ExportAdapter(fun_jit, hoist_constants)
        to_jax = _jax_export(function, platforms=platforms, disabled_checks=disabled_checks)
        # The export of a derivative may be requested while another program is traced.
        with standing_alone():
            exported = to_jax(*args, **kwargs)
        closed_jaxpr = function.traced.lojax.jaxpr
        side, choices = function.traced.side, function.traced.fun_name.choices
        embed_threshold, strict = embedded_constants_max_bytes.value, strict_placement.value

        def vjp_of(primal: Any) -> Any:
            with (
                embedded_constants_max_bytes(embed_threshold),
                strict_placement(strict),
                constant_policy(choices.policy),
            ):
                return _export_vjp(closed_jaxpr, primal, side, choices.deduplicate, hoist_constants)

        if not hoist_constants:
            return dataclasses.replace(exported, _get_vjp=vjp_of)
        return HoistedExport(inputs_as_arguments(exported), function.constants, vjp_of)

    return do_export


def _export_vjp(closed_jaxpr: Any, primal: Any, side: Side, deduplicate: int, hoist: bool) -> Any:
    """Export the reverse derivative of `primal`, the export of `closed_jaxpr`, in the same way."""
    fun, options, avals = export_adapter.derivative(closed_jaxpr, primal)
    jitted = jit(fun, constants=side, deduplicate_constants=deduplicate, **options)
    return export(
        jitted,
        platforms=primal.platforms,
        disabled_checks=primal.disabled_safety_checks,
        hoist_constants=hoist,
    )(*avals)


def deserialize(
    blob: bytes | bytearray | memoryview, *, constants: Replacements | None = None, mesh: Any = None
) -> Exported | HoistedExport:
    """Read the result of `serialize`, of a plain or of a hoisted export.

    `constants` and `mesh` are for hoisted exports; see `load`. A `bytearray` or `memoryview` is
    copied, because it could be written to; constants in `bytes` are used in place.

    JAX reads plain exports. Its format has no checksums, so damage within the module shows only
    when the export is called. Raises ContainerError (a ValueError) for a damaged hoisted export and
    for bytes that JAX cannot read, and ValueError for `constants` or `mesh` with a plain export.

    Example::

        exported = engine.export.deserialize(blob)

    Source: `jax.export.deserialize`.
    """
    blob = blob if isinstance(blob, bytes) else bytes(memoryview(blob))
    if container.looks_like_a_container(blob):
        return reader.read(container.parse(memoryview(blob)), constants, mesh)
    plain = export_parsing.parsed(blob, "what was given, no hoisted export,")
    if constants is not None or mesh is not None:
        raise ValueError("a plain export contains its constants: none can be replaced or placed")
    return plain


def load(
    path: str | os.PathLike[str], *, constants: Replacements | None = None, mesh: Any = None
) -> HoistedExport:
    """Open the file of a hoisted export; its constants are mapped, and read when first used.

    `constants` replaces the constants of the file: all, as a sequence, or some, as a mapping from
    their numbers (`constparity export inspect` lists them) to arrays of the same shape, dtype and
    sharding. NumPy arrays are copied. `mesh` puts the constants on its devices, with the shardings
    that they were exported with; otherwise they follow the arguments of each call. Nobody may write
    to the file while it is in use; `save` never does.

    The file is checked for damage, not for malice: call a stranger's export only if you would run
    the stranger's programs.

    Raises OSError as `open` does, ContainerError (a ValueError) for a file that is damaged or is no
    hoisted export, and ValueError for constants that do not fit.

    Example::

        y = engine.export.load("f.safetensors").call(x)
        z = engine.export.load("f.safetensors", constants={0: new_weights}).call(x)
    """
    return reader.read(container.parse(container.mapped(path)), constants, mesh)
