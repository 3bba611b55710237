"""Laws: equations that are another value, whatever their operands are.

A form of a program may have such an equation where the other has none. Each law holds for all
values, NaN and infinities too, and is tested by evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jax.sharding import AxisType, NamedSharding

from parity_tests.proof.encodings import is_replicated
from parity_tests.proof.numbers import Number

Operands: TypeAlias = Sequence[Number]


def value_of(equation: Any, operands: Operands) -> Number | None:
    """Return the number of the value that an equation is by a law; None where no law says so.

    Example::

        value_of(select_n_of_equal_cases, (which, case, case)) == case
    """
    law = _LAWS.get(equation.primitive.name)
    return law(equation, operands) if law is not None else None


def _identity(equation: Any, operands: Operands) -> Number | None:
    """`stop_gradient` is a word to derivatives, and gives what it takes."""
    return operands[0]


def _equal_cases(equation: Any, operands: Operands) -> Number | None:
    """Return the case of a `select_n` whose cases are one value; it takes no other type."""
    first, *others = operands[1:]
    return first if all(each == first for each in others) else None


def _resharded(equation: Any, operands: Operands) -> Number | None:
    """Without a mesh there is nothing that a `reshard` could move."""
    [value], [result] = equation.invars, equation.outvars
    sharding = equation.params["dst_sharding"]
    is_empty = isinstance(sharding, NamedSharding) and sharding.mesh.empty
    is_empty = is_empty and equation.params.get("concrete_mesh") is None
    return operands[0] if is_empty and value.aval is result.aval else None


_LAWS: dict[str, Callable[[Any, Operands], Number | None]] = {
    "reshard": _resharded,
    "select_n": _equal_cases,
    "stop_gradient": _identity,
}


# -- repeated values -------------------------------------------------------------------------------

# vmap repeats an operand of a body along a new axis, and leaves a Literal as it is. So a captured
# array is repeated in one form alone, and what is computed from it alone has one more axis.

_ELEMENTWISE = frozenset(
    {
        "abs", "acos", "acosh", "add", "and", "asin", "asinh", "atan", "atan2", "atanh", "cbrt",
        "ceil", "clamp", "complex", "conj", "convert_element_type", "copy", "copy_p", "cos", "cosh",
        "digamma", "div", "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor", "ge",
        "gt", "imag", "integer_pow", "is_finite", "le", "lgamma", "log", "log1p", "logistic", "lt",
        "max", "min", "mul", "ne", "neg", "nextafter", "not", "or", "pow", "real",
        "reduce_precision", "rem", "round", "rsqrt", "select_n", "shift_left",
        "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "sqrt", "square",
        "sub", "tan", "tanh", "xor",
    }
)  # fmt: skip
_REDUCING = frozenset(
    {
        "argmax", "argmin", "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_prod",
        "reduce_sum", "reduce_xor",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Repeated:
    """A value that is another one, repeated along new axes.

    Axis n of `base`, whose type is `aval`, is axis `axes[n]` of the value.
    """

    base: Number
    aval: Any
    axes: tuple[int, ...]
    shape: tuple[int, ...]


Known: TypeAlias = Mapping[Number, Repeated]


def repeated_by(equation: Any, operands: Operands, known: Known) -> Repeated | None:
    """Return what a `broadcast_in_dim` repeats; None for one that stretches an axis, or shards."""
    params = equation.params
    [operand], shape = equation.invars[:1], tuple(params["shape"])
    axes = tuple(map(int, params["broadcast_dimensions"]))
    if len(operands) > 1 or not _is_open(params.get("sharding")) or not _is_plain(operand.aval):
        return None
    [result] = equation.outvars
    if shape != tuple(result.aval.shape) or not set(axes) <= set(range(len(shape))):
        return None
    if tuple(operand.aval.shape) != tuple(shape[axis] for axis in axes) or len(axes) == len(shape):
        return None
    inside = known.get(operands[0])
    if inside is None:
        return Repeated(operands[0], operand.aval, axes, shape)
    return Repeated(inside.base, inside.aval, tuple(axes[n] for n in inside.axes), shape)


def before_repeating(
    equation: Any, operands: Operands, known: Known
) -> tuple[Repeated, dict[str, Any], list[Number], Any] | None:
    """Return an equation of repeated values as the equation of what is repeated.

    It has other params, operands and a result type, and its result is repeated as its operands are.
    None where the operands are not all repeated alike, or no law knows the primitive.
    """
    name, params = equation.primitive.name, equation.params
    if name not in _ELEMENTWISE | _REDUCING:
        return None
    found: Repeated | None = None
    bases = []
    for atom, operand in zip(equation.invars, operands, strict=True):
        each = known.get(operand)
        if each is None and not atom.aval.shape and len(operands) > 1:
            bases.append(operand)  # a scalar
            continue
        if each is None or (found and (each.axes, each.shape) != (found.axes, found.shape)):
            return None
        found = found or each
        bases.append(each.base)
    [result] = equation.outvars
    if found is None or not _is_plain(result.aval):
        return None
    if name in _ELEMENTWISE:
        if not _is_open(params.get("sharding")):
            return None
        return found, params, bases, result.aval.update(shape=found.aval.shape)
    return _before_reducing(equation, found, bases)


def _before_reducing(
    equation: Any, found: Repeated, bases: list[Number]
) -> tuple[Repeated, dict[str, Any], list[Number], Any] | None:
    params, [result] = equation.params, equation.outvars
    gone = tuple(map(int, params["axes"]))
    if not _is_open(params.get("out_sharding")) or not set(gone) <= set(found.axes):
        return None
    own = tuple(found.axes.index(axis) for axis in gone)
    left = [axis for axis in range(len(found.shape)) if axis not in gone]
    kept = [n for n in range(len(found.axes)) if n not in own]
    aval = result.aval.update(shape=tuple(found.aval.shape[n] for n in kept))
    axes = tuple(left.index(found.axes[n]) for n in kept)
    repeated = Repeated(b"", aval, axes, tuple(result.aval.shape))
    return repeated, {**params, "axes": own}, bases, aval


def _is_plain(aval: Any) -> bool:
    """Say whether a type is of an array whose sharding is left to the compiler."""
    return hasattr(aval, "shape") and _is_open(getattr(aval, "sharding", None))


def _is_open(sharding: Any) -> bool:
    """Say whether a sharding says nothing: no axis of its mesh is the program's to place."""
    if sharding is None:
        return True
    if not isinstance(sharding, NamedSharding):
        return False
    return AxisType.Explicit not in sharding.mesh.axis_types and is_replicated(sharding.spec)
