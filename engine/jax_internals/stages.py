"""What JAX's stages and exports hold of a program and have no public name for."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from jax._src import ad_util as _ad_util
from jax._src import dtypes, stages
from jax._src.export import _export


def params_of(stage: Any) -> dict[str, Any]:
    """Return the params of jit that a traced stage, or its `lojax`, is lowered with."""
    params: dict[str, Any] = stage._params
    return params


def with_jaxpr(traced: Any, jaxpr: Any) -> Any:
    """Return a copy of a traced stage that has another jaxpr of the same function."""
    copied = copy.copy(traced)
    copied._params = {**traced._params, "jaxpr": jaxpr}
    return copied


def argument_types_of(lojax: Any) -> list[Any]:
    """Return JAX's type of each argument, as `argument_types` makes them."""
    return list(lojax._meta_tys_flat)


def types_beside(stage: Any) -> tuple[Any, Any]:
    """Return the input and output types, hijax types among them, of a `lojax` or lowered stage."""
    return stage._in_types, stage._out_types


def types_of_arguments(lowered: Any) -> Any:
    """Return the avals of the arguments in `args_info`, as its tree, with those of unused ones.

    JAX's own `Lowered.in_avals` counts const args as arguments and fails on them (jax 0.10.2).
    """
    how, tree = lowered._lowering.compile_args, lowered.in_tree
    avals = how["all_args_info"].in_avals
    passed, first = iter(how["global_in_avals"]), len(avals) - tree.num_leaves
    found = [next(passed) if n in how["kept_var_idx"] else aval for n, aval in enumerate(avals)]
    return tree.unflatten(found[first:])


def lowering_of(lowered: Any) -> Any:
    """Return the `Computation` that a lowered stage was made with."""
    return lowered._lowering


def call_params(compiled: Any) -> Any:
    """Return what a compiled stage is called with: its executable, its const args, its trees."""
    return compiled._params


def replace_const_args(compiled: Any, const_args: Sequence[Any]) -> Any:
    """Have a compiled stage pass other const args; return what it is called with from now on."""
    compiled._params = compiled._params._replace(const_args=list(const_args))
    return compiled._params


# -- exports ---------------------------------------------------------------------------------------


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
