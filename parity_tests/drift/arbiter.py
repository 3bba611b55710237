"""The arbiter: a program evaluated in double precision, to say which of two sides is nearer.

The program is traced as on any side. Its jaxpr is then evaluated one equation at a time with every
floating-point value widened to float64 or complex128. Nothing is compiled as a whole, so XLA folds
and fuses nothing. Loops run in Python, which is slow, and rare: only a program whose outputs failed
the tolerance is arbitrated.

Where an equation cannot be widened (`NoArbiterError`), there is no arbiter and no rung for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.evidence.values import Value
from parity_tests.jax_defaults import jax_defaults, with_64_bits
from parity_tests.jaxpr.bodies import Call, Cond, Scan, While, bodies_in, structure_of
from parity_tests.jaxpr.captured import words_of
from parity_tests.jaxpr.interpreter import bind, evaluate
from parity_tests.program import Program


class NoArbiterError(Exception):
    """The program cannot be evaluated in double precision; the message says why."""


def truth(program: Program) -> tuple[Value, ...]:
    """Evaluate a program in double precision; its floating outputs are float64 or complex128.

    Raises `NoArbiterError` where an equation cannot be widened, and whatever the program raises.
    """
    fun, args, kwargs = program.build()
    traced = jax.jit(fun).trace(*args, **kwargs)
    paths = [
        jax.tree_util.keystr(path)
        for path, _ in jax.tree_util.tree_flatten_with_path(traced.out_info)[0]
    ]
    with jax_defaults():
        inputs = [jnp.asarray(leaf) for leaf in jax.tree_util.tree_leaves((args, kwargs))]
    if len(inputs) != len(traced.jaxpr.jaxpr.invars):
        raise NoArbiterError("the program has static arguments")
    results = true_results(traced.jaxpr, inputs)
    return tuple(Value(path, result) for path, result in zip(paths, results, strict=True))


@jax_defaults()
def true_results(
    closed: Any, inputs: Sequence[Any], *, most_equations: float = math.inf
) -> list[np.ndarray[Any, Any]]:
    """Evaluate a closed_jaxpr in double precision, on inputs of its own types.

    Raises `NoArbiterError` as `truth` does, and after `most_equations`, those of each turn of a
    loop counted: loops run in Python here.

    Example::

        true_results(jax.make_jaxpr(jnp.sin)(1.0), [1.0])[0].dtype == np.float64
    """
    domain = _DoublePrecision(most_equations)
    with with_64_bits():
        results = evaluate(closed, [_widened(jnp.asarray(each)) for each in inputs], domain)
        return [np.asarray(words_of(result)) for result in results]


def wide(dtype: Any) -> Any:
    """Return float64 or complex128 for a floating dtype, and any other dtype unchanged."""
    if jax.dtypes.issubdtype(dtype, jax.dtypes.extended):
        return dtype
    if jnp.issubdtype(dtype, jnp.complexfloating):
        return np.dtype(np.complex128)
    return np.dtype(np.float64) if jnp.issubdtype(dtype, jnp.floating) else dtype


def _widened(value: Any) -> Any:
    """Widen a value on the host: XLA's conversion flushes subnormal numbers to zero on a CPU."""
    if wide(value.dtype) == value.dtype:
        return value
    return jnp.asarray(np.asarray(value).astype(wide(value.dtype)))


