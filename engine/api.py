"""`engine.jit` and `engine.make_jaxpr`: how a user's function enters a pipeline.

A jitted function is jaxlib's dispatcher in C++ with a cache miss of ours. The dispatcher's table
holds the const args, so the second call runs no Python. JAX itself parses all that does not concern
constants: static and donated arguments, shardings, names.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import compress
from operator import not_
from typing import Any

import jax

from engine import jax_internals
from engine.configuration.choices import JitKeywords, choices_now, parse_jit_keywords
from engine.configuration.parsing import SIDES, ConstantPolicy, Precompute, Side, parse_side
from engine.configuration.policy_table import PolicyMapping
from engine.ir.array_snapshots import snapshot
from engine.ir.closures import names_of, with_names
from engine.ir.jaxprs import ClosedJaxpr
from engine.pipeline import LoweringPlan, Pipeline
from engine.runtime import watching
from engine.runtime.execution import run
from engine.runtime.lowering import lower_plan, plan_of
from engine.stages import Traced
from engine.tracing import executing, side_asked_for, side_now, tracing_anew, tracing_for

# Read at import, so that a user may replace it: `jax.make_jaxpr = engine.make_jaxpr`.
_jax_make_jaxpr: Any = jax.make_jaxpr

_call_caches = {constants: jax_internals.CallCache() for constants in (*SIDES, None)}


def pipeline_of(side: Side) -> Pipeline:
    """Return a side's pipeline."""
    pipeline: Pipeline = _module_of(side).PIPELINE
    return pipeline


@functools.cache  # a first call waits for import statements, even for those of imported modules
def _module_of(side: Side) -> Any:
    """Import the module of a side's pipeline, late: pipelines import the engine's lower layers."""
    if side == "legacy":
        from legacy_closedjaxpr import pipeline as legacy

        return legacy
    from simplified_consts import pipeline as simplified

    return simplified


class _NotGiven:
    """The default of `fun`, for `jit` called with options alone; None is a user's mistake."""

    def __repr__(self) -> str:
        return "<not given>"


_NOT_GIVEN = _NotGiven()


@jax_internals.api_boundary
def jit(
    fun: Callable[..., Any] | _NotGiven = _NOT_GIVEN,
    /,
    *,
    constants: Side | None = None,
    constant_policy: ConstantPolicy | PolicyMapping | None = None,
    precompute_constants: Precompute | None = None,
    deduplicate_constants: bool | int | None = None,
    **options: Any,
) -> Any:
    """Compile a function with XLA, and handle the arrays that it captures as `constants` says.

    A drop-in for `jax.jit`, with the same keywords (`static_argnums`, `donate_argnums`,
    `in_shardings`, ...), as a call and as a decorator with and without arguments. `constants` is
    `"legacy"` (captured arrays are inlined into the HLO), `"simplified"` (they become const args)
    or None: the flag `engine.use_simplified_constants` decides when the function is traced. A
    function called while another function of the engine is traced takes the outer one's side.

    Three keywords concern the simplified pipeline only; None leaves each to the setting of its
    name:

    - `constant_policy`, a function or a table, decides array by array which captured arrays are
      inlined and which are hoisted (see `engine.constant_policy`).
    - `precompute_constants`: with `"auto"`, work on captured arrays alone is done once; with
      `"off"`, at every call (see `engine.precompute_constants`). In the legacy pipeline, XLA does
      such work while it compiles.
    - `deduplicate_constants`: with True, captured arrays of equal value become one const arg; with
      a number, only arrays of up to that many bytes (see `engine.deduplicate_constants`).

    The result has the methods of a `jax.jit` function: `trace`, `lower`, `eval_shape`,
    `clear_cache`.

    Raises ValueError for other values of these keywords, and the errors of `jax.jit` for its own.

    Example::

        table = jnp.arange(1024.)

        @engine.jit(constants="simplified")
        def lookup(i):
            return table[i]

    Source: `jax.jit`; JAX's note "Handling of closed-over constants".
    """
    constants = parse_side(constants)
    keywords = parse_jit_keywords(constant_policy, precompute_constants, deduplicate_constants)
    if isinstance(fun, _NotGiven):
        jax_internals.stock_jit(**options)  # a misspelled option fails here, where it was written
        return functools.partial(
            jit,
            constants=constants,
            constant_policy=keywords.policy,  # the copy of a table: the user's may change later
            precompute_constants=keywords.precompute,
            deduplicate_constants=keywords.deduplicate,
            **options,
        )
    jit_info = jax_internals.jit_info(fun, options)  # JAX validates both, with its own errors

    def cache_miss(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool]:
        jax_internals.check_tracing_is_allowed(jit_info)
        with tracing() as in_force:
            traced, operands = jax_internals.infer_params(fun, jit_info, args, kwargs)
        program = _named(traced, in_force)
        with jax_internals.call_errors(fun, program, operands, (args, kwargs)):
            return *_call(in_force.pipeline, program, operands), False

    def stage(in_force: _InForce, traced: jax_internals.PjitParams, operands: list[Any]) -> Traced:
        types = jax_internals.argument_types(operands)
        program = _named(traced, in_force)
        return Traced(in_force.pipeline, types, program, jit_info.fun_sourceinfo, _execution)

    tracing = functools.partial(_InForce, constants, keywords)
    return _call_caches[constants].dispatcher(
        fun,
        jit_info,
        keywords,
        jax_internals.api_boundary(cache_miss),
        jax_internals.Trace(fun, jit_info, tracing, stage),
    )


