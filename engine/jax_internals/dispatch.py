"""jaxlib's dispatcher in C++ with a cache miss of ours: calls that run no Python.

The dispatcher keeps executables and const args in a table, and calls the cache miss only for
arguments that are not in it.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from jax._src import api_util, core, dtypes, pjit
from jax._src import tree_util as _tree_util
from jax._src import util as _util
from jax._src.interpreters import pxla
from jax._src.lib import _jax as _jaxlib

from engine.jax_internals.compiling import register_cache
from engine.jax_internals.differences import ClosedJaxpr
from engine.jax_internals.names import Executable, JitInfo, PjitParams
from engine.jax_internals.placement import PlacementError, with_arguments
from engine.jax_internals.tracing import argument_types


def fastpath_data(
    executable: Executable,
    out_tree: Any,
    args: Sequence[Any],
    outputs: Sequence[Any],
    closed_jaxpr: ClosedJaxpr,
    const_args: Sequence[Any],
) -> Any:
    """Return the data for the C++ dispatcher to run the next call alone; None where it cannot."""
    return pjit._get_fastpath_data(
        executable, out_tree, args, outputs, closed_jaxpr.effects, closed_jaxpr.consts, None,
        const_args,
    )  # fmt: skip


@contextlib.contextmanager
def call_errors(
    fun: Callable[..., Any], params: PjitParams, operands: Sequence[Any], call: tuple[Any, ...]
) -> Iterator[None]:
    """Turn errors of a call into the errors that `jax.jit` raises; `call` is (args, kwargs)."""
    try:
        yield
    except PlacementError as error:
        name = getattr(fun, "__qualname__", None) or getattr(fun, "__name__", None) or str(fun)
        types = argument_types(operands)
        raise with_arguments(error, name, types, params.arg_names, params.params) from None
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


def count_cache_miss() -> None:
    """Count a miss of the C++ dispatcher, as JAX does for its own tests."""
    _util.test_event("jit_cpp_cache_miss")


class Trace(NamedTuple):
    """How a dispatcher's function is traced: in a context, and what becomes of the result.

    `stage` takes the context's value, JAX's record of the traced program and its operands. The
    steps are apart because the hook calls JAX's tracer itself, with no frame of ours around it.
    """

    fun: Callable[..., Any]
    jit_info: JitInfo
    context: Callable[[], contextlib.AbstractContextManager[Any]]
    stage: Callable[[Any, PjitParams, list[Any]], Any]


class CallCache:
    """The table of the C++ dispatcher for one value of `constants`.

    JAX's own table is keyed by function and jit options alone (jax 0.10.2): in it, `jax.jit(f)`
    would answer for `engine.jit(f)`, and one side for the other. `jax.clear_caches` clears this
    table, too.
    """

    def __init__(self) -> None:
        self._cache = pjit.make_jit_cpp_cache(8192)
        register_cache(self, "dispatchers of engine.jit")

    def cache_clear(self) -> None:
        """Forget everything; part of JAX's protocol of caches."""
        self._cache.clear()

    def cache_info(self) -> str:
        """Say how full the table is, in words; part of JAX's protocol of caches."""
        return f"{self._cache.size()} of {self._cache.capacity()} functions"

    def cache_keys(self) -> list[Any]:
        """Return no keys, because jaxlib does not show them; part of JAX's protocol of caches."""
        return []

    def dispatcher(
        self,
        fun: Callable[..., Any],
        info: JitInfo,
        choices: Any,
        cache_miss: Callable[..., Any],
        trace: Trace,
    ) -> Any:
        """Make jaxlib's callable for `fun`, which calls `cache_miss` for arguments of unseen types.

        `choices` completes JAX's key: two dispatchers of one function may differ in it. `trace` is
        done by the callable's method of that name; its `lower` and `eval_shape` begin with it.
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
        dispatcher._jit_info = EngineJitInfo(*info)
        dispatcher._jit_info.trace = trace
        return dispatcher

    def call_derived(
        self, params: dict[str, Any], operands: Sequence[Any], cache_miss: Callable[..., Any]
    ) -> Sequence[Any]:
        """Call a program that JAX derived from an engine program; in C++ after the first call."""
        rest = tuple((name, value) for name, value in params.items() if name != "jaxpr")
        name = params["name"]
        function = _function_of(params["jaxpr"], name.side, name.choices, rest)
        return self.flat_dispatcher(function, params, cache_miss)(*operands)

    def flat_dispatcher(
        self, function: Callable[..., Any], params: dict[str, Any], cache_miss: Callable[..., Any]
    ) -> Callable[..., Sequence[Any]]:
        """Make jaxlib's callable for a traced program, from flat operands to flat results.

        `function`, the key in the table, must live as long as calls are to be quick. `params` are
        those of the jit equation.
        """
        shardings = {
            f"{of}_{what}_leaves": params[f"{of}_{what}"]
            for of in ("in", "out")
            for what in ("shardings", "layouts")
        }
        key = pxla.JitGlobalCppCacheKeys(
            donate_argnums=tuple(i for i, d in enumerate(params["donated_invars"]) if d),
            **shardings,
        )
        call: Callable[..., Sequence[Any]] = _jaxlib.pjit(
            params["name"],
            function,
            cache_miss,
            [],
            [],
            key,
            _tree_util.dispatch_registry,
            pxla.cc_shard_arg,
            self._cache,
        )
        return call


@_util.weakref_lru_cache
def _function_of(
    jaxpr: ClosedJaxpr, side: str, choices: Any, params: tuple[Any, ...]
) -> Callable[..., Any]:
    """Make the function that is the key of a derived program in a `CallCache`, while `jaxpr` lives.

    Side and choices are parameters beside the name in `params`: names are equal as plain strings.
    """
    del side, choices, params
    program = weakref.ref(jaxpr)  # weak, because the value in a cache must not hold its key

    def derived(*operands: Any) -> Sequence[Any]:
        """Evaluate the program itself; the dispatcher calls this only where jit is disabled."""
        closed_jaxpr = program()
        assert closed_jaxpr is not None
        return evaluated(closed_jaxpr, operands)

    return derived


def evaluated(closed_jaxpr: ClosedJaxpr, operands: Sequence[Any]) -> Sequence[Any]:
    """Evaluate a program equation by equation, as JAX does where jit is disabled."""
    return list(core.jaxpr_as_fun(closed_jaxpr)(*operands))


class WatchedJitInfo(pjit.PjitInfo):
    """The jit options of a function that JAX jits by itself, and whose traces are told.

    A type and no attribute, because users pickle jitted functions with all that they hold.
    """


def watched_jit(fun: Callable[..., Any], info: JitInfo) -> Any:
    """Make what `jax.jit` makes, JAX's own dispatcher; `hooks.tell_traces` tells its traces."""
    return pjit._cpp_pjit(fun, WatchedJitInfo(*info))


class EngineJitInfo(pjit.PjitInfo):
    """The jit options of an engine dispatcher; the type marks it as ours, `trace` traces it.

    Why here: `functools.wraps`, `jax.grad` and `jax.vmap` copy the `__dict__` of a function to its
    wrapper, so with a `trace` in it `jax.jit(jax.grad(engine.jit(f)))` would trace `f` itself. The
    jit options are copied too, but `jax.jit` overwrites them.
    """

    trace: Trace