class _DoublePrecision:
    """The domain of the evaluation: a value is a number, and floating-point ones are wide."""

    def __init__(self, most_equations: float) -> None:
        self._left = most_equations

    def constant(self, value: Any, aval: Any) -> Any:
        return _widened(value)

    def unbound(self, var: Any) -> Any:
        raise NoArbiterError("a body has constvars without values")

    def literal(self, literal: Any) -> Any:
        return _widened(jnp.asarray(literal.val, literal.aval.dtype))

    def equation(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        if equation.effects:
            raise NoArbiterError(f"{equation.primitive.name} has effects")
        self._left -= 1
        if self._left < 0:
            raise NoArbiterError("it has too many equations to evaluate one by one")
        results = _results(equation, operands, self)
        for var, result in zip(equation.outvars, results, strict=True):
            _require_wide(equation, var.aval, result)
        return results


def _require_wide(equation: Any, aval: Any, result: Any) -> None:
    if result.shape != aval.shape or result.dtype != wide(aval.dtype):
        raise NoArbiterError(
            f"{equation.primitive.name} gave {result.dtype}{list(result.shape)} for {aval}"
        )


def _results(equation: Any, operands: list[Any], domain: _DoublePrecision) -> Sequence[Any]:
    match structure_of(equation):
        case Call(body, is_opaque=False):
            return evaluate(body, operands, domain)
        case Cond() as cond:
            return _branch(cond, operands, domain)
        case While() as loop:
            return _while(loop, operands, domain)
        case Scan() as loop:
            return _scan(loop, operands, domain)
    name = equation.primitive.name
    if name == "pure_callback":
        return _called_back(equation, operands)
    if not any(_is_floating(each) for each in operands):
        # Bits to floating point, iota and the like: exactly as the program has it, then widened.
        return [_widened(each) for each in bind(equation, operands)]
    if name == "bitcast_convert_type":
        raise NoArbiterError("the program reads the bits of a floating-point value")
    if name in _SCATTERS:
        return [_scattered(equation, operands)]
    if name == "call_hi_primitive":
        [primitive] = equation.params.values()
        raise NoArbiterError(f"{type(primitive).__name__}, a hijax primitive, has a rule in Python")
    if any(bodies_in(equation.params.values())):
        raise NoArbiterError(f"a body of {name}, which the arbiter does not know")
    params = {key: _wide_param(value) for key, value in equation.params.items()}
    return bind(equation, operands, params)


# Scatters have the combination of two elements as a body, for elements of their own dtype. JAX
# makes it anew for wide ones (jax 0.10.2).
_SCATTERS = {
    "scatter-add": jax.lax.scatter_add,
    "scatter-mul": jax.lax.scatter_mul,
    "scatter-min": jax.lax.scatter_min,
    "scatter-max": jax.lax.scatter_max,
}


def _scattered(equation: Any, operands: list[Any]) -> Any:
    params, (operand, indices, updates) = equation.params, operands
    return _SCATTERS[equation.primitive.name](
        operand,
        indices,
        updates,
        params["dimension_numbers"],
        indices_are_sorted=params["indices_are_sorted"],
        unique_indices=params["unique_indices"],
        mode=params["mode"],
    )


def _called_back(equation: Any, operands: list[Any]) -> Sequence[Any]:
    """Call a pure function with arrays of the dtypes that it expects, and widen its results."""
    narrow = [
        jnp.asarray(np.asarray(each).astype(atom.aval.dtype))
        for atom, each in zip(equation.invars, operands, strict=True)
    ]
    results = [np.asarray(each) for each in equation.params["callback"](*narrow)]
    return [
        _widened(each.astype(var.aval.dtype))
        for var, each in zip(equation.outvars, results, strict=True)
    ]


def _is_floating(value: Any) -> bool:
    return wide(value.dtype) in (np.float64, np.complex128)


def _wide_param(value: Any) -> Any:
    if type(value) in (tuple, list):
        return type(value)(_wide_param(each) for each in value)
    return wide(value) if isinstance(value, np.dtype) else value


def _branch(cond: Cond, operands: list[Any], domain: _DoublePrecision) -> Sequence[Any]:
    index, *rest = operands
    number = min(max(int(index), 0), len(cond.branches) - 1)
    return evaluate(cond.branches[number], rest, domain)


def _while(loop: While, operands: list[Any], domain: _DoublePrecision) -> Sequence[Any]:
    cond_consts, body_consts, carry = loop.split(operands)
    while True:
        [going_on] = evaluate(loop.cond, [*cond_consts, *carry], domain)
        if going_on.shape != ():
            raise NoArbiterError("a while loop with a batched condition")
        if not going_on:
            return carry
        carry = evaluate(loop.body, [*body_consts, *carry], domain)


def _scan(loop: Scan, operands: list[Any], domain: _DoublePrecision) -> Sequence[Any]:
    if loop.length == 0:
        raise NoArbiterError("a scan over nothing")
    consts, carry, stacked = loop.split(operands)
    turns = range(loop.length - 1, -1, -1) if loop.reverse else range(loop.length)
    emitted: dict[int, list[Any]] = {}
    for turn in turns:
        inputs = [*consts, *carry, *(each[turn] for each in stacked)]
        results = evaluate(loop.body, inputs, domain)
        carry, emitted[turn] = results[: loop.carry], results[loop.carry :]
    columns = zip(*(emitted[turn] for turn in range(loop.length)), strict=True)
    return [*carry, *map(jnp.stack, columns)]