def _signature() -> inspect.Signature:
    """Return the signature that `help` and editors show: the parameters of `jax.jit`, and ours."""
    ours = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in (
            "constants",
            "constant_policy",
            "precompute_constants",
            "deduplicate_constants",
        )
    ]
    stock = inspect.signature(jax_internals.stock_jit)
    return stock.replace(parameters=[*stock.parameters.values(), *ours])


jit.__signature__ = _signature()  # type: ignore[attr-defined]


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Hashable, int]] | None = None,
    return_shape: bool = False,
    *,
    constants: Side | None = None,
) -> Callable[..., Any]:
    """Return a function that traces `fun` and returns its ClosedJaxpr in the form of a side.

    A drop-in for `jax.make_jaxpr`. The arguments of the returned function may be arrays or
    `jax.ShapeDtypeStruct`s. With `return_shape` it returns a pair: the ClosedJaxpr and a tree of
    `jax.ShapeDtypeStruct`.

    Raises ValueError for a `constants` other than `"legacy"`, `"simplified"` or None.

    Example::

        print(engine.make_jaxpr(lambda x: x + table, constants="simplified")(1.))

    Source: `jax.make_jaxpr`; JAX's "Understanding jaxprs" and "JAX internals: The jaxpr language".
    """
    constants = parse_side(constants)
    make = _jax_make_jaxpr(fun, static_argnums, axis_env, return_shape)

    @functools.wraps(make)  # its name and module, of which the latter is JAX's
    @jax_internals.api_boundary
    def traced(*args: Any, **kwargs: Any) -> Any:
        pipeline = pipeline_of(side_now(constants))
        with tracing_for(pipeline, side_asked_for(constants)):
            result = make(*args, **kwargs)
        closed_jaxpr, *shape = result if return_shape else (result,)
        closed_jaxpr = snapshot(pipeline.normalize(closed_jaxpr))
        return (closed_jaxpr, *shape) if return_shape else closed_jaxpr

    return traced


# Not its module and name: pickle finds a function by these.
@functools.wraps(jax_internals.stock_jit, assigned=("__doc__", "__annotations__"))
def watched_jit(fun: Callable[..., Any] | _NotGiven = _NOT_GIVEN, /, **options: Any) -> Any:
    """Jit a function as `jax.jit` does; whoever watches traces is told each program that it traces.

    The result is JAX's own in everything. A program that JAX traces into another one is a part of
    that, and is not told by itself.

    Example::

        watching.watch_traces(lambda trace: print(trace.name, trace.form.closed_jaxpr))
        jax.jit = watched_jit
    """
    jax_internals.tell_traces(_tell)
    if isinstance(fun, _NotGiven):
        jax_internals.stock_jit(**options)  # a misspelled option fails here, where it was written
        return functools.partial(watched_jit, **options)
    return jax_internals.watched_jit(fun, jax_internals.jit_info(fun, options))


