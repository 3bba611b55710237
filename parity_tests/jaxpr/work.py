"""The work of a program: its scalar operations, and the equations that need captured arrays alone.

Operations are estimated by a table and the shapes. That is right within a factor of about ten,
which suffices to tell microseconds from milliseconds. A primitive that is not in the table counts
one operation for each element of its results. The engine has a finer table
(`simplified_consts/preamble/operation_cost.py`); it is not read here, because importing the engine
puts hooks into JAX, and stock sides run without.

Where captured arrays are inlined (legacy), XLA computes the equations that need nothing else while
it compiles. Where they are arguments (simplified), it computes them at every call.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

import jax
import numpy as np

from parity_tests.jax_internals import is_reference
from parity_tests.jaxpr.bodies import Cond, Scan, bodies_of, folded, inner, structure_of
from parity_tests.jaxpr.captured import captured_value
from parity_tests.jaxpr.interpreter import Domain, evaluate
from parity_tests.jaxpr.source_places import NOWHERE, Place, place_of

# They move or relabel elements, which a fusion does at no cost. A transpose is none of them: where
# XLA folds one, a product has other bits (`x @ captured.T` on a CPU, JAX 0.10.2).
TRIVIAL = frozenset(
    {
        "bitcast_convert_type", "broadcast_in_dim", "convert_element_type", "copy", "copy_p",
        "device_put", "expand_dims", "name", "pvary", "reshape", "reshard", "sharding_constraint",
        "slice", "squeeze", "stop_gradient",
    }
)  # fmt: skip
# As these, or they repeat or join elements, or take some of them.
MOVING = TRIVIAL | {
    "broadcast_to", "concatenate", "dynamic_slice", "empty2", "gather", "imag", "iota", "pad",
    "random_clone", "random_unwrap", "random_wrap", "real", "rev", "select_n", "split", "stack",
    "tile", "transpose", "unstack",
}  # fmt: skip

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
        depth: int = math.prod(_shape(equation.invars[0])[axis] for axis in contracted)
        return 2.0 * _size(equation.outvars) * depth
    if name == "conv_general_dilated":
        kernel = _shape(equation.invars[1])
        features: int = kernel[equation.params["dimension_numbers"].rhs_spec[0]]
        return 2.0 * _size(equation.outvars) * math.prod(kernel) / max(features, 1)
    results, operands = _size(equation.outvars), _size(equation.invars)
    if name.startswith("reduce_window"):
        window = map(_known, equation.params.get("window_dimensions", ()))
        return float(results * math.prod(window))
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
    for each turn of a scan, and once for a `while`, whose turns nobody knows. A symbolic size is 1.
    """
    names, operations = folded(closed, _names_and_operations)
    return dict(sorted(names.items())), operations


_Totals: TypeAlias = tuple[Counter[str], float]


def _names_and_operations(jaxpr: Any, inside: Callable[[Any], _Totals]) -> _Totals:
    names: Counter[str] = Counter()
    operations = 0.0
    for equation in jaxpr.eqns:
        own = operations_of(equation)
        names[equation.primitive.name] += own > 0
        structure = structure_of(equation)
        turns = _known(structure.length) if isinstance(structure, Scan) else 1
        operations += own
        for each in bodies_of(equation):
            more, work = inside(each.jaxpr)
            names.update(more)
            operations += turns * work
    return +names, operations


def _shape(atom: Any) -> tuple[int, ...]:
    return tuple(map(_known, getattr(atom.aval, "shape", ())))


def _known(size: Any) -> int:
    """Return a size; 1 for a symbolic one, which nobody knows."""
    return 1 if jax.export.is_symbolic_dim(size) else int(size)


def _size(atoms: Any) -> int:
    return sum(math.prod(_shape(atom)) for atom in atoms)


# XLA looks into none of them: LAPACK's work on a CPU, and loops elsewhere; Python, and other code.
_NEVER_FOLDED = frozenset({*_PER_COLUMN, "ffi_call", "optimization_barrier", "pure_callback"})

# Nor a reduction, a product, or an elementwise equation that repeats an operand, of more elements:
# seen on JAX 0.10.2 and 0.12.0.1.
_MOST_ELEMENTS = 45_000_000
_LIMITED = frozenset(
    {"dot_general", *(f"reduce_{each}" for each in ("and", "max", "min", "or", "prod", "sum"))}
)

_PRODUCTS = ("dot_general", "conv_general_dilated")  # of operands of unequal types, too

# Floats are converted to and from these with other values where XLA folds that: it keeps subnormal
# numbers, and some NaNs and signs. Seen on a CPU with JAX 0.10.2 and 0.12.0.1.
_CONVERTED_OTHERWISE = frozenset({"bool", "complex128", "float4_e2m1fn", "float64"})


