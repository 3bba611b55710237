"""A rough estimate of the scalar operations of equations, by a table and the shapes.

It is right within a factor of about ten, which suffices to tell microseconds from milliseconds. A
primitive that is not in the table counts one operation for each element of its results. The engine
has a finer table (`simplified_consts/preamble/operation_cost.py`); it is not read here, because
importing the engine puts hooks into JAX, and stock sides run without.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from parity_tests.jaxpr.bodies import Scan, bodies_of, inner, structure_of

# They move, relabel or repeat elements, which a fusion does at no cost.
MOVING = frozenset(
    {
        "bitcast_convert_type", "broadcast_in_dim", "broadcast_to", "concatenate",
        "convert_element_type", "copy", "copy_p", "dynamic_slice", "empty2", "expand_dims",
        "gather", "imag", "iota", "name", "pad", "pvary", "random_clone", "random_unwrap",
        "random_wrap", "real", "reshape", "reshard", "rev", "select_n", "slice", "split",
        "squeeze", "stack", "stop_gradient", "tile", "transpose", "unstack",
    }
)  # fmt: skip

# Operations for each element of the results.
_PER_RESULT = {
    **dict.fromkeys(("rsqrt", "cbrt", "exp", "exp2", "expm1", "log", "log1p", "logistic"), 16),
    **dict.fromkeys(("sin", "cos", "tan", "tanh", "sinh", "cosh", "erf", "erfc", "pow"), 16),
    **dict.fromkeys(("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh"), 16),
    **dict.fromkeys(("threefry2x32", "random_bits", "random_fold_in", "random_seed"), 64),
    **dict.fromkeys(("bessel_i0e", "bessel_i1e", "digamma", "erf_inv", "lgamma", "zeta"), 64),
    **dict.fromkeys(("igamma", "igammac", "polygamma", "regularized_incomplete_beta"), 256),
}

# Operations for each element of the operands, once, times the logarithm, times the columns.
_PER_OPERAND = ("reduce", "arg", "scatter")
_PER_DOUBLING = {"cumsum": 1, "cumprod": 1, "cummax": 1, "cummin": 1, "sort": 2, "top_k": 2} | {
    "fft": 5
}
_PER_COLUMN = {
    **dict.fromkeys(("cholesky", "cholesky_update", "lu", "triangular_solve"), 1),
    **dict.fromkeys(("geqrf", "geqp3", "qr", "householder_product", "ormqr"), 4),
    **dict.fromkeys(("hessenberg", "tridiagonal", "eigh"), 16),
    **dict.fromkeys(("eig", "schur", "svd"), 32),
}


def operations_of(equation: Any) -> float:
    """Return the estimated scalar operations of an equation, without those of its bodies.

    Example::

        operations_of(equation_of_a_dot)  # 2 * rows * depth * columns
    """
    name = equation.primitive.name
    if name in MOVING or structure_of(equation) is not None:
        return 0.0
    if name == "dot_general":
        (contracted, _), _ = equation.params["dimension_numbers"]
        depth = math.prod(_shape(equation.invars[0])[axis] for axis in contracted)
        return 2.0 * _size(equation.outvars) * depth
    if name == "conv_general_dilated":
        kernel = _shape(equation.invars[1])
        features = kernel[equation.params["dimension_numbers"].rhs_spec[0]]
        return 2.0 * _size(equation.outvars) * math.prod(kernel) / max(features, 1)
    results, operands = _size(equation.outvars), _size(equation.invars)
    if name.startswith("reduce_window"):
        return float(results * math.prod(equation.params.get("window_dimensions", ())))
    if name in _PER_DOUBLING:
        return _PER_DOUBLING[name] * operands * math.log2(operands + 2)
    if name in _PER_COLUMN:
        columns = max((_shape(each)[-1] for each in equation.invars if _shape(each)), default=1)
        return float(_PER_COLUMN[name] * operands * columns)
    if name.startswith(_PER_OPERAND) and name != "reduce_precision":
        return float(operands)
    return float(_PER_RESULT.get(name, 1) * results)


def equations_at_work(closed: Any) -> tuple[dict[str, int], float]:
    """Count the equations that compute, by primitive, and estimate the operations of one call.

    Bodies are included, once for each equation that has them. The operations of a body count once
    for each turn of a scan, and once for a `while`, whose turns nobody knows.

    Example::

        equations_at_work(live_part(traced.jaxpr))[0]["dot_general"]
    """
    names, operations = _Walk().body(closed)
    return dict(sorted(names.items())), operations


class _Walk:
    """Walks each body once and remembers its totals, because shared bodies can nest deeply."""

    def __init__(self) -> None:
        self._bodies: dict[int, tuple[Counter[str], float]] = {}

    def body(self, body: Any) -> tuple[Counter[str], float]:
        jaxpr = inner(body)
        if id(jaxpr) not in self._bodies:
            names: Counter[str] = Counter()
            operations = 0.0
            for equation in jaxpr.eqns:
                own = operations_of(equation)
                names[equation.primitive.name] += own > 0
                structure = structure_of(equation)
                turns = structure.length if isinstance(structure, Scan) else 1
                operations += own
                for each in bodies_of(equation):
                    more, work = self.body(each.jaxpr)
                    names.update(more)
                    operations += turns * work
            self._bodies[id(jaxpr)] = +names, operations
        return self._bodies[id(jaxpr)]


def _shape(atom: Any) -> tuple[int, ...]:
    return tuple(getattr(atom.aval, "shape", ()))


def _size(atoms: Any) -> int:
    return sum(math.prod(_shape(atom)) for atom in atoms)
