"""The eleven hooks into JAX: nothing else in this project changes what JAX does.

`engine/__init__.py` calls `install` once for seven of them; importing a file patches nothing. Each
hook calls JAX's own function for programs that are not the engine's.

| hook | replaces | acts when |
|---|---|---|
| `_capture_numpy_arrays` | `DynamicJaxprTrace.new_const` | a trace meets a NumPy array |
| `_decide_literals` | `core.is_literalable` | a program of the engine is traced |
| `_execute_named_programs` | the implementation of `jit_p` | the program has a `ProgramName` |
| `_transpose_named_programs` | the transposition of `jit_p` | the program has a `ProgramName` |
| `_trace_dispatchers` | `pjit.jit_trace` | the function has an `EngineJitInfo` |
| `_keep_executables` | `pxla._cached_compilation` | `compile_into` compiles the module |
| `_tell_the_side` | `value` of JAX's flag | a library reads it while a program is traced |
| `tell_traces`, on demand | `pjit._infer_params` | the function has a `WatchedJitInfo` |
| `tell_traces`, on demand | `pjit.jit_trace` | JAX traces a stage |
| `tell_captures`, on demand | `DynamicJaxprTrace.new_const` | a trace meets an array |
| `name_functions`, on demand | `api_util.fun_sourceinfo` | JAX names a function that it traces |

A primitive of our own under `jax.jit` was the alternative to most of them. It would need a copy of
each transformation rule of jit, and no tool that reads jaxprs would know it.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

import jax
import numpy as np
from jax._src import api_util, config, core, pjit
from jax._src.interpreters import ad as _ad
from jax._src.interpreters import partial_eval as _partial_eval
from jax._src.interpreters import pxla

from engine.jax_internals.compiling import MOST_OF_ONE_TEXT, being_compiled
from engine.jax_internals.dispatch import EngineJitInfo, WatchedJitInfo
from engine.jax_internals.literals import decide
from engine.jax_internals.names import api_boundary
from engine.jax_internals.source_info import hide_from_tracebacks
from engine.jax_internals.tracing import ProgramName, infer_params, staged_by_jax, stock_jit


@functools.cache  # `importlib.reload(engine)` must not put a hook around a hook
def install(
    *,
    capture: Callable[[np.ndarray], np.ndarray],
    execute: Callable[..., Sequence[Any]],
    tracing_again: Callable[[ProgramName], AbstractContextManager[Any]],
    traced_form: Callable[[], bool | None],
    packages: tuple[str, ...],
) -> None:
    """Put the seven hooks into JAX, and hide the frames of `packages` from its tracebacks.

    `capture` takes a NumPy array that a trace meets and returns the array to use in its place.
    `execute` takes the operands and params of jit and runs a program that JAX derived from an
    engine program. `tracing_again(name)` is a context in which JAX traces what belongs to the
    program of this name, in its form. `traced_form` says whether arrays are Literals in the program
    that is traced now in this thread, None where there is none.
    """
    _capture_numpy_arrays(capture)
    _decide_literals()
    _execute_named_programs(execute)
    _transpose_named_programs(tracing_again)
    _trace_dispatchers()
    _keep_executables()
    _tell_the_side(traced_form, {"jax", "jaxlib", *packages})
    for package in packages:
        hide_from_tracebacks(_folder_of(package))


def _folder_of(package: str) -> str:
    found = importlib.util.find_spec(package)  # without importing it
    assert found is not None
    assert found.origin is not None
    return os.path.dirname(found.origin)


def _capture_numpy_arrays(capture: Callable[[np.ndarray], np.ndarray]) -> None:
    """Pass each NumPy array to `capture` when a trace of JAX meets it as a constant.

    Not after the trace, because the traced function may write to the array before it ends.
    """
    stock = _partial_eval.DynamicJaxprTrace.new_const

    def new_const(self: Any, c: Any, source_info: Any, aval: Any = None) -> Any:
        if isinstance(c, np.ndarray):  # here and not in `capture`: most values are no arrays
            c = capture(c)
        return stock(self, c, source_info, aval)

    _capture_by(new_const)


def _capture_by(new_const: Callable[..., Any]) -> None:
    for name in ("new_const", "pure", "lift"):  # one function by three names (jax 0.10.2)
        setattr(_partial_eval.DynamicJaxprTrace, name, new_const)


def tell_captures(told: Callable[[Any], object]) -> None:
    """Tell a function each array that a trace of JAX meets as a constant. Installed on demand."""
    stock = _partial_eval.DynamicJaxprTrace.new_const

    def new_const(self: Any, c: Any, source_info: Any, aval: Any = None) -> Any:
        if isinstance(c, (np.ndarray, jax.Array)) and not isinstance(c, core.Tracer):
            told(c)
        return stock(self, c, source_info, aval)

    _capture_by(new_const)


def name_functions(name: Callable[[Any, str], str]) -> None:
    """Have a function name what JAX traces, from that and JAX's text. Installed on demand.

    JAX's text is "step at model.py:12", or "<unknown>" for what has no code of its own.
    """
    stock = api_util.fun_sourceinfo

    def fun_sourceinfo(fun: Callable[..., Any]) -> str:
        return name(fun, stock(fun))

    api_util.fun_sourceinfo = fun_sourceinfo


def _decide_literals() -> None:
    """Let the side of a program decide whether an array is a Literal or a constvar in it."""
    core.is_literalable = decide(core.is_literalable)


def _execute_named_programs(execute: Callable[..., Sequence[Any]]) -> None:
    """Run programs named by `ProgramName` with `execute` when they are called outside of a trace.

    Without this hook `jax.grad(engine.jit(f))(x)` would silently execute its derived programs
    through stock JAX.
    """
    stock: Callable[..., Sequence[Any]] = pjit.jit_p.impl

    def implementation(*args: Any, **params: Any) -> Sequence[Any]:
        if type(params["name"]) is ProgramName:
            return execute(*args, **params)
        return stock(*args, **params)

    pjit.jit_p.def_impl(implementation)


def _transpose_named_programs(
    tracing_again: Callable[[ProgramName], AbstractContextManager[Any]],
) -> None:
    """Transpose programs named by `ProgramName` in the form of their side.

    JAX transposes when it knows the cotangent, long after the program was bound, and calls the
    user's backward rules then.
    """
    stock = _ad.fancy_transposes[pjit.jit_p]

    @functools.wraps(stock)
    def transpose(cotangents: Any, *operands: Any, **params: Any) -> Any:
        name = params["name"]
        if type(name) is not ProgramName:
            return stock(cotangents, *operands, **params)
        with tracing_again(name):
            return stock(cotangents, *operands, **params)

    _ad.fancy_transposes[pjit.jit_p] = transpose


def _trace_dispatchers() -> None:
    """Let the engine trace its own dispatchers, which have jaxlib's class, and so JAX's methods.

    `lower`, `eval_shape` and `jax.eval_shape` begin with `pjit.jit_trace`. This rebinds the name in
    the module, because `jax.jit` sets the class's method again for each function (jax 0.10.2).
    """
    stock = inspect.unwrap(pjit.jit_trace)  # without its own `api_boundary`, a frame more

    @functools.wraps(stock)
    @api_boundary
    def jit_trace(jit_func: Any, *args: Any, **kwargs: Any) -> Any:
        if type(jit_func._jit_info) is not EngineJitInfo:
            return stock(jit_func, *args, **kwargs)
        trace = jit_func._jit_info.trace
        with trace.context() as in_force:
            program, operands = infer_params(trace.fun, trace.jit_info, args, kwargs)
        return trace.stage(in_force, program, operands)

    pjit.jit_trace = jit_trace
    stock_jit(lambda: None)  # sets the class's method


@functools.cache
def tell_traces(told: Callable[..., object]) -> None:
    """Tell a function each program that JAX has traced of a function with a `WatchedJitInfo`.

    `told` takes the function, its options, its arguments as (args, kwargs), JAX's record of the
    program, the flat operands, and whether it is traced for a stage. JAX asks `_infer_params` for
    the program of each call that its dispatcher does not know, and of each stage. What becomes a
    part of a program that JAX is tracing is not told. Installed on demand: it makes the stack of
    each trace two frames deeper.
    """
    stock, stock_trace = pjit._infer_params, pjit.jit_trace
    is_stage = ContextVar("is_stage", default=False)

    @functools.wraps(stock_trace)
    def jit_trace(jit_func: Any, *args: Any, **kwargs: Any) -> Any:
        before = is_stage.set(True)
        try:
            return stock_trace(jit_func, *args, **kwargs)
        finally:
            is_stage.reset(before)

    def trace(fun: Any, ji: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        program, operands = stock(fun, ji, args, kwargs)
        told(fun, ji, (args, kwargs), program, operands, is_stage.get())
        return program, operands

    # CPython 3.11 to 3.13 keep frames in chunks of memory, and map and unmap one at each call that
    # crosses the end of the last: a trace deep in a test took up to twice its time. A frame that
    # wants more than half a MiB gets a chunk of one, in which the calls below it have room.
    trace.__code__ = trace.__code__.replace(co_stacksize=70_000)

    @functools.wraps(stock)
    def tell(fun: Any, ji: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        is_told = type(ji) is WatchedJitInfo and not staged_by_jax()
        return (trace if is_told else stock)(fun, ji, args, kwargs)

    pjit._infer_params, pjit.jit_trace = tell, jit_trace
    stock_jit(lambda: None)  # as in `_trace_dispatchers`


def _keep_executables() -> None:
    """Let `compile_into` keep executables without their modules.

    JAX forgets an executable with its module, and a module holds an MLIR context: a megabyte of
    memory. A module that `compile_into` compiles in this thread gets its executable from our table.
    """
    stock = pxla._cached_compilation

    def cached_compilation(module: Any, *key: Any) -> Any:
        compiled, executables = being_compiled.get() or (None, {})
        if module is not compiled:
            return stock(module, *key)
        executable = executables.get(key)
        if executable is None:
            executable = executables.setdefault(key, stock(module, *key))
            for oldest in list(executables)[:-MOST_OF_ONE_TEXT]:
                executables.pop(oldest, None)
        return executable

    for name in ("cache_clear", "cache_info", "cache_keys", "evict_weakref"):
        setattr(cached_compilation, name, getattr(stock, name))
    pxla._cached_compilation = cached_compilation  # type: ignore[assignment]


def _tell_the_side(traced_form: Callable[[], bool | None], owners: set[str]) -> None:
    """Let a read of JAX's flag from outside of `owners`, which are packages, give the traced side.

    A library that branches on the flag would take the branch of the other form. JAX's own reads
    give JAX's own value, and jaxlib takes the flag for its cache keys from its own memory. Only the
    flag's object gets another class, so that no other setting is read through Python.
    """
    flag: Any = getattr(config, "use_simplified_jaxpr_constants", None)
    if flag is None:  # a JAX without the flag
        return
    stock = type(flag)
    own_value = stock.value.__get__

    class FlagOfTheTrace(stock):  # type: ignore[misc, valid-type]
        __slots__ = ()

        @property
        def value(self) -> bool:
            simplified = traced_form()
            if simplified is None or _package_of_the_reader() in owners:
                return bool(own_value(self))
            return simplified

    flag.__class__ = FlagOfTheTrace


def _package_of_the_reader() -> str:
    """Return the package that reads a setting of JAX: by itself, or through `jax.config`."""
    frame = sys._getframe(2)
    while frame.f_globals is vars(config) and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