def _tell(
    fun: Callable[..., Any],
    info: jax_internals.JitInfo,
    call: tuple[Any, ...],
    program: jax_internals.PjitParams,
    operands: list[Any],
    is_stage: bool,
) -> None:
    if (watcher := watching.trace_watcher()) is not None:
        watcher(_stock_trace(fun, info, call, program, operands, is_stage))


def _stock_trace(
    fun: Callable[..., Any],
    info: jax_internals.JitInfo,
    call: tuple[Any, ...],
    program: jax_internals.PjitParams,
    operands: list[Any],
    is_stage: bool,
) -> watching.StockTrace:
    def traced() -> jax_internals.PjitParams:
        # Another function for each trace, so that JAX's caches hold it no longer than its caller.
        @functools.wraps(fun)
        def again(*args: Any, **kwargs: Any) -> Any:
            return fun(*args, **kwargs)

        return jax_internals.infer_params(again, info, *call)[0]

    def on(side: Side) -> watching.TracedForm:
        with _InForce(side, _NO_KEYWORDS) as in_force:
            return _form_of(_named(traced(), in_force))

    def again() -> watching.TracedForm:
        with tracing_anew():
            return _form_of(traced())

    return watching.StockTrace(
        "simplified" if jax_internals.jax_emits_simplified_jaxprs() else "legacy",
        _form_of(program),
        fun,
        str(program.params["name"]),
        info,
        operands[len(program.consts) :],
        program.params["donated_invars"][len(program.consts) :],
        jax_internals.stated_shardings(program.params)[len(program.consts) :],
        jax_internals.outside_of_transformations(),
        is_stage,
        on,
        again,
    )


_NO_KEYWORDS = parse_jit_keywords(None, None, None)


def _form_of(program: jax_internals.PjitParams) -> watching.TracedForm:
    """Return the program in the form that it was traced in, closed over the arrays it captures.

    Where a function captures values of a transformation around it, JAX passes all that it captures
    as its first operands.
    """
    closed_jaxpr, captured = program.params["jaxpr"], program.consts
    if captured:
        jaxpr = closed_jaxpr.jaxpr
        is_held = [not jax_internals.is_tracer(value) for value in captured]
        is_held += [False] * (len(jaxpr.invars) - len(captured))
        names = names_of(jaxpr) or [""] * len(is_held)
        closed_jaxpr = jax_internals.replaced(
            closed_jaxpr,
            constvars=[*jaxpr.constvars, *compress(jaxpr.invars, is_held)],
            consts=[*closed_jaxpr.consts, *compress(captured, is_held)],
            invars=[*compress(jaxpr.invars, map(not_, is_held))],
            debug_info=with_names(jaxpr, [*compress(names, map(not_, is_held))]),
        )
    return watching.TracedForm(closed_jaxpr, program.out_tree)


# -- tracing and calling ---------------------------------------------------------------------------

# Each traced program in the form of each side; None stands for itself. JAX frees a traced program
# with its function, and this table must not delay it by holding it as a value.
_normalized: weakref.WeakKeyDictionary[ClosedJaxpr, dict[Side, ClosedJaxpr | None]] = (
    weakref.WeakKeyDictionary()
)


class _InForce(tracing_for):
    """The context of the trace of a function, with the pipeline and the choices in force.

    `pipeline` is that of the trace, `asked_for` the side where the program is executed by itself.

    A context and not a function that traces: while a function is traced, the Python stack is as
    deep as under `jax.jit`, which a program near the limit of recursion depends on.
    """

    __slots__ = ("asked_for", "choices", "pipeline")

    def __init__(self, constants: Side | None, keywords: JitKeywords) -> None:
        self.pipeline, self.choices = pipeline_of(side_now(constants)), choices_now(keywords)
        self.asked_for = side_asked_for(constants)
        super().__init__(self.pipeline, self.asked_for)


