"""Every private JAX name that the project uses, in one file.

Nothing else imports `jax._src` or private jaxlib (ruff's TID251 and a test hold the rest of the
tree to it), so porting to another JAX is reading this page. The version beside a branch is the one
that it was read and run against.

Why private names at all: three things that this project is about have no public door. JAX's choice
of representation is a flag that is latched at import in two places, so both pipelines need the
thread-local half of it; a call that runs no Python needs jaxlib's dispatcher with a cache miss of
ours; and a lowered computation has to carry const args that JAX did not hoist itself.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import itertools
import operator
import os
import threading
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import jax
import jax.experimental.layout
import jaxlib
import numpy as np

_FIRST, _LIMIT = (0, 10, 2), (0, 11)
if not _FIRST <= jax.__version_info__ < _LIMIT:
    # 0.11 merged ClosedJaxpr into Jaxpr and moved captured constants into invars for some callers.
    raise ImportError(
        f"constparity reads JAX internals of 0.10.2 <= jax < 0.11 and found jax {jax.__version__}; "
        "install a supported one: pip install 'jax>=0.10.2,<0.11'"
    )

from jax._src import ad_util as _ad_util  # noqa: E402
from jax._src import api_util, array, config, core, dispatch, dtypes, pjit, stages  # noqa: E402
from jax._src import compiler as _compiler  # noqa: E402
from jax._src import linear_util as _lu  # noqa: E402
from jax._src import literals as _literals  # noqa: E402
from jax._src import mesh as _mesh  # noqa: E402
from jax._src import source_info_util as _source_info_util  # noqa: E402
from jax._src import traceback_util as _traceback_util  # noqa: E402
from jax._src import tree_util as _tree_util  # noqa: E402
from jax._src import util as _util  # noqa: E402
from jax._src.export import _export  # noqa: E402
from jax._src.interpreters import ad as _ad  # noqa: E402
from jax._src.interpreters import mlir, pxla  # noqa: E402
from jax._src.interpreters import partial_eval as _partial_eval  # noqa: E402
from jax._src.lib import _jax as _jaxlib  # noqa: E402
from jax._src.lib.mlir import ir as _ir  # noqa: E402
from jax._src.lib.mlir.dialects import func as _func  # noqa: E402
from jax._src.lib.mlir.dialects import hlo as _hlo  # noqa: E402
from jax._src.random import prng as _prng  # noqa: E402
from jax._src.sharding_impls import UNSPECIFIED  # noqa: E402

__all__ = ["UNSPECIFIED"]

JAXLIB_VERSION: str = jaxlib.__version__

Executable = pxla.MeshExecutable
PjitParams = pjit.PjitParams
JitInfo = pjit.PjitInfo
LoweringParameters = mlir.LoweringParameters

api_boundary = _traceback_util.api_boundary


def hide_from_tracebacks(package: str) -> None:
    """Say that the files of a package are no user's: in tracebacks, and as places of equations.

    JAX keeps two lists (jax 0.10.2): frames left out of an exception, and frames left out of the
    source information of jaxprs, StableHLO and profiles. `package` is its folder.
    """
    _traceback_util.register_exclusion(package)
    _source_info_util.register_exclusion(package + os.sep)


hide_from_tracebacks(os.path.dirname(__file__))


# -- configuration ---------------------------------------------------------------------------------


class TracedSetting(_jaxlib.config.Config):
    """A setting with a global and a thread-local value that is part of JAX's cache keys.

    It is a Config object of jaxlib (jax 0.10.2), so a change of the setting misses in the C++
    fast path and in every trace cache of JAX, exactly as a flag of JAX's own does. A plain
    `threading.local` would not: the fast path never asks Python.
    """

    def __init__(self, name: str, default: Any, *, in_trace_key: bool) -> None:
        super().__init__(
            name, default, include_in_jit_key=True, include_in_trace_context=in_trace_key
        )

    def local(self, value: Any) -> contextlib.AbstractContextManager[None]:
        """Hold the setting at `value` in this thread, within one `with` block."""
        return _Held(self, value)


class _Held:
    """What `TracedSetting.local` returns; as a generator it would take several times as long."""

    __slots__ = ("_previous", "_setting", "_value")

    def __init__(self, setting: TracedSetting, value: Any) -> None:
        self._setting, self._value = setting, value

    def __enter__(self) -> None:
        self._previous = self._setting.swap_local(self._value)

    def __exit__(self, *_: Any) -> None:
        self._setting.set_local(self._previous)


def jax_embedded_constants_max_bytes() -> int:
    """JAX's own embed threshold, in bytes."""
    return config.embedded_constants_max_bytes.value


def simplified_jaxprs(enabled: bool) -> contextlib.AbstractContextManager[None]:
    """Choose, for this thread, which of its two forms JAX's tracer emits.

    Only tracing reads this half of JAX's flag; what the flag latches at import (whether JAX hoists
    when it lowers) never decides anything here, because our lowerings say it themselves.
    """
    return config.use_simplified_jaxpr_constants(enabled)


# -- jaxprs ----------------------------------------------------------------------------------------


def new_var(aval: Any) -> core.Var:
    """A fresh Var of the given aval."""
    return core.Var(aval)


def literal(value: np.ndarray, aval: Any) -> core.Literal:
    """A Literal of an array, as JAX's tracer makes it: of its type whatever the mode of x64 is."""
    return core.Literal(of_its_own_type(value, aval), aval)


def of_its_own_type(value: np.ndarray, aval: Any = None) -> np.ndarray:
    """A view of a NumPy array that JAX takes to be of its dtype whatever the mode of x64 is."""
    return _literals.TypedNdArray(value, aval)


def typeof(value: Any) -> Any:
    """The aval of a constant, without its sharding's mesh being resolved."""
    if type(value) is array.ArrayImpl and type(value.sharding) is jax.sharding.SingleDeviceSharding:
        return value.aval  # what JAX finds as well, by way of a cache of all avals and shardings
    return core.typeof(value)


_PLAIN_ARRAYS = (array.ArrayImpl, np.ndarray)


def nbytes(value: Any) -> int:
    """The bytes of a captured value; 0 of a number of Python, and of what is being traced."""
    if type(value) is array.ArrayImpl:  # nearly all are, and each is asked about several times
        return _nbytes(value.aval)
    return 0 if is_tracer(value) else getattr(value, "nbytes", 0)


@functools.lru_cache(maxsize=4096)
def _nbytes(aval: Any) -> int:
    return aval.size * aval.dtype.itemsize


def is_plain_array(value: Any) -> bool:
    """Whether a value is an array of JAX or NumPy: neither traced nor a reference."""
    return type(value) in _PLAIN_ARRAYS


def is_reference(value: Any) -> bool:
    """Whether a captured value is a mutable array reference: state, and so never a constant."""
    if is_plain_array(value):  # to ask JAX for the type of each takes a tenth of lowering
        return False
    return isinstance(value, core.Ref) or core.typeof(value).has_qdd


