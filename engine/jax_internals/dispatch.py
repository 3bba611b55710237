"""jaxlib's dispatcher in C++ with a cache miss of ours: calls that run no Python."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jax._src import api_util, core, dtypes, pjit
from jax._src import tree_util as _tree_util
from jax._src import util as _util
from jax._src.interpreters import pxla
from jax._src.lib import _jax as _jaxlib

from engine.jax_internals.compiling import register_cache
from engine.jax_internals.names import Executable, JitInfo, PjitParams
from engine.jax_internals.placement import placement_errors
from engine.jax_internals.tracing import argument_types


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


def count_cache_miss() -> None:
    """Count a miss of the C++ dispatcher, as JAX does for its own tests."""
    _util.test_event("jit_cpp_cache_miss")


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
        dispatcher._jit_info = EngineJitInfo(*info)
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


class EngineJitInfo(pjit.PjitInfo):
    """The jit options of a dispatcher of the engine, which say that it is, and how it traces.

    They stand where `jax.jit` overwrites them. All else in the `__dict__` of a function is copied
    to whatever is wrapped around it (`functools.wraps`, `jax.grad`, `jax.vmap`), so a `trace` or a
    `lower` on the object would answer for `jax.jit(jax.grad(engine.jit(f)))` with `f` itself.
    """

    trace: Callable
