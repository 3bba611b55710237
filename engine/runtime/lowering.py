"""From a traced program to a lowered one: plan it, get its const args, and have JAX lower it.

The pipeline decides what becomes a const arg; this file does what both pipelines share.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import jax

from engine import jax_internals
from engine.configuration.choices import NO_CHOICES, Choices
from engine.configuration.parsing import Side
from engine.configuration.settings import embedded_constants_max_bytes, strict_placement
from engine.ir.captured_constants import warn_of_large_constants
from engine.ir.jaxprs import ClosedJaxpr
from engine.pipeline import LoweringPlan, Pipeline
from engine.runtime.executable_cache import as_lowered_first
from engine.runtime.execution import run

# The plans of each traced program. JAX caches lowerings by the identity of the planned program, so
# a new plan for each `lower` would compile again. Weak, so that JAX alone keeps a program alive.
_PlanKey = tuple[Side, int, bool, Choices]
_plans: weakref.WeakKeyDictionary[ClosedJaxpr, dict[_PlanKey, LoweringPlan]] = (
    weakref.WeakKeyDictionary()
)


def plan_of(
    pipeline: Pipeline, closed_jaxpr: ClosedJaxpr, choices: Choices, *, hoist: bool = True
) -> LoweringPlan:
    """Plan a program in a pipeline, once for each combination of choices and embed threshold.

    The threshold is read now; `choices` are the program's, from when it was traced.
    """
    embed_threshold = embedded_constants_max_bytes.value
    plans = _plans.setdefault(closed_jaxpr, {})
    key = pipeline.side, embed_threshold, hoist, choices
    if key not in plans:
        plan = pipeline.plan(closed_jaxpr, embed_threshold, hoist, choices)
        if plan.closed_jaxpr is closed_jaxpr:
            return plan  # cheap to make; in the table it would keep its own key alive
        # `setdefault` gives one plan, and so one executable, to choices that differ in nothing that
        # the plan depends on, and to two threads.
        plan = plans.setdefault((pipeline.side, embed_threshold, hoist, plan.choices), plan)
        plans.setdefault(key, plan)
    return plans[key]


def lower_plan(
    pipeline: Pipeline, plan: LoweringPlan, types: list[Any], params: dict[str, Any], **options: Any
) -> jax_internals.Computation:
    """Have JAX lower a plan: a program that takes the const args, then the user's arguments.

    `types` are JAX's types of the arguments, `params` the params of the jit equation, `options`
    are those of `jax_internals.lower`. Where the pipeline has no const args for the plan, the
    program is planned again with `plan.otherwise`.
    """
    donated = _donated_avals(types, params, options.get("lowering_parameters"))
    may_run = options.get("lowering_platforms") is None
    request = _Request(pipeline, types, params, donated, may_run)
    const_args = pipeline.const_args(plan, request)
    if const_args is None:
        assert plan.otherwise is not None
        plan = plan_of(pipeline, params["jaxpr"], plan.otherwise)
        const_args = pipeline.const_args(plan, request)
        assert const_args is not None
    warn_of_large_constants(params["jaxpr"])
    return _lower(pipeline, plan, const_args, types, params, **options)


def lower_traced(
    pipeline: Pipeline, plan: LoweringPlan, lojax: Any, **options: Any
) -> jax_internals.Computation:
    """Lower a plan for the arguments of JAX's traced stage `lojax`; `options` as for `lower_plan`.

    Raises ValueError for incompatible devices, as `jax.jit` does.
    """
    types, params = jax_internals.argument_types_of(lojax), jax_internals.params_of(lojax)
    try:
        return lower_plan(pipeline, plan, types, params, **options)
    except jax_internals.PlacementError as error:
        names = jax_internals.argument_names(lojax.jaxpr)
        raise jax_internals.with_arguments(error, lojax.fun_name, types, names, params) from None


def _donated_avals(types: list[Any], params: dict[str, Any], lowering_parameters: Any) -> list[Any]:
    if True not in params["donated_invars"]:
        return []
    if lowering_parameters is not None and lowering_parameters.for_export:
        return []  # callers of an export donate nothing
    return [
        type_.aval
        for type_, is_donated in zip(types, params["donated_invars"], strict=True)
        if is_donated
    ]


def _lower(
    pipeline: Pipeline,
    plan: LoweringPlan,
    const_args: tuple[Any, ...],
    types: list[Any],
    params: dict[str, Any],
    **options: Any,
) -> jax_internals.Computation:
    closed_jaxpr = plan.closed_jaxpr
    # Where JAX hoists constants itself, it takes them from the program that it lowers: it must get
    # this program, not an equal one.
    if (
        plan.const_args
        and not plan.jax_hoists_the_rest
        and options.get("lowering_parameters") is None
    ):
        closed_jaxpr = as_lowered_first(closed_jaxpr, plan.num_const_args)
    params = jax_internals.const_operands(params, len(const_args)) | {"jaxpr": closed_jaxpr}
    hoisted = jax_internals.Hoisted(
        const_args,
        pipeline.arrays_are_literals,
        plan.says_hoisted,
        plan.leaves_arrays,
        embedded_constants_max_bytes.value,
        follow_arguments=not strict_placement.value,
    )
    return jax_internals.lower(types, params, hoisted, **options)


class _Request(NamedTuple):
    """A request to a pipeline for a lowering's const args: a `ConstArgsRequest`.

    A tuple that computes what it is asked for: most requests are asked for nothing.
    """

    pipeline: Pipeline
    types: list[Any]
    params: dict[str, Any]
    donated: Sequence[Any]
    may_run: bool

    @property
    def circumstances(self) -> Hashable:
        return self.params["ctx_mesh"], self.params["compiler_options_kvs"]

    def find_device(self) -> jax.Device | None:
        return jax_internals.computing_device(self.types, self.params) if self.may_run else None

    def plan_of(self, closed_jaxpr: ClosedJaxpr) -> LoweringPlan:
        return plan_of(self.pipeline, closed_jaxpr, NO_CHOICES)

    def run(
        self, closed_jaxpr: ClosedJaxpr, device: jax.Device
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        inner_request = self._replace(types=[], may_run=False)
        name = f"{self.params['name']}_preamble"
        params = jax_internals.without_arguments(self.params, closed_jaxpr, name)
        # Only the results of the user's program are checked for NaN; a preamble's may contain some.
        with jax.default_device(device), jax.debug_nans(False), jax.debug_infs(False):
            plan = self.plan_of(closed_jaxpr)
            const_args = self.pipeline.const_args(plan, inner_request)
            assert const_args is not None
            computation = _lower(self.pipeline, plan, const_args, [], params)
            results, _, placed = run(computation, [], plan=None)  # it runs once
        return results, placed