def is_tracer(value: Any) -> bool:
    """Whether a value is being traced."""
    return isinstance(value, core.Tracer)


# Of params of equations: what JAX interns, or compares by all that it is (jax 0.10.2).
COMPARED_BY_EQUALITY = (
    type(UNSPECIFIED),
    jax.sharding.Mesh,
    jax.sharding.AbstractMesh,
    jax.sharding.PartitionSpec,
    jax.sharding.NamedSharding,
    jax.sharding.SingleDeviceSharding,
    jax.experimental.layout.Layout,
    core.ShapedArray,
    dtypes.ExtendedDType,
    _prng.PRNGImpl,
)


def stand_in_for(rule: Any) -> Any:
    """A function in the place of a rule for derivatives, for a program that is only lowered.

    JAX wraps such rules anew where it removes dead equations, and calls none (jax 0.10.2).
    """

    def rule_of_a_program_that_is_only_lowered(*_: Any, **__: Any) -> Any:
        raise AssertionError("lowering calls no rule for derivatives")

    if not isinstance(rule, _lu.WrappedFun):
        return None if rule is None else rule_of_a_program_that_is_only_lowered
    debug_info = rule.debug_info._replace(result_paths=None)
    return _lu.wrap_init(rule_of_a_program_that_is_only_lowered, debug_info=debug_info)


class Settings:
    """The values of settings, as a key of tables; TypeError where one cannot be hashed.

    They are hashed once: there are more than a hundred, and a tuple of them would be hashed by each
    look into a table.
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: tuple) -> None:
        self._values, self._hash = values, hash(values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._values == other._values


def settings() -> Settings:
    """The values of all settings of JAX (jax 0.10.2) but those of `_NOTHING_IS_MADE_OF`.

    Some of those that lowering and compiling read are in no key of JAX's caches: it lowers and
    compiles each function for itself. To name them was the alternative, and one would be missed.
    """
    values = tuple(map(_value_of, _settings(len(config.config._value_holders))))
    try:
        return Settings(values)
    except TypeError:  # one is a dictionary where a plugin was given options
        return Settings(tuple(v if isinstance(v, Hashable) else repr(v) for v in values))


# What is logged and what is forbidden while a program is lowered and compiled, none of which is in
# the program. One that is not named here costs no more than a compilation.
_NOTHING_IS_MADE_OF = frozenset(
    {
        "jax_log_compiles", "jax_explain_cache_misses", "jax_logging_level",
        "jax_debug_log_modules", "jax_compiler_detailed_logging_min_ops",
        "jax_transfer_guard", "jax_transfer_guard_host_to_device",
        "jax_transfer_guard_device_to_device", "jax_transfer_guard_device_to_host",
        "jax_thread_guard", "jax_array_garbage_collection_guard",
    }
)  # fmt: skip
_value_of = operator.attrgetter("value")


@functools.lru_cache(maxsize=1)
def _settings(count: int) -> tuple[Any, ...]:
    """What holds the values of the settings; `count` is that of all, for imports add to them."""
    holders = list(config.config._value_holders.items())
    return tuple(holder for name, holder in holders if name not in _NOTHING_IS_MADE_OF)


NO_NAMES = _source_info_util.new_name_stack()


def names_inside(names: Any, eqn: core.JaxprEqn) -> Any:
    """The name stack of what is in the bodies of an equation that stands within `names`."""
    inside = names + eqn.source_info.name_stack
    if eqn.primitive is pjit.jit_p:
        return inside.extend(_util.wrap_name("jit", eqn.params["name"]))
    return inside


def named_within(names: Any, eqn: core.JaxprEqn) -> core.JaxprEqn:
    """An equation as it is named where its function or loop, named `names`, is not around it."""
    name_stack = names + eqn.source_info.name_stack
    return eqn.replace(source_info=eqn.source_info.replace(name_stack=name_stack))


def is_plain_equation(eqn: core.JaxprEqn) -> bool:
    """Whether an equation is about arrays in the memory of the device that it is computed on.

    Not: references, tokens, shapes that are not numbers, manual axes, host memory, computing on the
    host, metadata for XLA, and inner jits with shardings or layouts of their own.
    """
    if eqn.ctx.compute_type is not None or eqn.ctx.xla_metadata:
        return False
    if eqn.primitive is pjit.jit_p:
        constrained = [
            *eqn.params["in_shardings"], *eqn.params["out_shardings"],
            *eqn.params["in_layouts"], *eqn.params["out_layouts"],
        ]  # fmt: skip
        if any(c is not None and c is not UNSPECIFIED for c in constrained):
            return False
    return all(_is_plain_aval(atom.aval) for atom in (*eqn.invars, *eqn.outvars))


def _is_plain_aval(aval: Any) -> bool:
    return (
        type(aval) is core.ShapedArray
        and all(isinstance(size, int) for size in aval.shape)
        and aval.memory_space == core.MemorySpace.Device
        and aval.manual_axis_type == core.empty_mat
    )


def buffer_type(aval: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype of the buffer of an array; that of PRNG keys has their words."""
    physical = core.physical_aval(aval)
    return physical.shape, physical.dtype


def in_default_memory(value: jax.Array) -> bool:
    """Whether an array is in the default memory of its devices."""
    devices: set[Any] = value.sharding.device_set
    kind = value.sharding.memory_kind
    return kind is None or all(kind == device.default_memory().kind for device in devices)


def give_type_to(stand_in: type) -> None:
    """Let objects of a class stand in jaxprs as constants whose type is their `aval`."""
    core.pytype_aval_mappings[stand_in] = lambda value: value.aval


def live_part(closed_jaxpr: core.ClosedJaxpr) -> core.ClosedJaxpr:
    """The same program without the equations that nothing depends on; all inputs stay.

    JAX prunes once more while it lowers; this pass comes first so that an array which only dead
    equations use is never hoisted.
    """
    jaxpr = closed_jaxpr.jaxpr
    live, _ = _partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), instantiate=True)
    return core.ClosedJaxpr(live, closed_jaxpr.consts)


def prunes_operands(primitive: core.Primitive) -> bool:
    """Whether JAX's pass over dead code has a rule of its own for the equations of a primitive."""
    return primitive in _partial_eval.dce_rules


def user_frames(source_info: Any, count: int) -> list[tuple[str, int, str]]:
    """File, line and function of the frames of a user that made an equation, innermost first.

    At most `count` of them; all where it is -1.
    """
    frames = _source_info_util.user_frames(source_info.traceback)
    wanted = itertools.islice(frames, None if count < 0 else count)
    return [(frame.file_name, frame.start_line, frame.function_name) for frame in wanted]


def are_of_one_place(one: Any, other: Any) -> bool:
    """Whether the source records of two equations are of the same place in the user's files.

    Name stacks included; these are all that the locations in a module are made of (jax 0.10.2).
    """
    return one.name_stack == other.name_stack and (
        one.traceback == other.traceback or _have_the_same_frames(one.traceback, other.traceback)
    )