def _named(program: jax_internals.PjitParams, in_force: _InForce) -> jax_internals.PjitParams:
    """Normalize a program that was just traced, and name it after what was in force."""
    name, side = program.params["name"], in_force.pipeline.side
    params = {
        **program.params,
        "jaxpr": _in_form_of(in_force.pipeline, program.params["jaxpr"]),
        "name": jax_internals.ProgramName(name, side, in_force.asked_for, in_force.choices),
    }
    return program._replace(params=params)


def _in_form_of(pipeline: Pipeline, closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Return a program in the form of a side, each time the same object."""
    by_side = _normalized.setdefault(closed_jaxpr, {})
    if pipeline.side not in by_side:
        normalized = snapshot(pipeline.normalize(closed_jaxpr))
        by_side.setdefault(pipeline.side, None if normalized is closed_jaxpr else normalized)
    found = by_side[pipeline.side]
    return closed_jaxpr if found is None else found


def tracing_again(name: Any) -> tracing_for:
    """Trace within this block what belongs to a program of this `ProgramName`: its derivatives."""
    return tracing_for(pipeline_of(name.side), name.asked_for)


def _call(
    pipeline: Pipeline, program: jax_internals.PjitParams, operands: list[Any]
) -> tuple[Any, Any]:
    """Run a traced program or apply it to tracers; return the results and the fast-path data."""
    params, name = program.params, program.params["name"]
    executes = jax_internals.outside_of_transformations()
    if executes and jax_internals.is_expanded_before_a_call(params["jaxpr"]):
        with tracing_again(name):
            params = params | {"jaxpr": jax_internals.expanded(params["jaxpr"])}
    if params["jaxpr"].is_high or not executes:
        # JAX traces the user's rules for derivatives here.
        with tracing_again(name):
            bound = jax_internals.bind_jit(operands, params)
        return jax.tree.unflatten(program.out_tree, bound), None
    operands = jax_internals.check_arguments(operands)
    if (watcher := watching.watcher()) is not None:
        return jax.tree.unflatten(program.out_tree, watcher(_execution(operands, params))), None
    plan = plan_of(pipeline, params["jaxpr"], name.choices)
    outputs, executable, const_args = _execute(pipeline, plan, operands, params)
    data = jax_internals.fastpath_data(
        executable, program.out_tree, operands, outputs, plan.closed_jaxpr, const_args
    )
    return jax.tree.unflatten(program.out_tree, outputs), data


def _execute(
    pipeline: Pipeline, plan: LoweringPlan, operands: Sequence[Any], params: dict[str, Any]
) -> tuple[Sequence[Any], jax_internals.Executable, Sequence[Any]]:
    """Lower, compile and run a plan; return the outputs, the executable and its const args."""
    types = jax_internals.argument_types(operands)
    computation = lower_plan(pipeline, plan, types, params)
    jax_internals.count_cache_miss()
    return run(computation, operands, plan)


def _execution(
    operands: Sequence[Any],
    params: dict[str, Any],
    compiler_options: Mapping[str, Any] | None = None,
) -> watching.Execution:
    """Describe an execution to the watcher, which decides when the program runs, and where else."""
    name, closed_jaxpr = params["name"], params["jaxpr"]
    if compiler_options:
        options = (*params["compiler_options_kvs"], *compiler_options.items())
        params = params | {"compiler_options_kvs": options}

    def planned(side: Side) -> LoweringPlan:
        pipeline = pipeline_of(side)
        return plan_of(pipeline, _in_form_of(pipeline, closed_jaxpr), name.choices)

    called = jax_internals.with_layouts_of_arguments(params)

    def run_on(side: Side, operands: Sequence[Any]) -> Sequence[Any]:
        return _callable_on(side, called)(*operands)

    def is_one_program() -> bool:
        one, other = map(planned, SIDES)
        return one.closed_jaxpr is other.closed_jaxpr and not other.leaves_arrays

    return watching.Execution(
        name.side,
        closed_jaxpr,
        str(name),
        operands,
        params["donated_invars"],
        lambda: run_on(name.side, operands),
        run_on,
        is_one_program,
        lambda: jax_internals.options_of(params),
    )


# What a watcher runs: for each traced program, a dispatcher of jaxlib for each side and each set of
# params. Without them every watched call would lower again, ten times as long as it runs.
_callables: weakref.WeakKeyDictionary[ClosedJaxpr, dict[Hashable, Callable[..., Any]]] = (
    weakref.WeakKeyDictionary()
)


def _callable_on(side: Side, params: dict[str, Any]) -> Callable[..., Sequence[Any]]:
    """Return what runs a program on a side: from flat operands to flat results."""
    name, closed_jaxpr = params["name"], params["jaxpr"]
    rest = params | {"jaxpr": None}
    # A name is equal to a plain string, so its side and its choices are keys beside it.
    key = side, name.side, name.choices, *rest.values()
    found = _callables.setdefault(closed_jaxpr, {})
    if key not in found:
        rest["name"] = jax_internals.ProgramName(name, side, side, name.choices)
        found[key] = _new_callable(pipeline_of(side), weakref.ref(closed_jaxpr), rest)
    return found[key]


def _new_callable(
    pipeline: Pipeline, program: Callable[[], ClosedJaxpr | None], rest: dict[str, Any]
) -> Callable[..., Sequence[Any]]:
    # `program` is a weak reference, because the value in a table must not hold its key.
    def params() -> dict[str, Any]:
        closed_jaxpr = program()
        assert closed_jaxpr is not None  # the caller has it
        return rest | {"jaxpr": _in_form_of(pipeline, closed_jaxpr)}

    def evaluate(*operands: Any) -> Sequence[Any]:
        """Evaluate the program; the dispatcher calls this only where jit is disabled."""
        return jax_internals.evaluated(params()["jaxpr"], operands)

    return _call_caches[pipeline.side].flat_dispatcher(
        evaluate, rest, lambda *operands: _flat_miss(pipeline, params(), operands)
    )


def _flat_miss(
    pipeline: Pipeline, params: dict[str, Any], operands: Sequence[Any]
) -> tuple[Sequence[Any], Any, bool]:
    """Run a program that is called with flat operands; return what a cache miss does."""
    plan = plan_of(pipeline, params["jaxpr"], params["name"].choices)
    types = jax_internals.argument_types(operands)
    names = jax_internals.argument_names(params["jaxpr"])
    with jax_internals.placement_errors(types, names, params):
        outputs, executable, const_args = _execute(pipeline, plan, operands, params)
    data = jax_internals.fastpath_data(
        executable, jax.tree.structure(outputs), operands, outputs, plan.closed_jaxpr, const_args
    )
    return outputs, data, False


def forget_calls() -> None:
    """Clear the tables of jaxlib's dispatchers: each next call of `engine.jit` asks Python."""
    for cache in _call_caches.values():
        cache.cache_clear()


def execute_derived(*operands: Any, **params: Any) -> Sequence[Any]:
    """Run a program that JAX derived from an engine program, or evaluates by itself.

    `operands` and `params` are those of the jit equation; returns the flat results.
    """
    name = params["name"]
    side, pipeline = name.asked_for, pipeline_of(name.asked_for)
    if side != name.side:
        params["jaxpr"] = _in_form_of(pipeline, params["jaxpr"])
        params["name"] = jax_internals.ProgramName(name, side, side, name.choices)

    def cache_miss(*_: Any, **__: Any) -> tuple[Any, Any, bool]:
        return _flat_miss(pipeline, params, operands)

    with executing():
        if (watcher := watching.watcher()) is not None:
            return watcher(_execution(operands, params))
        return _call_caches[side].call_derived(params, operands, cache_miss)
