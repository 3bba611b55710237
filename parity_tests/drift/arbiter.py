"""The arbiter: a program evaluated in double precision, to say which of two sides is nearer.

The program is traced as on any side, and its jaxpr is then evaluated one equation at a time with
every floating-point value widened to float64 or complex128. Nothing is compiled as a whole, so
XLA folds and fuses nothing; loops run in Python, which is slow, and rare: only a program whose
outputs failed the tolerance has an arbiter.

Where an equation cannot be widened (`NoArbiterError`), there is no arbiter and no rung for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from parity_tests.evidence.values import Value
from parity_tests.program import Program

# Keys of params that hold the one body of an equation, which is called with its operands.
_CALLS = {
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
}


class NoArbiterError(Exception):
    """The program cannot be evaluated in double precision; the message says why."""


def truth(program: Program) -> tuple[Value, ...]:
    """Evaluate a program in double precision; its floating outputs are float64 or complex128.

    Raises `NoArbiterError` where an equation cannot be widened, and what the program raises.
    """
    fun, args, kwargs = program.build()
    traced = jax.jit(fun).trace(*args, **kwargs)
    paths = [
        jax.tree_util.keystr(path)
        for path, _ in jax.tree_util.tree_flatten_with_path(traced.out_info)[0]
    ]
    inputs = [jnp.asarray(leaf) for leaf in jax.tree_util.tree_leaves((args, kwargs))]
    closed = traced.jaxpr
    if len(inputs) != len(closed.jaxpr.invars):
        raise NoArbiterError("the program has static arguments")
    with jax.enable_x64(True):
        results = _closed(closed, [_widened(each) for each in inputs])
        return tuple(
            Value(path, np.asarray(_plain(result)))
            for path, result in zip(paths, results, strict=True)
        )


def wide(dtype: Any) -> Any:
    """Return float64 or complex128 for a floating dtype, and any other dtype as it is."""
    if jax.dtypes.issubdtype(dtype, jax.dtypes.extended):
        return dtype
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return np.dtype(np.complex128)
    return np.dtype(np.float64) if jnp.issubdtype(dtype, jnp.floating) else dtype


def _widened(value: Any) -> Any:
    return value if wide(value.dtype) == value.dtype else value.astype(wide(value.dtype))


def _plain(value: Any) -> Any:
    is_key = jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(value) if is_key else value


def _closed(closed: Any, inputs: Sequence[Any]) -> list[Any]:
    return _evaluate(closed.jaxpr, [_widened(const) for const in closed.consts], inputs)


def _body(body: Any, inputs: Sequence[Any]) -> list[Any]:
    if isinstance(body, core.ClosedJaxpr):
        return _closed(body, inputs)
    return _evaluate(body, [], inputs)


def _evaluate(jaxpr: Any, consts: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *inputs], strict=True))

    def read(atom: Any) -> Any:
        if isinstance(atom, core.Literal):
            aval: Any = atom.aval
            return _widened(jnp.asarray(atom.val, aval.dtype))
        return values[atom]

    for equation in jaxpr.eqns:
        if equation.effects:
            raise NoArbiterError(f"{equation.primitive.name} has effects")
        results = _results(equation, [read(atom) for atom in equation.invars])
        for var, result in zip(equation.outvars, results, strict=True):
            _check(equation, var.aval, result)
            values[var] = result
    return [read(atom) for atom in jaxpr.outvars]


def _check(equation: Any, aval: Any, result: Any) -> None:
    if result.shape != aval.shape or result.dtype != wide(aval.dtype):
        raise NoArbiterError(
            f"{equation.primitive.name} gave {result.dtype}{list(result.shape)} for {aval}"
        )


def _results(equation: Any, operands: list[Any]) -> Sequence[Any]:
    name, params = equation.primitive.name, equation.params
    if name in _CALLS:
        return _body(params[_CALLS[name]], operands)
    if name in _CONTROL_FLOW:
        return _CONTROL_FLOW[name](params, operands)
    if not any(_is_floating(each) for each in operands):
        # Bits to floating point, iota and the like: exactly as the program has it, then widened.
        return [_widened(each) for each in _bind(equation, operands, params)]
    if name == "bitcast_convert_type":
        raise NoArbiterError("the program reads the bits of a floating-point value")
    return _bind(equation, operands, {key: _wide_param(each) for key, each in params.items()})


def _is_floating(value: Any) -> bool:
    return wide(value.dtype) in (np.float64, np.complex128)


def _bind(equation: Any, operands: list[Any], params: dict[str, Any]) -> Sequence[Any]:
    bound = equation.primitive.get_bind_params(params)
    results = equation.primitive.bind(*operands, **bound)
    return results if equation.primitive.multiple_results else [results]


def _wide_param(value: Any) -> Any:
    if isinstance(value, (core.Jaxpr, core.ClosedJaxpr)):
        raise NoArbiterError("a body of an equation that is not known here")
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(_wide_param(each) for each in value)
    return wide(value) if isinstance(value, np.dtype) else value


def _cond(params: dict[str, Any], operands: list[Any]) -> Sequence[Any]:
    index, *rest = operands
    branches = params["branches"]
    return _body(branches[min(max(int(index), 0), len(branches) - 1)], rest)


def _while(params: dict[str, Any], operands: list[Any]) -> Sequence[Any]:
    of_cond, of_body = params["cond_nconsts"], params["body_nconsts"]
    cond_consts, rest = operands[:of_cond], operands[of_cond:]
    body_consts, carry = rest[:of_body], rest[of_body:]
    while True:
        [going_on] = _body(params["cond_jaxpr"], [*cond_consts, *carry])
        if going_on.shape != ():
            raise NoArbiterError("a while loop with a batched condition")
        if not going_on:
            return carry
        carry = _body(params["body_jaxpr"], [*body_consts, *carry])


def _scan(params: dict[str, Any], operands: list[Any]) -> Sequence[Any]:
    n, m, length = params["num_consts"], params["num_carry"], params["length"]
    if length == 0:
        raise NoArbiterError("a scan over nothing")
    consts, carry, stacked = operands[:n], operands[n : n + m], operands[n + m :]
    steps = range(length - 1, -1, -1) if params["reverse"] else range(length)
    emitted: dict[int, list[Any]] = {}
    for step in steps:
        results = _body(params["jaxpr"], [*consts, *carry, *(each[step] for each in stacked)])
        carry, emitted[step] = results[:m], results[m:]
    rows = [emitted[step] for step in range(length)]
    return [*carry, *(jnp.stack(column) for column in zip(*rows, strict=True))]


_CONTROL_FLOW: dict[str, Callable[[dict[str, Any], list[Any]], Sequence[Any]]] = {
    "cond": _cond,
    "while": _while,
    "scan": _scan,
}