# Tracebacks differ by the instruction, and CPython may go by way of another instruction of the same
# expression once it has specialised it.
@functools.lru_cache(maxsize=4096)
def _have_the_same_frames(one: Any, other: Any) -> bool:
    frames = [list(_source_info_util.user_frames(traceback)) for traceback in (one, other)]
    return None not in (one, other) and frames[0] == frames[1]


def captured_constants_limits() -> tuple[int, int]:
    """JAX's `captured_constants_warn_bytes` and `captured_constants_report_frames`."""
    return (
        config.captured_constants_warn_bytes.value,
        config.captured_constants_report_frames.value,
    )


# -- tracing ---------------------------------------------------------------------------------------


def capture_numpy_arrays_with(capture: Callable[[np.ndarray], np.ndarray]) -> None:
    """Let `capture` see each array at the moment in which a trace of JAX meets it as a constant.

    It returns what takes the value's place in the jaxpr. Once a program has been traced it is too
    late for a NumPy array that the function itself goes on writing to.
    """
    trace = _partial_eval.DynamicJaxprTrace
    stock = trace.new_const

    def new_const(self: Any, c: Any, source_info: Any, aval: Any = None) -> Any:
        if isinstance(c, np.ndarray):  # asked here: nearly all constants are none, and it adds up
            c = capture(c)
        return stock(self, c, source_info, aval)

    for name in ("new_const", "pure", "lift"):  # one function by three names (jax 0.10.2)
        setattr(trace, name, new_const)


def argument_names(closed_jaxpr: core.ClosedJaxpr) -> Sequence[str]:
    """The names of the arguments of a program, for messages."""
    return closed_jaxpr.jaxpr.debug_info.safe_arg_names(len(closed_jaxpr.in_avals))


# Taken once, so that a user may put the engine's in its place: `jax.jit = engine.jit`.
stock_jit: Any = jax.jit
_JIT_OPTIONS = {
    name: parameter.default
    for name, parameter in inspect.signature(stock_jit).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY
}


def jit_info(fun: Callable, options: dict[str, Any]) -> JitInfo:
    """The parsed options of `jax.jit`, with its errors, and without a dispatcher of its own."""
    if not options.keys() <= _JIT_OPTIONS.keys():
        stock_jit(fun, **options)  # names the one that it does not know
    return pjit._parse_jit_arguments(fun, **_JIT_OPTIONS | options, use_resource_env=False)


def check_tracing_is_allowed(jit_info: JitInfo) -> None:
    """Raise RuntimeError within `jax.no_tracing`, as `jax.jit` does for what it has not seen."""
    if config.no_tracing.value:
        raise RuntimeError(
            f"re-tracing function {jit_info.fun_sourceinfo} for `jit`, but 'no_tracing' is set"
        )


def infer_params(
    fun: Callable, jit_info: JitInfo, args: tuple, kwargs: dict
) -> tuple[PjitParams, list]:
    """Trace a function for a call: what JAX would bind, and its operands."""
    return pjit._infer_params(fun, jit_info, args, kwargs)


def argument_types(args: Sequence[Any]) -> list:
    """What lowering needs to know of each argument: aval, sharding, format, committed-ness."""
    return [pjit.convert_to_metaty(arg) for arg in args]


def staged_by_jax() -> bool:
    """Whether what is called now becomes a part of a program that JAX is tracing."""
    trace = core.trace_ctx.trace
    while trace is not None:
        if isinstance(trace, _partial_eval.DynamicJaxprTrace):
            return True
        trace = getattr(trace, "parent_trace", None)
    return False


def jax_emits_simplified_jaxprs() -> bool:
    """JAX's own flag, as it is in this thread."""
    return config.use_simplified_jaxpr_constants.value


def outside_of_transformations() -> bool:
    """Whether a call made now executes, rather than being traced or differentiated."""
    return core.trace_state_clean() and not config.debug_key_reuse.value


def check_arguments(args: Sequence[Any]) -> list:
    """Validate operands the way JAX does before it executes, and strip trivial tracers."""
    for arg in args:
        dispatch.check_arg(arg)
    lowered = [core.full_lower(arg) for arg in args]
    core.check_eval_args(lowered)
    return lowered


def bind_jit(args: Sequence[Any], params: dict) -> list:
    """Apply JAX's jit primitive, so that every transformation finds the rules that it knows."""
    return pjit.jit_p.bind(*args, **params)


class ProgramName(str):
    """The name of a jitted program, remembering the side and the choices it was staged with.

    JAX's rules for jit carry `name` unchanged through jvp, vmap, partial evaluation and
    transposition (jax 0.10.2), so what they derive from our programs still says whose it is. A
    primitive of our own was the alternative; it would need a copy of each of those rules and would
    be unknown to checkify, jet, sparsify and every other reader of jaxprs.
    """

    __slots__ = ("choices", "side")
    side: str
    choices: Any  # `engine.configuration.settings.Choices`

    def __new__(cls, name: str, side: str, choices: Any) -> ProgramName:
        self = super().__new__(cls, name)
        self.side = side
        self.choices = choices
        return self


def execute_named_programs_with(execute: Callable[..., Sequence[Any]]) -> None:
    """Run programs named by `ProgramName` with `execute` where they are not being traced.

    This replaces the implementation of JAX's jit primitive, one of five places where this project
    reaches into JAX (the others are its transposition, `jit_trace`, `new_const` and
    `_cached_compilation`). Without it
    `jax.grad(engine.jit(f))(x)` would execute its derived programs through the process's own
    pipeline, in silence. Programs of plain `jax.jit` take the implementation that JAX registered,
    untouched.
    """
    stock = pjit.jit_p.impl

    def implementation(*args: Any, **params: Any) -> Sequence[Any]:
        if type(params["name"]) is ProgramName:
            return execute(*args, **params)
        return stock(*args, **params)

    pjit.jit_p.def_impl(implementation)


def transpose_named_programs_within(tracing_for: Callable[[Any], Any]) -> None:
    """Transpose programs named by `ProgramName` in the form of their side.

    Transposition runs long after the program was bound, when the cotangent is known, and calls
    functions of the user: backward rules. Plain programs are transposed as JAX does it.
    """
    stock = _ad.fancy_transposes[pjit.jit_p]

    @functools.wraps(stock)
    def transpose(cotangents: Any, *operands: Any, **params: Any) -> Any:
        if type(params["name"]) is not ProgramName:
            return stock(cotangents, *operands, **params)
        with tracing_for(params["name"].side):
            return stock(cotangents, *operands, **params)

    _ad.fancy_transposes[pjit.jit_p] = transpose


# -- lowering --------------------------------------------------------------------------------------


class Hoisted(NamedTuple):
    """Const args that lead the inputs of a program, and whether JAX is to hoist what is left.

    `simplified` is the form of the program: JAX traces anew while it lowers (to discharge mutable
    references), and its rules expect bodies without constvars in the form that has none.
    """

    const_args: tuple[Any, ...]
    simplified: bool
    jax_hoists_the_rest: bool
    max_bytes: int
    follow_arguments: bool  # whether a const arg on other devices goes where the arguments are


