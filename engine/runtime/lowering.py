"""From a traced program to a lowered one: its plan, its const args, and JAX's lowering of them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import jax

from engine import jax_internals
from engine.configuration.choices import NO_CHOICES, Choices
from engine.configuration.parsing import Side
from engine.configuration.settings import embedded_constants_max_bytes, strict_placement
from engine.ir.captured_constants import warn_of_large_constants
from engine.ir.jaxprs import ClosedJaxpr
from engine.pipeline import ConstArgsRequest, LoweringPlan, Pipeline
from engine.runtime.executable_cache import as_lowered_first
from engine.runtime.execution import run

# Programs are lowered again for other placements; their constants are reported once.
_reported: weakref.WeakSet[ClosedJaxpr] = weakref.WeakSet()

# Per traced program. JAX caches what it lowers by the identity of a program, so planning anew for
# each `lower` would compile anew, too. The table must not hold a program longer than JAX does.
_PlanKey = tuple[Side, int, bool, Choices]
_plans: weakref.WeakKeyDictionary[ClosedJaxpr, dict[_PlanKey, LoweringPlan]] = (
    weakref.WeakKeyDictionary()
)


def plan_of(
    pipeline: Pipeline,
    closed_jaxpr: ClosedJaxpr,
    choices: Choices,
    *,
    hoist: bool = True,
) -> LoweringPlan:
    """The plan of a program on a side, under its choices and the embed threshold; made once.

    The threshold is the one in force now; the choices are those that the program was staged with.
    """
    max_bytes = embedded_constants_max_bytes.value
    plans = _plans.setdefault(closed_jaxpr, {})
    key = pipeline.side, max_bytes, hoist, choices
    if key not in plans:
        plan = pipeline.plan(closed_jaxpr, max_bytes, hoist, choices)
        if plan.closed_jaxpr is closed_jaxpr:
            return plan  # cheap to make, and would keep its own key alive
        # Choices that the plan does not depend on lead to one plan, and so to one executable; and
        # so do two threads, of which the second finds the plan of the first.
        plan = plans.setdefault((pipeline.side, max_bytes, hoist, plan.choices), plan)
        plans.setdefault(key, plan)
    return plans[key]


def lower_plan(
    pipeline: Pipeline,
    plan: LoweringPlan,
    types: list,
    params: dict,
    *,
    lowering_platforms: tuple[str, ...] | None = None,
    **options: Any,
) -> jax_internals.Computation:
    """Have JAX lower what a pipeline planned: the arguments of the user, after the const args.

    `types` and `params` are JAX's, of the arguments and of the jit equation. The program is
    replanned where the pipeline has no const args for the plan under these circumstances.
    """
    parameters = options.get("lowering_parameters")
    is_exported = parameters is not None and parameters.for_export  # who calls it donates nothing
    of_arguments = zip(types, params["donated_invars"], strict=True)
    donated = [t.aval for t, is_donated in of_arguments if is_donated and not is_exported]
    request = _request(pipeline, types, params, donated, may_run=lowering_platforms is None)
    const_args = pipeline.const_args(plan, request)
    if const_args is None:
        assert plan.otherwise is not None
        plan = plan_of(pipeline, params["jaxpr"], plan.otherwise)
        const_args = pipeline.const_args(plan, request)
        assert const_args is not None
    if params["jaxpr"] not in _reported:
        _reported.add(params["jaxpr"])
        warn_of_large_constants(params["jaxpr"])
    return _lower(
        pipeline, plan, const_args, types, params, lowering_platforms=lowering_platforms, **options
    )


def lower_traced(
    pipeline: Pipeline, plan: LoweringPlan, lo: Any, **options: Any
) -> jax_internals.Computation:
    """`lower_plan` for the arguments that JAX's traced stage `lo` has seen.

    Raises ValueError for devices that do not go together, as `jax.jit` does.
    """
    names = jax_internals.argument_names(lo.jaxpr)
    with jax_internals.placement_errors(lo.fun_name, lo._meta_tys_flat, names):
        return lower_plan(pipeline, plan, lo._meta_tys_flat, lo._params, **options)


def _lower(
    pipeline: Pipeline,
    plan: LoweringPlan,
    const_args: tuple[Any, ...],
    types: list,
    params: dict,
    *,
    lowering_platforms: tuple[str, ...] | None = None,
    **options: Any,
) -> jax_internals.Computation:
    closed_jaxpr = plan.closed_jaxpr
    # JAX takes the constants that it hoists itself from the very program that it lowers.
    if (
        plan.const_args
        and not plan.jax_hoists_the_rest
        and options.get("lowering_parameters") is None
    ):
        closed_jaxpr = as_lowered_first(closed_jaxpr, plan.num_const_args)
    params = jax_internals.const_operands(params, len(const_args)) | {"jaxpr": closed_jaxpr}
    hoisted = jax_internals.Hoisted(
        const_args,
        pipeline.side == "simplified",
        plan.jax_hoists_the_rest,
        embedded_constants_max_bytes.value,
        follow_arguments=not strict_placement.value,
    )
    return jax_internals.lower(
        types, params, hoisted, lowering_platforms=lowering_platforms, **options
    )


def _request(
    pipeline: Pipeline, types: list, params: dict, donated: Sequence[Any], *, may_run: bool
) -> ConstArgsRequest:
    """What a pipeline may ask of the runtime while it provides the const args of a lowering."""

    def plan_without_choices(closed_jaxpr: ClosedJaxpr) -> LoweringPlan:
        return plan_of(pipeline, closed_jaxpr, NO_CHOICES)

    def run_beside(
        closed_jaxpr: ClosedJaxpr, device: jax.Device
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        # A request of its own: one that refers to itself would wait for the garbage collector.
        alone = _request(pipeline, [], params, donated, may_run=False)
        own = jax_internals.without_arguments(params, closed_jaxpr, f"{params['name']}_preamble")
        # Whether NaN is an error is asked of what the program returns, not of every result here.
        with jax.default_device(device), jax.debug_nans(False), jax.debug_infs(False):
            plan = plan_without_choices(closed_jaxpr)
            const_args = pipeline.const_args(plan, alone)
            assert const_args is not None
            computation = _lower(pipeline, plan, const_args, [], own)
            results, _, placed = run(computation, [], plan=None)  # it runs once
        return results, placed

    return ConstArgsRequest(
        donated=donated,
        circumstances=(params["ctx_mesh"], params["compiler_options_kvs"]),
        find_device=lambda: jax_internals.computing_device(types, params) if may_run else None,
        plan_of=plan_without_choices,
        run=run_beside,
    )
