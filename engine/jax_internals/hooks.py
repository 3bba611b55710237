"""The five hooks into JAX: nothing else in this project changes what JAX does.

`engine/__init__.py` calls `install` once; importing this file, or any other, patches nothing. Each
hook is transparent to programs that are not ours: they get JAX's own function, untouched.

| hook | what JAX has there | when ours acts |
|---|---|---|
| `_capture_numpy_arrays` | `DynamicJaxprTrace.new_const` | a trace meets a NumPy array |
| `_execute_named_programs` | the implementation of `jit_p` | the program has a `ProgramName` |
| `_transpose_named_programs` | the transposition of `jit_p` | the program has a `ProgramName` |
| `_trace_dispatchers` | `pjit.jit_trace` | the function has an `EngineJitInfo` |
| `_keep_executables` | `pxla._cached_compilation` | `compile_into` compiles the module |

A primitive of our own under `jax.jit` was the alternative to most of them. It would need a copy of
each transformation rule of jit, and every reader of jaxprs would not know it.
"""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from jax._src import pjit
from jax._src.interpreters import ad as _ad
from jax._src.interpreters import partial_eval as _partial_eval
from jax._src.interpreters import pxla

from engine.jax_internals.compiling import MOST_OF_ONE_TEXT, being_compiled
from engine.jax_internals.dispatch import EngineJitInfo
from engine.jax_internals.names import api_boundary
from engine.jax_internals.source_info import hide_from_tracebacks
from engine.jax_internals.tracing import ProgramName, stock_jit


@functools.cache  # a module that is reloaded must not put a hook around a hook
def install(
    *,
    capture: Callable[[np.ndarray], np.ndarray],
    execute: Callable[..., Sequence[Any]],
    tracing_for: Callable[[Any], AbstractContextManager[None]],
    packages: tuple[str, ...],
) -> None:
    """Put the five hooks into JAX, and hide the frames of `packages` from its tracebacks.

    `capture` takes a NumPy array that a trace meets and returns the array that stands for it;
    `execute` runs a program that JAX derived from one of ours, given the operands and params of
    jit; `tracing_for(side)` is a context in which JAX traces in the form of a side.
    """
    _capture_numpy_arrays(capture)
    _execute_named_programs(execute)
    _transpose_named_programs(tracing_for)
    _trace_dispatchers()
    _keep_executables()
    for package in packages:
        hide_from_tracebacks(_folder_of(package))


def _folder_of(package: str) -> str:
    found = importlib.util.find_spec(package)  # which does not import it
    assert found is not None
    assert found.origin is not None
    return os.path.dirname(found.origin)


def _capture_numpy_arrays(capture: Callable[[np.ndarray], np.ndarray]) -> None:
    """Let `capture` see each NumPy array when a trace of JAX meets it as a constant.

    After the trace it is too late: the traced function itself may write to the array again.
    """
    trace = _partial_eval.DynamicJaxprTrace
    stock = trace.new_const

    def new_const(self: Any, c: Any, source_info: Any, aval: Any = None) -> Any:
        if isinstance(c, np.ndarray):  # asked here, since most values that come by are none
            c = capture(c)
        return stock(self, c, source_info, aval)

    for name in ("new_const", "pure", "lift"):  # one function by three names (jax 0.10.2)
        setattr(trace, name, new_const)


def _execute_named_programs(execute: Callable[..., Sequence[Any]]) -> None:
    """Run programs named by `ProgramName` with `execute` when they are called outside of a trace.

    Without this hook `jax.grad(engine.jit(f))(x)` would execute its derived programs through the
    process's own pipeline, in silence.
    """
    stock = pjit.jit_p.impl

    def implementation(*args: Any, **params: Any) -> Sequence[Any]:
        if type(params["name"]) is ProgramName:
            return execute(*args, **params)
        return stock(*args, **params)

    pjit.jit_p.def_impl(implementation)


def _transpose_named_programs(
    tracing_for: Callable[[Any], AbstractContextManager[None]],
) -> None:
    """Transpose programs named by `ProgramName` in the form of their side.

    JAX transposes long after the program was bound, when it knows the cotangent, and calls backward
    rules of the user then.
    """
    stock = _ad.fancy_transposes[pjit.jit_p]

    @functools.wraps(stock)
    def transpose(cotangents: Any, *operands: Any, **params: Any) -> Any:
        if type(params["name"]) is not ProgramName:
            return stock(cotangents, *operands, **params)
        with tracing_for(params["name"].side):
            return stock(cotangents, *operands, **params)

    _ad.fancy_transposes[pjit.jit_p] = transpose


def _trace_dispatchers() -> None:
    """Let the engine trace its own dispatchers, which share JAX's methods on jaxlib's class.

    `lower`, `eval_shape` and `jax.eval_shape` begin with `pjit.jit_trace`. `jax.jit` sets the
    method on the class again for each function (jax 0.10.2), so the name in the module is rebound.
    """
    stock = pjit.jit_trace

    @functools.wraps(stock)
    @api_boundary
    def jit_trace(jit_func: Any, *args: Any, **kwargs: Any) -> Any:
        if type(jit_func._jit_info) is EngineJitInfo:
            return jit_func._jit_info.trace(*args, **kwargs)
        return stock(jit_func, *args, **kwargs)

    pjit.jit_trace = jit_trace
    stock_jit(lambda: None)  # sets it on the class


def _keep_executables() -> None:
    """Let `compile_into` keep executables without their modules.

    JAX finds what it compiled by the module, and a module keeps an MLIR context: a megabyte of host
    memory. The module that is being compiled in this thread goes into a table of ours instead.
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