class Computation(pxla.MeshComputation):
    """What JAX lowered, with the const args of one closure.

    JAX lowers a program once, so closures of one program may share `lowered`, and what is compiled
    of it: no value of a const arg of theirs is in there.
    """

    def __init__(self, lowered: pxla.MeshComputation, const_args: Sequence[Any]) -> None:
        vars(self).update(vars(lowered))
        self.lowered = lowered
        self.const_args = list(const_args)


# Those of a plain lowering, by whether JAX hoists what is left.
_LOWERING_PARAMETERS = {
    hoists: LoweringParameters(hoist_constants_as_args=hoists) for hoists in (False, True)
}
_finished: weakref.WeakSet[pxla.MeshComputation] = weakref.WeakSet()
_finishing = threading.RLock()  # collecting garbage may run code of the user, which calls programs


def lower(
    types: Sequence[Any],
    params: dict,
    hoisted: Hoisted,
    *,
    lowering_platforms: tuple[str, ...] | None = None,
    lowering_parameters: LoweringParameters | None = None,
) -> Computation:
    """Lower a jit program whose leading inputs are `hoisted.const_args`.

    The returned computation carries all const args in `const_args`, those that JAX hoisted first.
    """
    if lowering_parameters is None:
        lowering_parameters = _LOWERING_PARAMETERS[hoisted.jax_hoists_the_rest]
    elif lowering_parameters.hoist_constants_as_args != hoisted.jax_hoists_the_rest:
        lowering_parameters = dataclasses.replace(
            lowering_parameters, hoist_constants_as_args=hoisted.jax_hoists_the_rest
        )
    with (
        simplified_jaxprs(hoisted.simplified),
        config.embedded_constants_max_bytes(hoisted.max_bytes),
        config.captured_constants_warn_bytes(-1),  # captured_constants.py warns, in both modes
    ):
        lowered = pjit._resolve_and_lower(
            [*_const_types(hoisted, types, params), *types],
            # A plain name: JAX keeps it as long as a program that is kept for others to come.
            **params | {"name": str(params["name"])},
            lowering_platforms=lowering_platforms,
            lowering_parameters=lowering_parameters,
            pgle_profiler=None,
        )
    if hoisted.const_args:
        with _finishing:  # JAX caches what it lowered: it may be another thread's
            if lowered not in _finished:
                _finish(lowered, len(hoisted.const_args))
                _finished.add(lowered)
    return Computation(lowered, [*lowered.const_args, *hoisted.const_args])


def _finish(lowered: pxla.MeshComputation, num_const_args: int) -> None:
    """Mark those of so many const args that JAX kept; those that it hoisted itself come first."""
    kept = lowered.compile_args["kept_var_idx"]
    first = len(lowered.const_args)
    end = first + num_const_args
    up_to_end = len(kept.intersection(range(end)))
    references = lowered.compile_args["mut"]  # those that are captured come last
    after = len(kept) - up_to_end + len(references.in_mut if references else ())
    count = up_to_end - len(kept.intersection(range(first)))
    _mark_const_args(lowered.stablehlo(), count, after)


@contextlib.contextmanager
def placement_errors(function: str, types: Sequence[Any], names: Sequence[str]) -> Iterator[None]:
    """Turn devices that do not go together into the error of `jax.jit`, which names arguments."""
    try:
        yield
    except stages.DeviceAssignmentMismatchError as error:
        [fails] = error.args
        of_arguments = [t.sharding._device_assignment for t in types if t.sharding is not None]
        for fail in fails:
            if fail.m_type is stages.MismatchType.ARG_SHARDING and fail.da not in of_arguments:
                fail.m_type = stages.MismatchType.CONST_SHARDING  # for JAX, ours are arguments
        raise ValueError(
            stages._device_assignment_mismatch_error(function, fails, types, "jit", names)
        ) from None


def _const_types(hoisted: Hoisted, types: Sequence[Any], params: dict) -> list:
    """The types of const args; one that lies on other devices than the program runs on follows."""
    const_types = list(map(_const_type, hoisted.const_args))
    if not hoisted.follow_arguments or all(t.sharding is None for t in const_types):
        return const_types
    devices, is_decided = _devices_of(types, params, len(const_types))
    if devices is None or not is_decided:
        return const_types
    return [
        t
        if t.sharding is None or t.sharding._device_assignment == devices
        else t.replace(sharding=None, format=None, committed=False)
        for t in const_types
    ]


def _const_type(value: Any) -> Any:
    if type(value) is array.ArrayImpl and not value._committed and value.sharding.num_devices == 1:
        # Its sharding and layout decide nothing (jax 0.10.2), and to ask takes a tenth of lowering.
        return pjit.create_meta_ty(value.aval, None, None, False, False)
    return pjit.convert_to_metaty(value)


def const_operands(params: dict, count: int) -> dict:
    """The params of jit with `count` unconstrained operands put before the others."""
    return dict(
        params,
        in_shardings=(UNSPECIFIED,) * count + tuple(params["in_shardings"]),
        in_layouts=(None,) * count + tuple(params["in_layouts"]),
        donated_invars=(False,) * count + tuple(params["donated_invars"]),
    )


def _functions(module: Any) -> dict[str, Any]:
    functions = (op for op in module.body.operations if isinstance(op, _func.FuncOp))
    return {_symbol(op.sym_name): op for op in functions}


def _symbol(attribute: Any) -> str:
    return attribute.value


def _argument_attributes(function: Any) -> list:
    if "arg_attrs" in function.attributes:
        return list(function.arg_attrs)
    return [_ir.DictAttr.get({}) for _ in function.type.inputs]


def _mark_const_args(module: Any, count: int, after: int) -> None:
    """Set `jax.const` on the arguments of main that are const args, and on those they flow to.

    There are `count`, and `after` arguments after them: the user's, and captured references. What
    comes before are dimension variables, tokens, and the const args that JAX hoisted. Idempotent,
    because JAX shares one module among computations that differ in their devices alone. An inner
    function gets its constants as operands of its calls, so following the uses of main's arguments
    finds its const args, at a cost that grows with the uses of constants and not with the size of
    the module.
    """
    if not count:
        return
    functions = _functions(module)
    main = functions["main"]
    with module.context:
        attributes_of = {"main": _argument_attributes(main)}
        before = len(attributes_of["main"]) - count - after
        marked: dict[str, set[int]] = {"main": set(range(before, before + count))}
        # Listed once: to MLIR's bindings each look at `arguments` is a walk of its own. Where main
        # is alone, as in most small programs, there is nothing that they could flow to.
        arguments = {"main": list(main.arguments) if len(functions) > 1 else []}
        pending: list[Any] = arguments["main"][before : before + count]
        while pending:
            for use in pending.pop().uses:
                # By name first: a view of each operation would take as long as all else here.
                if use.owner.name not in (_func.CallOp.OPERATION_NAME, _hlo.WhileOp.OPERATION_NAME):
                    continue
                op, index = use.owner.opview, use.operand_number
                if isinstance(op, _func.CallOp):
                    callee = _symbol(op.callee)
                    if callee not in arguments:
                        arguments[callee], marked[callee] = list(functions[callee].arguments), set()
                    if index not in marked[callee]:
                        marked[callee].add(index)
                        pending.append(arguments[callee][index])
                elif _is_invariant(op, index):
                    pending.extend(region.blocks[0].arguments[index] for region in op.regions)
        true = _ir.BoolAttr.get(True)
        alone = _ir.DictAttr.get({"jax.const": true})
        for name, indices in marked.items():
            attributes = attributes_of.get(name) or _argument_attributes(functions[name])
            for index in indices:
                if len(attributes[index]) == 0:  # nearly all: to look at each takes half as long
                    attributes[index] = alone
                elif "jax.const" not in attributes[index]:
                    named = {a.name: a.attr for a in attributes[index]}
                    attributes[index] = _ir.DictAttr.get(named | {"jax.const": true})
            functions[name].arg_attrs = _ir.ArrayAttr.get(attributes)