@dataclass(frozen=True)
class ConstantWork:
    """The equations of a program that depend on captured arrays alone, and are not trivial.

    `place` is the line that made the first of them, `bytes` the size of their results and
    `operations` an estimate of their scalar operations. A loop counts as one turn, because XLA may
    take out of a loop what does not change in it. `repeated` is the number of equations that repeat
    a captured array along a new axis, and `moved` is what moves or converts most bytes of one.
    """

    equations: tuple[Any, ...]
    place: Place
    bytes: int
    operations: float
    repeated: int = 0
    moved: Moved | None = None

    @property
    def gist(self) -> str:
        """The equations in a few words, by the primitive with most operations."""
        operations: defaultdict[str, float] = defaultdict(float)
        for equation in self.equations:
            operations[equation.primitive.name] += operations_of(equation)
        most, more = max(operations, key=operations.__getitem__), len(self.equations) - 1
        return f"`{most}` and {more} more" if more else f"`{most}`"


@dataclass(frozen=True)
class Moved:
    """What converts or moves captured arrays alone, in words; `bytes` are those of its result."""

    what: str
    bytes: int
    place: Place


class _Origin(IntEnum):
    """Where a value comes from; of two origins the larger prevails."""

    NOTHING = 0  # scalars, and results of scalars alone
    CAPTURED = 1
    ARGUMENTS = 2


def constant_work(closed: Any, *, embed_threshold: int) -> ConstantWork:
    """Return the equations of a live closed_jaxpr that depend on captured arrays alone.

    Captured arrays of at most `embed_threshold` bytes are inlined in both modes, and do not count.
    A loop is folded as a whole where JAX writes it out; of another one an equation in its body may
    be. Neither is a factorisation, a call of foreign code, a barrier, or a reduction, a product, or
    an elementwise equation that repeats an operand, of more than 45 million elements, nor what
    depends on one.
    """
    walk = _Walk(embed_threshold)
    walk.body(closed, [_Origin.ARGUMENTS] * len(closed.jaxpr.invars), NOWHERE)
    found = tuple(walk.equations.values())
    operations = sum(map(operations_of, found))
    return ConstantWork(
        found, walk.place, sum(map(_result_bytes, found)), operations, len(walk.repeats), walk.moved
    )


def _result_bytes(equation: Any) -> int:
    return sum(map(_bytes, equation.outvars))


def _bytes(atom: Any) -> int:
    size: int = math.prod(_shape(atom)) * atom.aval.dtype.itemsize
    return size


class _Walk:
    """The work found so far, and the bodies that were walked with what their outputs depend on."""

    def __init__(self, embed_threshold: int) -> None:
        self.embed_threshold = embed_threshold
        self.equations: dict[int, Any] = {}
        self.repeats: set[int] = set()
        self.place = NOWHERE
        self.moved: Moved | None = None
        self._visited: dict[tuple[int, ...], list[_Origin]] = {}

    def body(self, body: Any, given: Sequence[_Origin], within: Place) -> list[_Origin]:
        """Walk a body with these origins of its inputs; return the origins of its outputs."""
        visit = (id(inner(body)), *given)
        if visit not in self._visited:
            self._visited[visit] = evaluate(body, given, _Origins(self, within))
        return self._visited[visit]


