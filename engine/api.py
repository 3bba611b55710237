"""`engine.jit` and `engine.make_jaxpr`: how a user's function enters a pipeline.

A jitted function is jaxlib's own dispatcher with a cache miss of ours, so the second call of a
function runs no Python: the const args lie in the dispatcher's table. Everything that does not
concern constants (static and donated arguments, shardings, names) is parsed by JAX itself.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax

from engine import jax_internals
from engine.configuration.choices import choices_now
from engine.configuration.parsing import (
    SIDES,
    ConstantPolicy,
    Precompute,
    Side,
    parse_deduplicate,
    parse_policy,
    parse_precompute,
    parse_side,
)
from engine.configuration.policy_table import PolicyMapping
from engine.configuration.trace_side import side_now, tracing_for
from engine.ir.jaxprs import ClosedJaxpr
from engine.ir.snapshots import snapshot, while_tracing
from engine.pipeline import LoweringPlan, Pipeline
from engine.runtime.execution import run
from engine.runtime.lowering import lower_plan, plan_of
from engine.stages import Traced

# Taken once, so that a user may put the engine's in its place.
_jax_make_jaxpr: Any = jax.make_jaxpr

_call_caches = {constants: jax_internals.CallCache() for constants in (*SIDES, None)}


def pipeline_of(side: Side) -> Pipeline:
    """The pipeline of a side. Imported here, because the pipelines stand on the engine's floor."""
    if side == "legacy":
        from legacy_closedjaxpr.pipeline import PIPELINE
    else:
        from simplified_consts.pipeline import PIPELINE
    return PIPELINE


class _NotGiven:
    """Stands for the function where `jit` is given options alone; None would be a mistake."""

    def __repr__(self) -> str:
        return "<not given>"


_NOT_GIVEN = _NotGiven()


@jax_internals.api_boundary
def jit(
    fun: Callable | _NotGiven = _NOT_GIVEN,
    /,
    *,
    constants: Side | None = None,
    constant_policy: ConstantPolicy | PolicyMapping | None = None,
    precompute_constants: Precompute | None = None,
    deduplicate_constants: bool | int | None = None,
    **options: Any,
) -> Any:
    """Compile a function with XLA, handling the arrays that it captures as `constants` says.

    A drop-in for `jax.jit`, with the same keywords (`static_argnums`, `donate_argnums`,
    `in_shardings`, ...), as a call and as a decorator with and without arguments. `constants` is
    `"legacy"` (captured arrays are inlined into the HLO), `"simplified"` (they become const args)
    or None: the flag `engine.use_simplified_constants` decides when the function is traced. A
    function that is called while another one of the engine is traced takes that one's side.

    `constant_policy`, a function or a table, decides array by array what the simplified pipeline
    inlines and hoists (see `engine.constant_policy`); None: the setting of that name decides. In
    the legacy pipeline it has no effect.

    `precompute_constants` is `"auto"` where work on captured arrays alone is to be done once by the
    simplified pipeline, `"off"` where at every call (see `engine.precompute_constants`); None: the
    setting of that name decides. In the legacy pipeline, XLA does it while it compiles.

    `deduplicate_constants` lets captured arrays of equal value be one const arg of the simplified
    pipeline: True, False, or up to how many bytes (see `engine.deduplicate_constants`); None: the
    setting of that name decides.

    The result has the methods of a `jax.jit` function: `trace`, `lower`, `eval_shape`,
    `clear_cache`.

    Raises ValueError for other values of these keywords, and what `jax.jit` raises for its own.

    Example::

        table = jnp.arange(1024.)

        @engine.jit(constants="simplified")
        def lookup(i):
            return table[i]

    Source: `jax.jit`; the constants note (seed 000).
    """
    constants = parse_side(constants)
    own_policy = parse_policy(constant_policy, "constant_policy")
    own_precompute = None
    if precompute_constants is not None:
        own_precompute = parse_precompute(precompute_constants, "precompute_constants")
    own_deduplicate = None
    if deduplicate_constants is not None:
        own_deduplicate = parse_deduplicate(deduplicate_constants, "deduplicate_constants")
    own = own_policy, own_precompute, own_deduplicate
    if isinstance(fun, _NotGiven):
        jax_internals.stock_jit(**options)  # a misspelled option fails here, where it was written
        return functools.partial(
            jit,
            constants=constants,
            constant_policy=own_policy,  # of a table: as it is now
            precompute_constants=precompute_constants,
            deduplicate_constants=deduplicate_constants,
            **options,
        )
    jit_info = jax_internals.jit_info(fun, options)  # JAX validates both, with its own errors

    def cache_miss(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        jax_internals.check_tracing_is_allowed(jit_info)
        pipeline, program, operands = _stage(fun, jit_info, constants, own, args, kwargs)
        with jax_internals.call_errors(fun, program, operands, (args, kwargs)):
            return *_call(pipeline, program, operands), False

    def trace(*args: Any, **kwargs: Any) -> Traced:
        pipeline, program, operands = _stage(fun, jit_info, constants, own, args, kwargs)
        return Traced(pipeline, jax_internals.argument_types(operands), program)

    return _call_caches[constants].dispatcher(
        fun, jit_info, own, jax_internals.api_boundary(cache_miss), trace
    )


def _signature() -> inspect.Signature:
    """That of `jax.jit` and our keywords: what `help` and editors show."""
    keywords = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in (
            "constants",
            "constant_policy",
            "precompute_constants",
            "deduplicate_constants",
        )
    ]
    of_jax = inspect.signature(jax_internals.stock_jit)
    return of_jax.replace(parameters=[*of_jax.parameters.values(), *keywords])