def _is_invariant(loop: Any, index: int) -> bool:
    """Whether a stablehlo.while hands its operand on unchanged from one turn to the next."""
    body = loop.regions[1].blocks[0]
    last = list(body.operations)[-1]
    return last.operands[index] == body.arguments[index]


def platforms_of_context(params: dict) -> tuple[str, ...] | None:
    """The platform that a mesh without devices names, if it is the context that was traced in."""
    mesh = params["ctx_mesh"]
    if not isinstance(mesh, jax.sharding.AbstractMesh) or mesh.abstract_device is None:
        return None
    return (mesh.abstract_device.platform,)


def computing_device(types: Sequence[Any], params: dict) -> jax.Device | None:
    """The device of this process on which a program with arguments of these types will run.

    The first of several. None where there is none, as for an abstract mesh, or where the devices
    are a description that programs are compiled for. Raises what lowering raises for devices that
    do not go together.
    """
    devices, _ = _devices_of(types, params)
    of_process = (
        device
        for device in devices or ()
        if not isinstance(device.client, _jaxlib.CompileOnlyPyClient)
        and device.process_index == device.client.process_index()
    )
    return next(of_process, None)


def _devices_of(
    types: Sequence[Any], params: dict, num_const_args: int = 0
) -> tuple[tuple[jax.Device, ...] | None, bool]:
    """The devices that a program will run on, in order, if its const args have no say.

    None for an abstract mesh; and whether anything decides, or they are the default. `params` have
    the shardings of `num_const_args` before those of the arguments, `types` has none of them.
    """
    jaxpr, resolved = params["jaxpr"].jaxpr, params["in_shardings"][num_const_args:]
    read = [True] * len(jaxpr.invars)
    if not params["keep_unused"]:  # an argument that is not read may be anywhere
        _, read = _partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))
    resolved = pjit._resolve_in_shardings(types, resolved)
    shardings = [
        *((s, stages.MismatchType.ARG_SHARDING, None)
          for s in itertools.compress(resolved, read[num_const_args:])),
        *((s, stages.MismatchType.OUT_SHARDING, None) for s in params["out_shardings"]),
        *((s, stages.MismatchType.SHARDING_INSIDE_COMPUTATION, source_info)
          for s, source_info in dispatch.get_intermediate_shardings(jaxpr)),
    ]  # fmt: skip
    mesh = pxla._get_context_mesh(params["ctx_mesh"])
    _, devices, _ = pxla._get_and_check_device_assignment(shardings, mesh)
    is_decided = not mesh.empty or any(sharding is not UNSPECIFIED for sharding, _, _ in shardings)
    return devices, is_decided


def without_arguments(params: dict, closed_jaxpr: core.ClosedJaxpr, name: str) -> dict:
    """The params of jit for a program that only returns, beside the program of `params`."""
    none: dict[str, tuple] = {"in_shardings": (), "in_layouts": (), "donated_invars": ()}
    count = len(closed_jaxpr.jaxpr.outvars)
    return params | none | {
        "jaxpr": closed_jaxpr,
        "name": name,
        "out_shardings": (UNSPECIFIED,) * count,
        "out_layouts": (None,) * count,
    }  # fmt: skip


# -- export ----------------------------------------------------------------------------------------


def argument_info(aval: Any, donated: bool = False) -> Any:
    """What a stage says of an argument."""
    return stages.ArgInfo(aval, donated)


def call_exported(exported: _export.Exported, operands: Sequence[Any]) -> list[Any]:
    """Apply an exported program to flat operands, without a rule for its derivative."""
    return _export.call_exported_p.bind(*operands, exported=exported)


def cotangent(value: Any, aval: Any) -> Any:
    """A cotangent as an exported derivative takes it: float0 where `aval` says so."""
    return _ad_util.zeros_like_jaxval(value) if aval.dtype == dtypes.float0 else value


def tangent_aval(aval: Any) -> Any:
    """The aval of the cotangent of an output: float0 for what has no derivative."""
    return aval.to_tangent_aval()


def can_be_exported(node_type: type) -> bool:
    """Whether a type of nodes of pytrees is registered with `jax.export`."""
    return node_type in _export.serialization_registry


def exported_shardings(exported: _export.Exported) -> tuple[Sequence[Any], Sequence[Any]]:
    """The shardings of inputs and outputs over the abstract mesh of an export, None where unsaid.

    The public `in_shardings_jax` needs a mesh, which whoever holds an Exported does not have.
    """
    return exported._in_named_shardings, exported._out_named_shardings


# -- execution -------------------------------------------------------------------------------------