@dataclass(frozen=True)
class _Origins(Domain[_Origin]):
    """The domain of the walk: a value is the origin of an array."""

    walk: _Walk
    within: Place

    def constant(self, value: Any, aval: Any) -> _Origin:
        if is_reference(value):
            return _Origin.ARGUMENTS
        array = captured_value(value)
        # Stock JAX inlines typed PRNG keys in both modes.
        is_hoisted = array is not None and not array.key and array.bytes > self.walk.embed_threshold
        return _Origin.CAPTURED if is_hoisted else _Origin.NOTHING

    def unbound(self, var: Any) -> _Origin:
        return _Origin.ARGUMENTS

    def equation(self, equation: Any, operands: list[_Origin]) -> list[_Origin]:
        origin = max(operands, default=_Origin.NOTHING)
        is_too_large = origin == _Origin.CAPTURED and _read_to_fold(equation) > _MOST_ELEMENTS
        if equation.effects or equation.primitive.name in _NEVER_FOLDED or is_too_large:
            origin = _Origin.ARGUMENTS
        bodies = bodies_of(equation)
        if not bodies:
            if origin == _Origin.CAPTURED and _is_work(equation):
                self._found(equation)
            if origin == _Origin.CAPTURED and equation.primitive.name in TRIVIAL:
                self._moved(equation)
            if equation.primitive.name in _PRODUCTS:
                self._widened(equation, operands)
            if equation.primitive.name == "dot_general":
                self._transposed(equation, operands)
            if origin == _Origin.CAPTURED and _repeats(equation):
                self.walk.repeats.add(id(equation))
            return [origin] * len(equation.outvars)
        structure = structure_of(equation)
        if isinstance(structure, Scan) and _is_written_out(structure, equation):
            return self._unrolled(equation, structure, operands)
        # XLA takes the branch that a constant chooses; which one it is, is not looked up.
        is_chosen = isinstance(structure, Cond) and operands[0] != _Origin.ARGUMENTS
        results = [_Origin.NOTHING if is_chosen else _Origin.ARGUMENTS] * len(equation.outvars)
        for body in bodies:
            inputs = body.inputs(operands, _Origin.ARGUMENTS)
            outputs = self.walk.body(body.jaxpr, inputs, place_of(equation, self.within))
            if body.is_call:
                results = outputs
            elif is_chosen:
                results = list(map(max, results, outputs))
        return results

    def _unrolled(self, equation: Any, loop: Scan, operands: list[_Origin]) -> list[_Origin]:
        """Walk the turns of a loop that JAX writes out, as each of one turn."""
        constants, carry, rows = loop.split(operands)
        within = place_of(equation, self.within)
        results = [_Origin.NOTHING] * len(equation.outvars)
        for _ in range(loop.length):
            before = carry
            outputs = self.walk.body(loop.body, [*constants, *carry, *rows], within)
            results = list(map(max, results, outputs))
            carry = outputs[: loop.carry]
            if list(before) == carry:
                break
        return results

    def _moved(self, equation: Any) -> None:
        types = [each.aval.str_short() for each in (equation.invars[0], equation.outvars[0])]
        what = f"`{equation.primitive.name}` of {types[0]} to {types[1]}"
        self._note(equation, what, _result_bytes(equation))

    def _widened(self, equation: Any, operands: list[_Origin]) -> None:
        """Note a captured operand that is converted to the wider type of the product."""
        wide = equation.outvars[0].aval.dtype
        for operand, origin in zip(equation.invars, operands, strict=True):
            narrow = operand.aval.dtype
            if origin == _Origin.CAPTURED and narrow.itemsize < wide.itemsize:
                types = f"{operand.aval.str_short()} to {wide}"
                what = f"the conversion of {types} in `{equation.primitive.name}`"
                self._note(equation, what, operand.aval.size * wide.itemsize)

    def _transposed(self, equation: Any, operands: list[_Origin]) -> None:
        """Note a captured operand whose axes XLA has to move before it can multiply."""
        contracted, batched = equation.params["dimension_numbers"]
        for operand, origin, *axes in zip(
            equation.invars, operands, contracted, batched, strict=True
        ):
            if origin == _Origin.CAPTURED and _is_transposed(operand.aval.ndim, *axes):
                what = f"the transposition of {operand.aval.str_short()} in `dot_general`"
                # Converting comes with it, and alone it would be no help.
                self._note(equation, what, _bytes(operand), prevails=True)

    def _note(self, equation: Any, what: str, size: int, *, prevails: bool = False) -> None:
        least = self.walk.moved.bytes if self.walk.moved else 0
        if size > least or (prevails and size == least):
            self.walk.moved = Moved(what, size, place_of(equation, self.within))

    def _found(self, equation: Any) -> None:
        if not self.walk.equations:
            self.walk.place = place_of(equation, self.within)
        self.walk.equations[id(equation)] = equation


def _is_transposed(rank: int, contracted: Sequence[int], batched: Sequence[int]) -> bool:
    """Say whether the axes are no stack of matrices: batched first, contracted side by side."""
    free = [each for each in range(rank) if each not in (*contracted, *batched)]
    matrices = ([*batched, *contracted, *free], [*batched, *free, *contracted])
    return list(range(rank)) not in matrices


def _repeats(equation: Any) -> bool:
    if equation.primitive.name != "broadcast_in_dim":
        return False
    return _size(equation.outvars) > _size(equation.invars[:1])


def _read_to_fold(equation: Any) -> int:
    """Count the elements that XLA's limit is about; 0 where it has none."""
    if equation.primitive.name in _LIMITED:
        return _size(equation.invars)
    whole = _shape(equation.outvars[0]) if equation.outvars else ()
    shapes = [shape for each in equation.invars if (shape := _shape(each))]
    fit = all(
        len(shape) == len(whole)
        and all(one in (1, other) for one, other in zip(shape, whole, strict=True))
        for shape in shapes
    )
    return len(shapes) * math.prod(whole) if fit and set(shapes) != {whole} else 0


def _is_work(equation: Any) -> bool:
    if equation.primitive.name == "convert_element_type":
        return _is_converted_otherwise(equation)
    dtypes = [getattr(var.aval, "dtype", None) for var in equation.outvars]
    return equation.primitive.name not in TRIVIAL and not any(
        dtype is None or jax.dtypes.issubdtype(dtype, jax.dtypes.extended) for dtype in dtypes
    )


def _is_written_out(loop: Scan, equation: Any) -> bool:
    """Say whether JAX writes out all turns of a loop, whose number may be a symbol."""
    most: int = equation.params["unroll"]
    return isinstance(loop.length, int) and 1 <= loop.length <= most


def _is_converted_otherwise(equation: Any) -> bool:
    """Say whether a conversion has other values where XLA folds it."""
    source, target = equation.invars[0].aval.dtype, equation.outvars[0].aval.dtype
    names = {source.name, target.name}
    if "float8_e8m0fnu" in names:  # of integers, too
        return True
    is_float = jax.dtypes.issubdtype(source, np.inexact)
    return is_float and not names.isdisjoint(_CONVERTED_OTHERWISE)