jit.__signature__ = _signature()  # type: ignore[attr-defined]


def make_jaxpr(
    fun: Callable,
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
    *,
    constants: Side | None = None,
) -> Callable[..., Any]:
    """Return a function that traces `fun` and returns its ClosedJaxpr, in the form of a side.

    A drop-in for `jax.make_jaxpr`. The arguments of the returned function may be arrays or
    `jax.ShapeDtypeStruct`s. With `return_shape` it returns a pair: the ClosedJaxpr, and a tree of
    `jax.ShapeDtypeStruct`.

    Raises ValueError for a `constants` other than `"legacy"`, `"simplified"` or None.

    Example::

        print(engine.make_jaxpr(lambda x: x + table, constants="simplified")(1.))

    Source: `jax.make_jaxpr`; the jaxpr documents (seeds 002 and 004).
    """
    constants = parse_side(constants)
    make = _jax_make_jaxpr(fun, static_argnums, axis_env, return_shape)

    @functools.wraps(fun)
    def traced(*args: Any, **kwargs: Any) -> Any:
        side = side_now(constants)
        with tracing_for(side), while_tracing():
            result = make(*args, **kwargs)
        closed_jaxpr, *shape = result if return_shape else (result,)
        closed_jaxpr = snapshot(pipeline_of(side).normalize(closed_jaxpr))
        return (closed_jaxpr, *shape) if return_shape else closed_jaxpr

    traced.__name__ = f"make_jaxpr({getattr(fun, '__name__', fun)})"
    return traced


# -- staging and calling ---------------------------------------------------------------------------

# Per traced program: the program in the form of a side. JAX holds a traced program as long as its
# function lives; this table must not hold it longer.
_normalized: weakref.WeakKeyDictionary[ClosedJaxpr, dict[Side, ClosedJaxpr | None]] = (
    weakref.WeakKeyDictionary()
)


def _stage(
    fun: Callable,
    jit_info: jax_internals.JitInfo,
    constants: Side | None,
    own: tuple[ConstantPolicy | None, Precompute | None, int | None],
    args: tuple,
    kwargs: dict,
) -> tuple[Pipeline, jax_internals.PjitParams, list]:
    """Trace for the side that is in force, and give the program its form and its name."""
    side = side_now(constants)
    choices = choices_now(*own)
    pipeline = pipeline_of(side)
    with tracing_for(side), while_tracing():
        program, operands = jax_internals.infer_params(fun, jit_info, args, kwargs)
    closed_jaxpr = program.params["jaxpr"]
    forms = _normalized.setdefault(closed_jaxpr, {})
    if side not in forms:
        normal = snapshot(pipeline.normalize(closed_jaxpr))
        # A key must not be held by its value, so the common case is remembered as None.
        forms[side] = None if normal is closed_jaxpr else normal
    params = {
        **program.params,
        "jaxpr": forms[side] or closed_jaxpr,
        "name": jax_internals.ProgramName(program.params["name"], side, choices),
    }
    return pipeline, program._replace(params=params), operands


def _call(pipeline: Pipeline, program: jax_internals.PjitParams, operands: list) -> tuple[Any, Any]:
    """Run a staged program, or apply it to tracers: the results and the dispatcher's data."""
    params = program.params
    closed_jaxpr = params["jaxpr"]
    if closed_jaxpr.is_high or not jax_internals.outside_of_transformations():
        # Rules for derivatives are functions of the user, and traced here.
        with tracing_for(pipeline.side), while_tracing():
            bound = jax_internals.bind_jit(operands, params)
        return jax.tree.unflatten(program.out_tree, bound), None
    operands = jax_internals.check_arguments(operands)
    plan = plan_of(pipeline, closed_jaxpr, params["name"].choices)
    outputs, executable, const_args = _execute(pipeline, plan, operands, params)
    data = jax_internals.fastpath_data(
        executable, program.out_tree, operands, outputs, plan.closed_jaxpr, const_args
    )
    return jax.tree.unflatten(program.out_tree, outputs), data


def _execute(
    pipeline: Pipeline, plan: LoweringPlan, operands: Sequence[Any], params: dict
) -> tuple[Sequence[Any], jax_internals.Executable, Sequence[Any]]:
    types = jax_internals.argument_types(operands)
    computation = lower_plan(pipeline, plan, types, params)
    jax_internals.count_cache_miss()
    return run(computation, operands, plan)


def execute_derived(*operands: Any, **params: Any) -> Sequence[Any]:
    """Run a program that a transformation of JAX derived from one of ours."""
    side = params["name"].side
    pipeline = pipeline_of(side)

    def cache_miss(*_: Any, **__: Any) -> tuple[Any, Any, bool]:
        plan = plan_of(pipeline, params["jaxpr"], params["name"].choices)
        types = jax_internals.argument_types(operands)
        names = jax_internals.argument_names(params["jaxpr"])
        with jax_internals.placement_errors(params["name"], types, names):
            outputs, executable, const_args = _execute(pipeline, plan, operands, params)
        data = jax_internals.fastpath_data(
            executable,
            jax.tree.structure(outputs),
            operands,
            outputs,
            plan.closed_jaxpr,
            const_args,
        )
        return outputs, data, False

    return _call_caches[side].call_derived(params, operands, cache_miss)