def uncommitted(value: Any) -> Any:
    """A view of a single-device array that follows the arguments of a call to their device.

    Nothing is copied: the view shares the buffer. Arrays over several devices are returned as they
    are, because their placement is their meaning.
    """
    if type(value) is not array.ArrayImpl:
        if not isinstance(value, _prng.PRNGKeyArray):
            return value
        data = uncommitted(value._base_array)
        return value if data is value._base_array else _prng.PRNGKeyArray(value._impl, data)
    value._check_if_deleted()
    if not value._committed or value.sharding.num_devices > 1:
        return value
    return array.ArrayImpl(
        value.aval, value.sharding, value._arrays, committed=False, _skip_checks=True
    )


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Do something that the user did not ask for as if nothing were going on around it.

    No trace gets it, it runs on the devices that its operands are on whatever mesh is in context,
    and whether NaN is an error is asked of the user's own operations.
    """
    mesh = config.device_context.swap_local(_mesh.empty_concrete_mesh)
    abstract_mesh = config.abstract_mesh_context_manager.swap_local(_mesh.empty_abstract_mesh)
    try:
        with core.eval_context(), config.debug_nans(False), config.debug_infs(False):
            yield
    finally:
        config.abstract_mesh_context_manager.set_local(abstract_mesh)
        config.device_context.set_local(mesh)


def follows_arguments_as_it_is(value: Any) -> bool:
    """Whether `uncommitted` may be applied: not to a buffer with a layout of its own on a device.

    JAX takes what is uncommitted to have the device's default layout (jax 0.10.2). Raises
    RuntimeError for an array that has been deleted.
    """
    # Asked of each const arg at each first call, and of nearly all by this type alone.
    if type(value) is not array.ArrayImpl:
        if not isinstance(value, _prng.PRNGKeyArray):
            return True
        value = value._base_array
    value._check_if_deleted()  # jaxlib does not: the process would crash when it looks for a layout
    sharding = value.sharding
    if type(sharding) is not jax.sharding.SingleDeviceSharding and sharding.num_devices > 1:
        return True
    try:
        layout = value._pjrt_layout
    except jax.errors.JaxRuntimeError:  # there are platforms without layouts
        return pxla.is_default_layout(value.format.layout, sharding, value.aval)
    return _is_default_layout(layout, sharding, value.aval)


@functools.lru_cache(maxsize=2048)
def _is_default_layout(layout: Any, sharding: Any, aval: Any) -> bool:
    """`pxla.is_default_layout` of a layout as PJRT has it; to convert each would take longer."""
    layout = jax.experimental.layout.Layout.from_pjrt_layout(layout)
    return pxla.is_default_layout(layout, sharding, aval)


Executables = dict[tuple, Any]
"""What was compiled of modules of one text, by all else that decides: JAX's own key."""

_MOST_OF_ONE_TEXT = 8

# Which module is being compiled in this thread, and where its executable belongs.
_compiles: ContextVar[tuple[Any, Executables] | None] = ContextVar("_compiles", default=None)


def _keep_executables_without_their_modules() -> None:
    """Let a module be compiled into a table of ours, that of all modules of its text.

    JAX finds what it compiled by the module and forgets it with the module; and a module keeps an
    MLIR context, a megabyte of the host. This replaces the function that looks, one of five places
    where this project reaches into JAX (the others are named at `execute_named_programs_with`).
    Whatever else is compiled gets JAX's function, untouched.
    """
    stock = pxla._cached_compilation

    def cached_compilation(module: Any, *key: Any) -> Any:
        compiled, executables = _compiles.get() or (None, {})
        if module is not compiled:
            return stock(module, *key)
        executable = executables.get(key)
        if executable is None:
            executable = executables.setdefault(key, stock(module, *key))
            for oldest in list(executables)[:-_MOST_OF_ONE_TEXT]:
                executables.pop(oldest, None)
        return executable

    for name in ("cache_clear", "cache_info", "cache_keys", "evict_weakref"):
        setattr(cached_compilation, name, getattr(stock, name))
    pxla._cached_compilation = cached_compilation  # type: ignore[assignment]


_keep_executables_without_their_modules()


@dataclasses.dataclass
class _Compiled:
    """What was compiled of one lowered program, by settings: for JAX's keys, and for its own."""

    shared: dict[Settings, Executables] = dataclasses.field(default_factory=dict)
    own: dict[Settings, Executable] = dataclasses.field(default_factory=dict)


_compiled: weakref.WeakKeyDictionary[pxla.MeshComputation, _Compiled] = weakref.WeakKeyDictionary()
_settings_of: weakref.WeakKeyDictionary[Any, Settings] = weakref.WeakKeyDictionary()  # of modules


def compile_into(
    computation: Computation, executables_of: Callable[[Any], Executables], options: dict
) -> Executable:
    """Compile a computation, or find among the executables of its module what is compiled already.

    `executables_of` is asked for those where the program has not been compiled yet under the
    settings that are in force. `options` are those of `compile`.
    """
    has_options = any(options.values())
    if computation._executable is not None and not has_options:
        return computation._executable
    compiled = _compiled.setdefault(computation.lowered, _Compiled())
    now = settings()
    if has_options or now not in compiled.own:
        if now not in compiled.shared:
            compiled.shared.setdefault(now, executables_of(computation._hlo))
        twin = copy.copy(computation)  # another thread may give the original its executable
        twin._executable, twin._hlo = None, _for_settings(computation._hlo, now)
        token = _compiles.set((twin._hlo, compiled.shared[now]))
        try:
            executable = twin.compile(**options)
        finally:
            _compiles.reset(token)
        if has_options:
            return executable
        compiled.own.setdefault(now, executable)
    computation._executable = compiled.own[now]
    return computation._executable


def _for_settings(module: Any, now: Settings) -> Any:
    """A module, or a copy of it: JAX finds what it compiled by the module, whatever was set."""
    if _settings_of.setdefault(module, now) == now:
        return module
    with module.context:
        return _ir.Module.parse(mlir.module_to_bytecode(module))


def holds_callbacks(computation: Computation) -> bool:
    """Whether a lowered program calls functions of the user, which what is compiled keeps alive."""
    return bool(computation.compile_args["host_callbacks"] or computation.compile_args["keepalive"])


def register_cache(cache: Any, name: str) -> None:
    """Have `jax.clear_caches` clear a table that follows the protocol of JAX's caches."""
    _util.register_cache(cache, name)


def const_shardings(executable: Any, count: int) -> Sequence[Any]:
    """The shardings that an executable takes its leading `count` inputs in: the const args."""
    return executable._in_shardings[:count]


def count_cache_miss() -> None:
    """Count a miss of the C++ dispatcher, as JAX does for its own tests."""
    _util.test_event("jit_cpp_cache_miss")


@dataclasses.dataclass(frozen=True)
class ExecutableParts:
    """A compiled program without the values of its constants.

    - `code`: what PJRT's serialization makes of the executable.
    - `interface`: avals and shardings of all inputs, const args first, and of the outputs, as a
      `jax.export.Exported` without a module; what JAX's serialization of it leaves out follows.
    - `kept`: the inputs that the executable takes; the shardings of the others are unknown.
    - `in_kinds`, `out_kinds`: where the shardings come from, each of `KINDS_OF_SHARDINGS`, for kept
      inputs and for outputs; `in_memories`, `out_memories`: their memory kinds.
    """

    code: bytes
    interface: _export.Exported
    platform: str
    platform_version: str
    kept: tuple[int, ...]
    committed: bool
    argument_names: tuple[str, ...]
    weak_inputs: tuple[bool, ...]
    weak_outputs: tuple[bool, ...]
    in_kinds: tuple[str, ...]
    out_kinds: tuple[str, ...]
    in_memories: tuple[str | None, ...]
    out_memories: tuple[str | None, ...]


KINDS_OF_SHARDINGS = ("device", "mesh", "xla")


def _kind_of(sharding: Any) -> str:
    """One device; a mesh; or what XLA chose, which the executable says itself."""
    if isinstance(sharding, jax.sharding.SingleDeviceSharding):
        return "device"
    return "mesh" if isinstance(sharding, jax.sharding.NamedSharding) else "xla"


