"""The equation that makes constants: a primitive of this project, in programs that are lowered.

No program that a user sees, or that JAX still transforms, has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax._src import config, core, source_info_util
from jax._src.interpreters import mlir
from jax._src.interpreters import partial_eval as _partial_eval

from engine.jax_internals.differences import dead_code_rule
from engine.jax_internals.settings import held


class Arrays(tuple[Any, ...]):
    """The arrays that an equation makes; a param of it, told apart by identity."""

    __slots__ = ()
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other


inlined_constants_p = core.Primitive("inlined_constants")
inlined_constants_p.multiple_results = True


# The same for all equations of this primitive, because its rule asks no setting. JAX marks what an
# equation returns with the metadata and the compute type that its context has, but no constant that
# it inlines by itself (jax 0.10.2 to 0.12.0.1).
with held((config.xla_metadata_context_manager, None), (config.compute_on_context_manager, None)):
    _CONTEXT = core.JaxprEqnContext()
_NOWHERE = source_info_util.new_source_info()


def inlined_constants(
    variables: Sequence[core.Var], values: Sequence[Any], *, drop_unused: bool
) -> core.JaxprEqn:
    """Make an equation that binds `variables` to constants of these `values`.

    JAX drops the constants of main that nothing reads, and inlines all others of each inner
    function (jax 0.10.2): `drop_unused` says which of the two is to happen.
    """
    return core.new_jaxpr_eqn(
        [],
        list(variables),
        inlined_constants_p,
        {"arrays": Arrays(values), "drop_unused": drop_unused},
        core.no_effects,
        _NOWHERE,
        _CONTEXT,
    )


def arrays_made_by(equation: core.JaxprEqn) -> Sequence[Any]:
    """Return the arrays that an equation of `inlined_constants` makes; none of another equation."""
    is_ours = equation.primitive is inlined_constants_p
    return equation.params["arrays"] if is_ours else ()


@inlined_constants_p.def_impl
def _impl(*, arrays: Arrays, drop_unused: bool) -> list[Any]:
    del drop_unused
    return list(arrays)


@inlined_constants_p.def_abstract_eval
def _abstract_eval(*, arrays: Arrays, drop_unused: bool) -> list[Any]:
    del drop_unused
    return [core.typeof(array) for array in arrays]


def _lower(ctx: mlir.LoweringRuleContext, *, arrays: Arrays, drop_unused: bool) -> list[Any]:
    del drop_unused
    return mlir.ir_consts(arrays, ctx.avals_out)


# A lowering that JAX caches is a function of its own, which it then inlines.
mlir.register_lowering(inlined_constants_p, _lower, cacheable=False)


def _remove_dead_code(
    used: list[bool], eqn: core.JaxprEqn
) -> tuple[list[bool], core.JaxprEqn | None]:
    if all(used) or not eqn.params["drop_unused"]:
        return [], eqn
    if not any(used):
        return [], None
    kept = [(v, a) for v, a, u in zip(eqn.outvars, eqn.params["arrays"], used, strict=True) if u]
    params = {**eqn.params, "arrays": Arrays(array for _, array in kept)}
    return [], eqn.replace(outvars=[var for var, _ in kept], params=params)


_partial_eval.dce_rules[inlined_constants_p] = dead_code_rule(_remove_dead_code)
