"""The stages of a program: Traced, Lowered, Compiled.

They are JAX's stages (`jax.stages`) with const args that are counted once: an object of these
classes is accepted wherever one of JAX's is. Each metric of a program is read off the stage that it
belongs to. The arguments that a stage describes (`args_info`, `in_avals`, `input_shardings`,
`input_formats`) are those of the user; the const args are in `const_args` and nowhere else.
"""

from __future__ import annotations

import inspect
import operator
import weakref
from collections.abc import Sequence
from typing import Any

import jax

from engine import jax_internals
from engine.configuration.settings import (
    NO_CHOICES,
    Choices,
    Side,
    embedded_constants_max_bytes,
    strict_placement,
)
from engine.ir.captured_constants import warn_of_large_constants
from engine.ir.jaxprs import ClosedJaxpr
from engine.pipeline import LoweringPlan, Pipeline
from engine.preamble import LIMITS
from engine.preamble_extraction import Preamble
from engine.runtime.device_pool import place
from engine.runtime.executable_cache import as_lowered_first, compile_shared
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

    The threshold is the one that is in force, the choices those that the program was staged with.
    """
    max_bytes = embedded_constants_max_bytes.value
    plans = _plans.setdefault(closed_jaxpr, {})
    key = pipeline.side, max_bytes, hoist, choices
    if key not in plans:
        plan = pipeline.plan(closed_jaxpr, max_bytes, hoist, choices)
        if plan.closed_jaxpr is closed_jaxpr:
            return plan  # cheap to make, and would keep its own key alive
        if plan.preamble is None and choices.precompute != "off":
            # Then it is what it would be without: one executable.
            without = pipeline.side, max_bytes, hoist, _without_preamble(choices)
            plan = plans.setdefault(without, plan)
        plans.setdefault(key, plan)  # another thread's plan stands: one program, one executable
    return plans[key]


def _without_preamble(choices: Choices) -> Choices:
    return choices._replace(precompute="off")


def lower_plan(
    pipeline: Pipeline,
    plan: LoweringPlan,
    types: list,
    params: dict,
    *,
    lowering_platforms: tuple[str, ...] | None = None,
    also_donated: Sequence[Any] = (),
    **options: Any,
) -> jax_internals.Computation:
    """Have JAX lower what a pipeline planned: the arguments of the user, after the const args.

    A preamble runs here, on the device that the program will run on. Where there is none, as for an
    abstract mesh, or where other platforms are lowered for, the program is lowered as a whole.
    `also_donated` are avals of what is donated elsewhere, and may be captured here.
    """
    parameters = options.get("lowering_parameters")
    is_exported = parameters is not None and parameters.for_export  # who calls it donates nothing
    of_arguments = zip(types, params["donated_invars"], strict=True)
    donated = [t.aval for t, is_donated in of_arguments if is_donated and not is_exported]
    donated += also_donated
    results: Sequence[Any] = ()
    if plan.preamble is not None:
        computed = None
        if lowering_platforms is None:
            computed = _precomputed(pipeline, plan.preamble, types, params, donated)
        if computed is None:
            choices = _without_preamble(params["name"].choices)
            plan = plan_of(pipeline, params["jaxpr"], choices)
        else:
            results = computed
    operands = plan.with_results(pipeline.operands(plan, donated), results)
    if params["jaxpr"] not in _reported:
        _reported.add(params["jaxpr"])
        warn_of_large_constants(params["jaxpr"])
    closed_jaxpr = plan.closed_jaxpr
    # What JAX hoists itself it takes from the very program that it lowers.
    if plan.const_args and not plan.jax_hoists_the_rest and parameters is None:
        closed_jaxpr = as_lowered_first(closed_jaxpr, plan.num_const_args)
    params = jax_internals.const_operands(params, len(operands)) | {"jaxpr": closed_jaxpr}
    hoisted = jax_internals.Hoisted(
        operands,
        pipeline.side == "simplified",
        plan.jax_hoists_the_rest,
        embedded_constants_max_bytes.value,
        follow_arguments=not strict_placement.value,
    )
    return jax_internals.lower(
        types, params, hoisted, lowering_platforms=lowering_platforms, **options
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


def _precomputed(
    pipeline: Pipeline, preamble: Preamble, types: list, params: dict, donated: Sequence[Any]
) -> Sequence[Any] | None:
    """The results of a preamble for a program, which is run once for each device and its options.

    None where there is no device to run it on, and where the results of sharded constants would be
    copied to each device.
    """
    device = jax_internals.computing_device(types, params)
    if device is None:
        return None
    strict = strict_placement.value
    key = device, strict, params["ctx_mesh"], params["compiler_options_kvs"]
    # Now, while they are there: it may run again for another device, when its arrays were donated.
    plan = plan_of(pipeline, preamble.closed_jaxpr, NO_CHOICES)
    if not any(isinstance(c, jax.Array) and c.is_deleted() for c in plan.const_args):
        pipeline.operands(plan, donated)
    return preamble.once(
        key, lambda: _run(pipeline, preamble.closed_jaxpr, device, strict, params, donated)
    )


def _run(
    pipeline: Pipeline,
    closed_jaxpr: ClosedJaxpr,
    device: jax.Device,
    strict: bool,
    params: dict,
    donated: Sequence[Any],
) -> Sequence[Any] | None:
    _reported.add(closed_jaxpr)  # its constants are reported as those of the program
    own = jax_internals.without_arguments(params, closed_jaxpr, f"{params['name']}_preamble")
    # Whether NaN is an error is asked of what the program returns: the rest may not use all of it.
    with jax.default_device(device), jax.debug_nans(False), jax.debug_infs(False):
        plan = plan_of(pipeline, closed_jaxpr, NO_CHOICES)
        computation = lower_plan(pipeline, plan, [], own, also_donated=donated)
        results, _, const_args = run(computation, [], plan=None)  # it runs once
    if _copied_bytes(results) > _copied_bytes(const_args) + LIMITS.extra_bytes:
        return None
    return results if strict else tuple(map(jax_internals.uncommitted, results))


def _copied_bytes(arrays: Sequence[Any]) -> int:
    """How many bytes more the devices hold together than the arrays have."""
    return sum(
        sum(shard.data.nbytes for shard in array.addressable_shards) - array.nbytes
        for array in arrays
    )


class Traced(jax.stages.Traced):
    """A function traced for given argument types; ready to be lowered.

    - `jaxpr`: the program as a ClosedJaxpr, in the form of its side.
    - `consts`: the captured values that are constvars of that jaxpr (none in the simplified form,
      apart from values that cannot be Literals).
    - `out_info`: a tree of `jax.ShapeDtypeStruct`, the shapes and dtypes of the results.
    - `side`: `"legacy"` or `"simplified"`.

    Example::

        traced = engine.jit(f, constants="simplified").trace(x)
        print(traced.jaxpr)

    Source: `jax.stages.Traced`; the constants note (seed 000).
    """

    __slots__ = ("_pipeline",)

    def __init__(self, pipeline: Pipeline, types: list, program: jax_internals.PjitParams) -> None:
        super().__init__(types, program.params, program.in_tree, program.out_tree, program.consts)
        self._pipeline = pipeline

    @property
    def side(self) -> Side:
        """The side whose form `jaxpr` has and whose lowering `lower` is."""
        return self._pipeline.side

    @property
    def consts(self) -> list[Any]:
        """The values of the constvars of `jaxpr`."""
        return list(self.jaxpr.consts)

    def lower(
        self,
        *,
        lowering_platforms: tuple[str, ...] | None = None,
        hoist_constants_as_args: bool | None = None,
        _private_parameters: jax_internals.LoweringParameters | None = None,
    ) -> Lowered:
        """Lower to StableHLO.

        `lowering_platforms` are names as in `jax.jit(f).trace(...).lower(...)`.
        `hoist_constants_as_args=False` inlines all constants; by default the simplified pipeline
        hoists them, except when `jax.export` is what lowers. The legacy pipeline never hoists.

        Raises ValueError for devices that do not go together, as `jax.jit` does.
        """
        lo = self.lojax
        lowering_platforms = lowering_platforms or jax_internals.platforms_of_context(lo._params)
        for_export = _private_parameters is not None and _private_parameters.for_export
        if hoist_constants_as_args is None:
            hoist_constants_as_args = not for_export
        plan = plan_of(
            self._pipeline,
            lo._params["jaxpr"],
            self._params["name"].choices,
            hoist=hoist_constants_as_args,
        )
        computation = lower_traced(
            self._pipeline,
            plan,
            lo,
            lowering_platforms=lowering_platforms,
            lowering_parameters=_private_parameters,
        )
        return Lowered(
            computation, lo.args_info, lo.out_tree, in_types=lo._in_types, out_types=lo._out_types
        )


class Lowered(jax.stages.Lowered):
    """A lowered program: StableHLO, and the const args that its main function takes first.

    `as_text()`, `compiler_ir()`, `cost_analysis()` and `compile()` are those of `jax.stages`.

    Example::

        lowered = engine.jit(f, constants="simplified").lower(x)
        [table] = lowered.const_args

    Source: `jax.stages.Lowered`; the constants note (seed 000), "Compilation and execution".
    """

    __slots__ = ()

    @property
    def const_args(self) -> list[Any]:
        """The constants that lead the arguments of main, each array once."""
        return list(self._lowering.const_args)

    @property
    def num_const_args(self) -> int:
        """How many const args lead the arguments of main."""
        return len(self._lowering.const_args)

    @property
    def in_avals(self) -> Any:
        """The avals of the arguments of the user, as a tree."""
        # JAX's own property counts const args as arguments and fails on them (jax 0.10.2).
        return jax.tree.map(lambda info: info._aval, self.args_info)

    def compile(
        self,
        compiler_options: dict[str, Any] | None = None,
        *,
        device_assignment: tuple[jax.Device, ...] | None = None,
    ) -> Compiled:
        """Compile for the devices that the lowering was made for, or for `device_assignment`."""
        executable = compile_shared(
            self._lowering, compiler_options=compiler_options, device_assignment=device_assignment
        )
        return Compiled(
            executable,
            self._lowering.const_args,
            self.args_info,
            self.out_tree,
            self._no_kwargs,
            self._in_types,
            self._out_types,
        )


class Compiled(jax.stages.Compiled):
    """A compiled program; call it with the arguments of the user.

    `as_text()`, `memory_analysis()` (bytes), `cost_analysis()`, `in_avals`, `args_info`,
    `input_shardings` and `output_shardings` are those of `jax.stages`.

    Example::

        compiled = engine.jit(f).lower(x).compile()
        y = compiled(x)

    Raises TypeError or ValueError for arguments of other types, shapes or shardings than compiled
    for, as JAX does. Source: `jax.stages.Compiled`.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        del self._call  # until the first call it is the method below

    # The interpreter looks up what to call in each object, all in C. With a `__call__` in Python,
    # which is what JAX has, every call would run a Python function.
    __call__ = property(operator.attrgetter("_call"))
    __signature__ = inspect.signature(lambda *args, **kwargs: None)

    def _call(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Bring the const args to the devices, where other executables of the process find them.

        What calls from then on holds no reference to this object, so that whatever is captured
        goes with it and does not wait for the garbage collector.
        """
        captured = self.const_args
        on_devices = place(self._params.executable, captured) if captured else captured
        # JAX would check the raw data of a PRNG key against the type of the key, since stock JAX
        # never has one among its const args (jax 0.10.2).
        is_key = [jax.dtypes.issubdtype(const.dtype, jax.dtypes.extended) for const in captured]
        self._params = params = self._params._replace(
            const_args=[
                const if key else array
                for const, array, key in zip(captured, on_devices, is_key, strict=True)
            ]
        )

        def call_in_python(*args: Any, **kwargs: Any) -> Any:
            results, _, _ = jax.stages.Compiled.call(params, *args, **kwargs)
            return results

        in_c = None if any(is_key) else params.executable.create_cpp_call(params)
        self._call = in_c or call_in_python  # type: ignore[method-assign]
        return self._call(*args, **kwargs)

    @property
    def const_args(self) -> list[Any]:
        """The constants that are passed before the arguments of the user, each array once."""
        return list(self._params.const_args)