def platform_version(device: jax.Device) -> str:
    """What compiled code is tied to beside the platform: version of the client, kind of device."""
    kind = device.device_kind
    if device.platform == "cpu":  # where that is "cpu" of all
        kind += f" with instructions {_instructions():016x}"
    return f"{device.client.platform_version}; {kind}"


@functools.cache
def _instructions() -> int:
    """What tells CPUs of other instruction sets apart, and what XLA may use of them.

    JAX asks the same for its persistent cache (jax 0.10.2). A number of its own for each number of
    devices is what a client says, so one with a single device is made for this, in a millisecond.
    """
    client = _jaxlib.get_tfrt_cpu_client(asynchronous=True, num_devices=1)
    return _jaxlib.get_topology_for_devices(client.devices()).fingerprint()


def executable_parts(executable: Executable, in_tree: Any, out_tree: Any) -> ExecutableParts:
    """Take a compiled program apart; `in_tree` includes the const args.

    Raises NotImplementedError for a program that is more than its code: with effects, callbacks or
    references that it mutates.
    """
    unloaded = executable._unloaded_executable
    extras = {
        "ordered effects": unloaded.ordered_effects,
        "effects": unloaded.unordered_effects,
        "callbacks to the host": unloaded.host_callbacks or unloaded.keepalive,
        "captured mutable references": unloaded.mut,
    }
    for what, present in extras.items():
        if present:
            raise NotImplementedError(f"a compiled program with {what} cannot be serialized")
    avals, names = unloaded.all_args_info.in_avals, unloaded.all_args_info.debug_info
    kept = tuple(sorted(unloaded.kept_var_idx))
    named: list[Any] = [None] * len(avals)
    for i, sharding in zip(kept, unloaded.input_shardings, strict=True):
        named[i] = _abstract(sharding)
    outs = tuple(_abstract(s) for s in unloaded.output_shardings)
    interface = _export.Exported(
        fun_name=unloaded.name, in_tree=in_tree, in_avals=tuple(avals), out_tree=out_tree,
        out_avals=tuple(unloaded.output_avals), _has_named_shardings=True,
        _in_named_shardings=tuple(named), _out_named_shardings=outs,
        in_shardings_hlo=(None,) * len(avals), out_shardings_hlo=(None,) * len(outs),
        nr_devices=len(unloaded.device_list), platforms=(unloaded.backend.platform,),
        ordered_effects=(), unordered_effects=(), disabled_safety_checks=(),
        mlir_module_serialized=b"", module_kept_var_idx=(), uses_global_constants=False,
        calling_convention_version=_export.maximum_supported_calling_convention_version,
        _get_vjp=None,
    )  # fmt: skip
    return ExecutableParts(
        code=unloaded.xla_executable.serialize(),
        interface=interface,
        platform=unloaded.backend.platform,
        platform_version=platform_version(unloaded.device_list[0]),
        kept=kept,
        committed=unloaded.committed,
        argument_names=tuple(names.safe_arg_names(len(avals))),
        weak_inputs=tuple(aval.weak_type for aval in avals),
        weak_outputs=tuple(aval.weak_type for aval in unloaded.output_avals),
        in_kinds=tuple(map(_kind_of, unloaded.input_shardings)),
        out_kinds=tuple(map(_kind_of, unloaded.output_shardings)),
        in_memories=tuple(s.memory_kind for s in unloaded.input_shardings),
        out_memories=tuple(s.memory_kind for s in unloaded.output_shardings),
    )


def _loaded_code(code: bytes, devices: Sequence[jax.Device]) -> Any:
    assignment = np.array([[device.id for device in devices]])
    options = _compiler.get_compile_options(
        num_replicas=1, num_partitions=len(devices), device_assignment=assignment
    )
    # Without options the code would run on the devices that it was compiled for (jax 0.10.2).
    return devices[0].client.deserialize_executable(
        code, _jaxlib.DeviceList(tuple(devices)), options
    )


def _abstract(sharding: Any) -> Any:
    if not isinstance(sharding, jax.sharding.NamedSharding):
        return None
    return sharding.update(mesh=sharding.mesh.abstract_mesh)


def all_input_avals(executable: Executable) -> Sequence[Any]:
    """The avals of const args and arguments, those that are not used among them."""
    return executable._unloaded_executable.all_args_info.in_avals


def executable_of(parts: ExecutableParts, devices: Sequence[jax.Device]) -> Executable:
    """Put a compiled program together on devices, in the order of those it was compiled for."""
    device_list = _jaxlib.DeviceList(tuple(devices))
    backend = devices[0].client
    code = _loaded_code(parts.code, devices)
    interface = parts.interface
    in_avals = [
        aval.update(weak_type=weak)
        for aval, weak in zip(interface.in_avals, parts.weak_inputs, strict=True)
    ]
    out_avals = [
        core.update_aval_with_sharding(aval.update(weak_type=weak), sharding)
        for aval, weak, sharding in zip(
            interface.out_avals, parts.weak_outputs, interface._out_named_shardings, strict=True
        )
    ]

    def concrete(kind: str, memory: str | None, named: Any) -> Any:
        if kind == "device":
            return jax.sharding.SingleDeviceSharding(devices[0], memory_kind=memory)
        return UNSPECIFIED if kind == "xla" else pxla.maybe_concretize_mesh(named, device_list)

    kept_avals = [in_avals[i] for i in parts.kept]
    ins: Any = [
        concrete(kind, memory, interface._in_named_shardings[i])
        for kind, memory, i in zip(parts.in_kinds, parts.in_memories, parts.kept, strict=True)
    ]
    outs: Any = [
        concrete(*of_output)
        for of_output in zip(
            parts.out_kinds, parts.out_memories, interface._out_named_shardings, strict=True
        )
    ]
    if "xla" in parts.in_kinds:
        ins = pxla._maybe_get_and_check_in_shardings(code, ins, device_list, kept_avals, 0)
    if "xla" in parts.out_kinds:
        outs = pxla._maybe_get_and_check_out_shardings(code, outs, device_list, out_avals, 0)
    in_layouts, out_layouts = pxla._get_layouts_from_executable(
        code, (None,) * len(ins), (None,) * len(outs), 0, kept_avals, out_avals
    )
    names = core.DebugInfo("serialized", interface.fun_name, parts.argument_names, None)
    return pxla.UnloadedMeshExecutable(
        xla_executable=code, device_list=device_list, backend=backend,
        input_avals=kept_avals, input_shardings=ins, output_avals=out_avals,
        output_shardings=outs, committed=parts.committed, name=interface.fun_name,
        unordered_effects=[], ordered_effects=[], keepalive=(), host_callbacks=(),
        kept_var_idx=set(parts.kept), mut=None, xla_in_layouts=in_layouts,
        dispatch_in_layouts=pxla.get_dispatch_layouts(in_layouts, ins, kept_avals),
        xla_out_layouts=out_layouts, all_args_info=pxla.AllArgsInfo(in_avals, names),
        pgle_profiler=None,
    ).load()  # fmt: skip


