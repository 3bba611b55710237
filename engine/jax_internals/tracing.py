"""Tracing for a call: the options of jit, its operands, and the names of engine programs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.experimental.layout
from jax._src import config, core, dispatch, pjit
from jax._src.interpreters import partial_eval as _partial_eval

from engine.jax_internals.differences import EXPANDS_BEFORE_A_CALL, ClosedJaxpr
from engine.jax_internals.names import JitInfo, PjitParams

# Read at import, so that a user may replace it: `jax.jit = engine.jit`.
stock_jit: Any = jax.jit

_JIT_OPTIONS = {
    name: parameter.default
    for name, parameter in inspect.signature(stock_jit).parameters.items()
    if parameter.kind is inspect.Parameter.KEYWORD_ONLY
}


def jit_info(fun: Callable[..., Any], options: dict[str, Any]) -> JitInfo:
    """Parse the options of `jax.jit`, with its errors, without making its dispatcher."""
    if not options.keys() <= _JIT_OPTIONS.keys():
        stock_jit(fun, **options)  # raises, and names the unknown option
    return pjit._parse_jit_arguments(fun, **_JIT_OPTIONS | options, use_resource_env=False)


def check_tracing_is_allowed(jit_info: JitInfo) -> None:
    """Raise RuntimeError within `jax.no_tracing`, as `jax.jit` does when it must trace."""
    if config.no_tracing.value:
        raise RuntimeError(
            f"re-tracing function {jit_info.fun_sourceinfo} for `jit`, but 'no_tracing' is set"
        )


# Traces a function for a call; returns JAX's record of the traced program, and its operands. JAX's
# own function, because a function around it would make the user's stack deeper than `jax.jit` does.
infer_params: Callable[
    [Callable[..., Any], JitInfo, tuple[Any, ...], dict[str, Any]], tuple[PjitParams, list[Any]]
] = pjit._infer_params


def argument_types(args: Sequence[Any]) -> list[Any]:
    """Return JAX's type of each argument: aval, sharding, format, and whether it is committed."""
    return [pjit.convert_to_metaty(arg) for arg in args]


def staged_by_jax() -> bool:
    """Say whether a function called now becomes a part of a program that JAX is tracing."""
    trace = core.trace_ctx.trace
    while trace is not None:
        if isinstance(trace, _partial_eval.DynamicJaxprTrace):
            return True
        trace = getattr(trace, "parent_trace", None)
    return False


def outside_of_transformations() -> bool:
    """Say whether a call made now executes, rather than being traced or differentiated."""
    return core.trace_state_clean() and not config.debug_key_reuse.value


def is_expanded_before_a_call(closed_jaxpr: ClosedJaxpr) -> bool:
    """Say whether a program has hijax primitives, and JAX expands them before it calls it."""
    return (
        EXPANDS_BEFORE_A_CALL
        and closed_jaxpr.is_high
        and not any(aval.is_high for aval in (*closed_jaxpr.in_avals, *closed_jaxpr.out_avals))
    )


def expanded(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Return a program with each hijax primitive replaced by what its rule traces, in Python.

    JAX remembers the result, and its stages have the same one.
    """
    return _partial_eval.lower_jaxpr2(closed_jaxpr)


def check_arguments(args: Sequence[Any]) -> list[Any]:
    """Validate operands as JAX does before it executes, and strip trivial tracers."""
    for arg in args:
        dispatch.check_arg(arg)
    values = [core.full_lower(arg) for arg in args]
    core.check_eval_args(values)
    return values


def bind_jit(args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Apply JAX's jit primitive, for which every transformation has a rule."""
    results: list[Any] = pjit.jit_p.bind(*args, **params)
    return results


class ProgramName(str):
    """The name of a jitted program, with the side and the choices that it was traced with.

    `asked_for` is the side of a program that is executed by itself. It is not `side` where the
    program was traced into one that seemed to be plain JAX's.

    JAX's rules for jit carry `name` unchanged through jvp, vmap, partial evaluation and
    transposition (jax 0.10.2), so derived programs know their side, too. A primitive of our own was
    the alternative; it would need a copy of each of these rules, and checkify, jet, sparsify and
    other tools that read jaxprs would not know it.
    """

    __slots__ = ("asked_for", "choices", "side")
    side: str
    asked_for: str
    choices: Any  # `engine.configuration.choices.Choices`

    def __new__(cls, name: str, side: str, asked_for: str, choices: Any) -> ProgramName:
        """Name a program that was traced for `side` with `choices`."""
        self = str.__new__(cls, name)
        self.side = side
        self.asked_for = asked_for
        self.choices = choices
        return self
