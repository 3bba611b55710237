"""How much work an equation is, and which equations may run once instead of at every call.

A table instead of measurements: all machines and all processes of a program must come to the same
decision. Numbers are scalar operations, right within a factor of about ten.

An equation that is not in the table is never moved. This excludes all that is more than a function
of its operands: callbacks (pure ones, too: they belong to the user), collectives, custom calls and
kernels, `rng_uniform`, barriers, transfers, sharding constraints, and primitives of others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine import jax_internals
from engine.ir.jaxprs import Body, JaxprEqn, bodies_of

# Assumed number of turns of a `while`.
TURNS = 8

# Primitives that move, relabel or repeat elements, which costs nothing in a fusion.
RELABELLING = frozenset(
    {
        "bitcast_convert_type", "broadcast_in_dim", "broadcast_to", "concatenate",
        "convert_element_type", "copy", "copy_p", "dynamic_slice", "expand_dims", "imag", "iota",
        "name", "pad", "random_clone", "random_unwrap", "random_wrap", "real", "reshape", "rev",
        "slice", "split", "squeeze", "stack", "stop_gradient", "tile", "transpose", "unstack",
    }
)  # fmt: skip

# One operation for each element of the result: a fusion recomputes it rather than reads it.
CHEAP_ELEMENTWISE = frozenset(
    {
        "abs", "add", "add_any", "and", "ceil", "clamp", "clz", "complex", "conj", "div", "eq",
        "eq_to", "floor", "gather", "ge", "gt", "integer_pow", "is_finite", "le", "le_to", "lt",
        "lt_to", "max", "min", "mul", "mulhi", "ne", "neg", "nextafter", "not", "or",
        "population_count", "reduce_precision", "rem", "round", "select_n", "shift_left",
        "shift_right_arithmetic", "shift_right_logical", "sign", "sqrt", "square", "sub", "xor",
    }
)  # fmt: skip

# Costly elementwise primitives: operations for each element of the result.
_COSTLY_ELEMENTWISE = {
    **dict.fromkeys(("rsqrt", "cbrt", "exp", "exp2", "expm1", "log", "log1p", "logistic"), 16),
    **dict.fromkeys(("sin", "cos", "tan", "tanh", "sinh", "cosh", "erf", "erfc", "pow"), 16),
    **dict.fromkeys(("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh"), 16),
    **dict.fromkeys(("bessel_i0e", "bessel_i1e", "digamma", "erf_inv", "lgamma", "zeta"), 64),
    **dict.fromkeys(("igamma", "igamma_grad_a", "igammac", "polygamma"), 256),
    "regularized_incomplete_beta": 256,
}

# Each element of the result depends on one element of each operand, for XLA, too: the costliest
# special functions are left out, because JAX lowers them to loops over all elements (jax 0.10.2).
ELEMENTWISE = (CHEAP_ELEMENTWISE - {"gather"}) | {
    name for name, operations in _COSTLY_ELEMENTWISE.items() if operations < 256
}

# Operations for each element of the results.
_PER_RESULT = (
    dict.fromkeys(CHEAP_ELEMENTWISE, 1)
    | _COSTLY_ELEMENTWISE
    | {
        **dict.fromkeys(("threefry2x32", "random_bits", "random_fold_in", "random_seed"), 64),
        **dict.fromkeys(("random_split", "rng_bit_generator"), 64),
        "random_gamma": 1024,
    }
)

# Operations for each element of the operands.
_PER_OPERAND = {
    **dict.fromkeys(("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and"), 1),
    **dict.fromkeys(("reduce_or", "reduce_xor", "argmax", "argmin", "reduce"), 1),
    **dict.fromkeys(("scatter", "scatter-add", "scatter-max", "scatter-min", "scatter-mul"), 2),
    **dict.fromkeys(("scatter-sub", "dynamic_update_slice", "lu_pivots_to_permutation"), 2),
    "tridiagonal_solve": 8,
}

# Operations for each element of the operands, times the logarithm (base 2) of their number.
_PER_DOUBLING = {
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin"), 1),
    "cumlogsumexp": 64,
    "top_k": 2,
    "fft": 5,
    "sort": 32,  # each comparison is a call on a CPU
}

# Matrix algorithms: operations for each element of the operands, times the number of columns.
_PER_COLUMN = {
    **dict.fromkeys(("cholesky", "cholesky_update", "lu", "triangular_solve"), 1),
    **dict.fromkeys(("geqrf", "geqp3", "qr", "householder_product", "ormqr"), 4),
    **dict.fromkeys(("hessenberg", "tridiagonal", "eigh"), 16),
    **dict.fromkeys(("eig", "schur", "svd"), 32),
}

# One operation for each element of the result, times the number of elements of the window.
_WINDOWED = frozenset({"reduce_window", "reduce_window_max", "reduce_window_min"}) | {
    "reduce_window_sum"
}

_CALLS = frozenset(
    {
        "checkpoint", "closed_call", "call", "custom_jvp_call", "custom_linear_solve",
        "custom_vjp_call", "jit", "remat2",
    }
)  # fmt: skip


@dataclass(frozen=True)
class Work:
    """The work of running an equation once.

    `operations` are scalar operations; `may_not_end` is set if the equation contains a `while`.
    """

    operations: float
    may_not_end: bool = False


class WorkTable:
    """Looks up the work of equations; adds up a body that several equations share only once.

    Example::

        WorkTable().of(eqn)  # None for an equation that must not be moved
    """

    def __init__(self) -> None:
        self._bodies: dict[int, tuple[Any, Work | None]] = {}

    def of(self, eqn: JaxprEqn) -> Work | None:
        """Return the work of an equation; None if it is more than a function of its operands."""
        if eqn.effects or not jax_internals.is_plain_equation(eqn):
            return None
        name = eqn.primitive.name
        if name in _SIMPLE:
            if any(self._body(body) is None for body in bodies_of(eqn)):
                return None
            return Work(_SIMPLE[name](eqn))
        if name not in _CALLS | {"cond", "scan", "while"}:
            return None
        bodies = [self._body(body) for body in bodies_of(eqn)]
        known = [body for body in bodies if body is not None]
        if len(known) < len(bodies):
            return None
        operations = [work.operations for work in known]
        may_not_end = name == "while" or any(work.may_not_end for work in known)
        if name == "cond":
            return Work(max(operations), may_not_end)
        times = {"scan": eqn.params.get("length", 1), "while": TURNS}.get(name, 1)
        return Work(times * sum(operations), may_not_end)

    def _body(self, body: Body) -> Work | None:
        if id(body) not in self._bodies:
            found = [self.of(eqn) for eqn in body.eqns]
            known = [work for work in found if work is not None]
            total = None
            if len(known) == len(found):
                total = Work(
                    sum(work.operations for work in known), any(work.may_not_end for work in known)
                )
            self._bodies[id(body)] = body, total  # holding the body prevents reuse of its id
        return self._bodies[id(body)][1]


def _shape(atom: Any) -> tuple[int, ...]:
    return tuple(atom.aval.shape)


def _size(atoms: Any) -> int:
    return sum(math.prod(_shape(atom)) for atom in atoms)


def _dot(eqn: JaxprEqn) -> float:
    (contracted, _), _ = eqn.params["dimension_numbers"]
    depth: int = math.prod(_shape(eqn.invars[0])[axis] for axis in contracted)
    return 2 * _size(eqn.outvars) * depth


def _convolution(eqn: JaxprEqn) -> float:
    kernel = _shape(eqn.invars[1])
    features: int = kernel[eqn.params["dimension_numbers"].rhs_spec[0]]
    return 2 * _size(eqn.outvars) * math.prod(kernel) / max(features, 1)


def _window(eqn: JaxprEqn) -> float:
    window: int = math.prod(eqn.params["window_dimensions"])
    return _size(eqn.outvars) * window


def _per_result(factor: int) -> Callable[[JaxprEqn], float]:
    return lambda eqn: factor * _size(eqn.outvars)


def _per_operand(factor: int) -> Callable[[JaxprEqn], float]:
    return lambda eqn: factor * _size(eqn.invars)


def _per_doubling(factor: int) -> Callable[[JaxprEqn], float]:
    return lambda eqn: factor * _size(eqn.invars) * math.log2(_size(eqn.invars) + 2)


def _per_column(factor: int) -> Callable[[JaxprEqn], float]:
    def operations(eqn: JaxprEqn) -> float:
        columns = max(_shape(atom)[-1] if _shape(atom) else 1 for atom in eqn.invars)
        return factor * _size(eqn.invars) * columns

    return operations


_SIMPLE: dict[str, Callable[[JaxprEqn], float]] = {
    **dict.fromkeys(RELABELLING, lambda eqn: 0.0),
    **{name: _per_result(factor) for name, factor in _PER_RESULT.items()},
    **{name: _per_operand(factor) for name, factor in _PER_OPERAND.items()},
    **{name: _per_doubling(factor) for name, factor in _PER_DOUBLING.items()},
    **{name: _per_column(factor) for name, factor in _PER_COLUMN.items()},
    **dict.fromkeys(_WINDOWED, _window),
    "dot_general": _dot,
    "conv_general_dilated": _convolution,
}