def fastpath_data(
    executable: Executable,
    out_tree: Any,
    args: Sequence[Any],
    outputs: Sequence[Any],
    closed_jaxpr: core.ClosedJaxpr,
    const_args: Sequence[Any],
) -> Any:
    """What the C++ dispatcher needs to run the next call alone; None where it cannot."""
    return pjit._get_fastpath_data(
        executable, out_tree, args, outputs, closed_jaxpr.effects, closed_jaxpr.consts, None,
        const_args,
    )  # fmt: skip


@contextlib.contextmanager
def call_errors(
    fun: Callable, params: PjitParams, operands: Sequence[Any], call: tuple
) -> Iterator[None]:
    """Turn what can go wrong in a call into the errors that `jax.jit` raises for it."""
    name = getattr(fun, "__qualname__", getattr(fun, "__name__", str(fun)))
    try:
        with placement_errors(name, argument_types(operands), params.arg_names):
            yield
    except dtypes.InvalidInputException as error:
        for operand, name, aval in zip(operands, params.arg_names, params.in_avals, strict=False):
            if type(operand) not in pxla.shard_arg_handlers:
                raise TypeError(
                    f"Argument '{name}' of shape {aval.str_short()} of type {type(operand)} is not "
                    "a valid JAX type."
                ) from error
        raise TypeError(error.args[0]) from error
    except api_util.InternalFloatingPointError as error:
        api_util.maybe_recursive_nan_check(error, fun, *call)  # raises: it finds the operation
        raise


class CallCache:
    """The table of the C++ dispatcher for one choice of `constants`.

    JAX's own table is keyed by function and jit options alone (jax 0.10.2), so sharing it would
    let `jax.jit(f)` answer for `engine.jit(f)` and one side for the other. It is registered with
    JAX, so that `jax.clear_caches` empties it.
    """

    def __init__(self) -> None:
        self._cache = pjit.make_jit_cpp_cache(8192)
        register_cache(self, "dispatchers of engine.jit")

    def cache_clear(self) -> None:
        """Forget every program; the protocol of JAX's caches."""
        self._cache.clear()

    def cache_info(self) -> str:
        """How full the table is, in words; the protocol of JAX's caches."""
        return f"{self._cache.size()} of {self._cache.capacity()} functions"

    def cache_keys(self) -> list:
        """Nothing: jaxlib does not show its keys; the protocol of JAX's caches."""
        return []

    def dispatcher(
        self, fun: Callable, info: JitInfo, choices: Any, cache_miss: Callable, trace: Callable
    ) -> Any:
        """jaxlib's callable for `fun`: calls `cache_miss` for what it has not seen.

        `choices` is a key beside JAX's own, which two dispatchers of one function may differ in.
        `trace` is its method of that name, and what its `lower` and `eval_shape` begin with.
        """
        key = pxla.JitGlobalCppCacheKeys(
            donate_argnums=info.donate_argnums,
            donate_argnames=info.donate_argnames,
            device=info.device,
            backend=info.backend,
            in_shardings_treedef=info.in_shardings_treedef,
            in_shardings_leaves=info.in_shardings_leaves,
            out_shardings_treedef=info.out_shardings_treedef,
            out_shardings_leaves=info.out_shardings_leaves,
            in_layouts_treedef=info.in_layouts_treedef,
            in_layouts_leaves=info.in_layouts_leaves,
            out_layouts_treedef=info.out_layouts_treedef,
            out_layouts_leaves=info.out_layouts_leaves,
            compiler_options_kvs=info.compiler_options_kvs,
        )
        dispatcher = _jaxlib.pjit(
            _util.fun_name(fun),
            fun,
            cache_miss,
            info.static_argnums,
            info.static_argnames,
            (key, choices),
            _tree_util.dispatch_registry,
            pxla.cc_shard_arg,
            self._cache,
        )
        dispatcher = _util.wraps(fun)(dispatcher)
        dispatcher._fun = fun
        dispatcher._jit_info = _EngineJitInfo(*info)
        dispatcher._jit_info.trace = trace
        return dispatcher

    def call_derived(self, params: dict, operands: Sequence[Any], cache_miss: Callable) -> Any:
        """Call a program that JAX derived from one of ours: in C++ from the second call on."""
        shardings = {
            f"{of}_{what}_leaves": params[f"{of}_{what}"]
            for of in ("in", "out")
            for what in ("shardings", "layouts")
        }
        key = pxla.JitGlobalCppCacheKeys(
            donate_argnums=tuple(i for i, d in enumerate(params["donated_invars"]) if d),
            **shardings,
        )
        rest = tuple((name, value) for name, value in params.items() if name != "jaxpr")
        dispatcher = _jaxlib.pjit(
            params["name"],
            _stand_in(params["jaxpr"], params["name"].side, params["name"].choices, rest),
            cache_miss,
            [],
            [],
            key,
            _tree_util.dispatch_registry,
            pxla.cc_shard_arg,
            self._cache,
        )
        return dispatcher(*operands)


@_util.weakref_lru_cache
def _stand_in(jaxpr: core.ClosedJaxpr, side: str, choices: Any, params: tuple) -> Callable:
    """The function that a derived program goes by in a `CallCache`; it lives as long as `jaxpr`.

    Side and choices are keys of their own: the names of two sides are equal as strings.
    """
    del side, choices, params
    program = weakref.ref(jaxpr)  # its own key, which a value must not hold

    def derived(*operands: Any) -> Sequence[Any]:
        """What a dispatcher calls where jit is disabled, and nowhere else."""
        closed_jaxpr = program()
        assert closed_jaxpr is not None
        return core.jaxpr_as_fun(closed_jaxpr)(*operands)

    return derived


class _EngineJitInfo(pjit.PjitInfo):
    """The jit options of a dispatcher of the engine, which say that it is, and how it traces.

    They stand where `jax.jit` overwrites them. All else in the `__dict__` of a function is copied
    to whatever is wrapped around it (`functools.wraps`, `jax.grad`, `jax.vmap`), so a `trace` or a
    `lower` on the object would answer for `jax.jit(jax.grad(engine.jit(f)))` with `f` itself.
    """

    trace: Callable


def _trace_with_the_jit_info_of_the_engine() -> None:
    """Let dispatchers of the engine be traced by it: JAX's methods on the class are theirs, too.

    `lower`, `eval_shape` and `jax.eval_shape` begin with this function, and `jax.jit` sets it on
    the class again for each function (jax 0.10.2), so it is the module's name that is rebound.
    Dispatchers of plain `jax.jit` take JAX's function, untouched.
    """
    stock = pjit.jit_trace

    @functools.wraps(stock)
    @api_boundary
    def jit_trace(jit_func: Any, *args: Any, **kwargs: Any) -> Any:
        if type(jit_func._jit_info) is _EngineJitInfo:
            return jit_func._jit_info.trace(*args, **kwargs)
        return stock(jit_func, *args, **kwargs)

    pjit.jit_trace = jit_trace
    stock_jit(lambda: None)  # sets it on the class


_trace_with_the_jit_info_of_the_engine()
