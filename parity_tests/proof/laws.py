"""Laws: equations that are another value, and equations of views.

A form of a program may have an equation where the other has none, or has it on a value that is
repeated. Each law holds for all values, NaN and infinities too, and is tested by evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from parity_tests.proof.axes import dot, gather, ordered, reduced, sizes
from parity_tests.proof.encodings import digest_of_value, is_open
from parity_tests.proof.numbers import Number, UndecidedError
from parity_tests.proof.views import Axes, Shape, View, Views

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
    """Return the operand of a `reshard` between places that the compiler chooses."""
    [value], [result] = equation.invars, equation.outvars
    is_same = digest_of_value(value.aval) == digest_of_value(result.aval)
    return operands[0] if is_same and is_open(result.aval.sharding) else None


_LAWS: dict[str, Callable[[Any, Operands], Number | None]] = {
    "reshard": _resharded,
    "select_n": _equal_cases,
    "stop_gradient": _identity,
}


# -- views -----------------------------------------------------------------------------------------

# Each of these gives of views what it gives of their cores, as a view. A scalar beside arrays stays
# as it is.

_ELEMENTWISE = frozenset(
    {
        "abs", "acos", "acosh", "add", "and", "asin", "asinh", "atan", "atan2", "atanh", "cbrt",
        "ceil", "clamp", "clz", "complex", "conj", "convert_element_type", "copy", "copy_p", "cos",
        "cosh", "digamma", "div", "eq", "erf", "erf_inv", "erfc", "exp", "exp2", "expm1", "floor",
        "ge", "gt", "imag", "integer_pow", "is_finite", "le", "lgamma", "log", "log1p", "logistic",
        "lt", "max", "min", "mul", "ne", "neg", "nextafter", "not", "or", "population_count", "pow",
        "real", "reduce_precision", "rem", "round", "rsqrt", "select_n", "shift_left",
        "shift_right_arithmetic", "shift_right_logical", "sign", "sin", "sinh", "sqrt", "square",
        "sub", "tan", "tanh", "threefry2x32", "xor",
    }
)  # fmt: skip
_REDUCING = frozenset(
    {
        "argmax", "argmin", "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_prod",
        "reduce_sum", "reduce_xor",
    }
)  # fmt: skip
_SEEING = frozenset({"broadcast_in_dim", "reshape", "squeeze", "transpose"})


@dataclass(frozen=True)
class Core:
    """What an equation computes of the cores of its operands.

    Axis n of the results, whose types are `avals`, is axis `axes[n]` of those of the equation; the
    axes from `batch` on come behind them, as they are.
    """

    params: Mapping[str, Any]
    operands: list[Number]
    avals: list[Any]
    axes: Axes
    batch: int | None = None

    def seen(self, core: Number, shape: Shape) -> View:
        """Return a result of a shape as a view of the result of this equation."""
        last = () if self.batch is None else range(self.batch, len(shape))
        return View(core, (*self.axes, *last), shape)


def view_by(equation: Any, operands: Operands, views: Views) -> View | None:
    """Return what an equation sees its operand as, where it does no more than to see it so."""
    name, params = equation.primitive.name, equation.params
    if name not in _SEEING or len(operands) != 1 or not _is_free(equation):
        return None
    [operand], shape = equation.invars, equation.outvars[0].aval.shape
    view = views.of(operands[0], operand.aval.shape)
    if name == "broadcast_in_dim":
        dimensions = tuple(map(int, params["broadcast_dimensions"]))
        is_made = params["shape"] == shape and _is_broadcast(operand.aval.shape, shape, dimensions)
        return view.broadcast(shape, dimensions) if is_made else None
    if name == "transpose":
        permutation = tuple(map(int, params["permutation"]))
        is_made = sorted(permutation) == [*range(len(shape))]
        is_made = is_made and sizes(operand.aval.shape, permutation) == shape
        return view.transposed(permutation) if is_made else None
    axes = _reshaped(equation, view)
    is_seen = axes is not None and sizes(shape, axes) == sizes(view.shape, view.axes)
    return View(view.core, axes, shape) if axes is not None and is_seen else None


def _is_broadcast(operand: Shape, shape: Shape, dimensions: Axes) -> bool:
    """Say whether an operand can be broadcast so."""
    return (
        len(operand) == len(dimensions) == len(set(dimensions))
        and all(0 <= axis < len(shape) for axis in dimensions)
        and all(size in (1, shape[n]) for size, n in zip(operand, dimensions, strict=True))
    )


def _reshaped(equation: Any, view: View) -> Axes | None:
    """Return the axes of a view's core in a reshape of the view."""
    params, shape = equation.params, equation.outvars[0].aval.shape
    if equation.primitive.name == "reshape":
        is_made = params["dimensions"] is None and params["new_sizes"] == shape
    else:
        gone = params["dimensions"]
        is_made = shape == tuple(n for axis, n in enumerate(view.shape) if axis not in gone)
    return view.reshaped(shape) if is_made else None


def core_of(equation: Any, operands: Operands, views: Views) -> Core | None:
    """Return an equation of views as the equation of their cores.

    None where that is the equation itself, or no law knows the primitive.
    """
    name = equation.primitive.name
    law = _aligned if name in _ELEMENTWISE or name in _ALONG else _OTHER.get(name)
    if law is None or not _is_free(equation):
        return None
    try:
        return law(equation, operands, views)
    except (IndexError, TypeError, ValueError):
        raise UndecidedError(f"params of {name} that do not fit its operands") from None


def _aligned(equation: Any, operands: Operands, views: Views) -> Core | None:
    """Take an equation whose operands have the axes of its results.

    It acts along some of these, and alike at each place along the others.
    """
    name, params = equation.primitive.name, equation.params
    acted, params_along = _ALONG.get(name, _ALONG_NONE)
    shape = equation.outvars[0].aval.shape
    shapes = [atom.aval.shape for atom in equation.invars]
    seen = [
        views.of(operand, each) if len(each) == len(shape) else None
        for operand, each in zip(operands, shapes, strict=True)
    ]
    along = acted(params, shapes)
    if name in _SELECTING:
        along = tuple(axis for axis in along if axis in views.of(operands[0], shapes[0]).axes)
    axes = ordered([each for each in seen if each is not None], along)
    if not _is_last(equation, axes):
        return None
    own = list(operands)
    for n, each in enumerate(seen):
        if each is not None and name in _ELEMENTWISE:  # a number is one for all elements
            stretched = View(each.core, each.axes, shape).along(axes)
            own[n] = views.number(stretched) if each.axes else each.core
        elif each is not None:
            own[n] = views.number(each.along(axes))
    if axes == tuple(range(len(shape))) and own == list(operands):
        return None
    if name in _INDEXED:  # what is repeated is whole along its axis, so the index there is 0
        count = _INDEXED[name]
        own = [*own[:count], *(own[count + axis] for axis in axes)]
    return Core({**params, **params_along(params, axes)}, own, _avals(equation, axes), axes)


def _is_last(equation: Any, axes: Axes) -> bool:
    """Say whether a Fourier transform, which is along the last axes, still is."""
    if equation.primitive.name != "fft":
        return True
    rank, count = len(equation.outvars[0].aval.shape), len(equation.params["fft_lengths"])
    return axes[len(axes) - count :] == tuple(range(rank - count, rank))


def _avals(equation: Any, axes: Axes, batch: int | None = None) -> list[Any]:
    shapes = [var.aval.shape for var in equation.outvars]
    last = [() if batch is None else shape[batch:] for shape in shapes]
    return [
        var.aval.update(shape=(*sizes(shape, axes), *behind))
        for var, shape, behind in zip(equation.outvars, shapes, last, strict=True)
    ]


# Which axes an equation acts along, and those params of its core that are others than its own.
Along: TypeAlias = tuple[
    Callable[[Mapping[str, Any], Sequence[Shape]], Axes],
    Callable[[Mapping[str, Any], Axes], dict[str, Any]],
]


def _axis(name: str) -> Along:
    return (
        lambda params, shapes: (int(params[name]),),
        lambda params, axes: {name: axes.index(int(params[name]))},
    )


def _items(acted: Callable[[Mapping[str, Any], Sequence[Shape]], Axes], *names: str) -> Along:
    """Take params that have an item for each axis, or are None."""
    return acted, lambda params, axes: {
        name: params[name] and sizes(params[name], axes) for name in names
    }


def _differing(one: Shape, other: Shape) -> Axes:
    return tuple(n for n, sizes in enumerate(zip(one, other, strict=True)) if sizes[0] != sizes[1])


_ALONG_NONE: Along = (lambda params, shapes: (), lambda params, axes: {})
_ALONG: dict[str, Along] = {
    **{
        name: _axis("axis") for name in ("cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum")
    },
    "concatenate": _axis("dimension"),
    "sort": _axis("dimension"),
    "fft": (
        lambda params, shapes: tuple(range(len(shapes[0])))[-len(params["fft_lengths"]) :],
        lambda params, axes: {},
    ),
    "rev": (
        lambda params, shapes: tuple(map(int, params["dimensions"])),
        lambda params, axes: {
            "dimensions": tuple(axes.index(n) for n in params["dimensions"] if n in axes)
        },
    ),
    "pad": _items(
        lambda params, shapes: tuple(
            n for n, each in enumerate(params["padding_config"]) if any(each)
        ),
        "padding_config",
    ),
    "slice": _items(
        lambda params, shapes: _differing(params["limit_indices"], shapes[0])
        + _differing(params["start_indices"], (0,) * len(shapes[0]))
        + _differing(params["strides"] or (1,) * len(shapes[0]), (1,) * len(shapes[0])),
        "start_indices", "limit_indices", "strides",
    ),
    "dynamic_slice": _items(
        lambda params, shapes: _differing(params["slice_sizes"], shapes[0]), "slice_sizes"
    ),
    "dynamic_update_slice": (
        lambda params, shapes: _differing(shapes[1], shapes[0]), lambda params, axes: {}
    ),
}  # fmt: skip
_SELECTING = frozenset({"dynamic_slice", "rev", "slice"})  # of what is repeated, any are the same
_INDEXED = {"dynamic_slice": 1, "dynamic_update_slice": 2}  # with so many arrays before the indices


def _reducing(equation: Any, operands: Operands, views: Views) -> Core | None:
    """Reduce what is repeated along other axes once; the order of what is reduced stays."""
    view = views.of(operands[0], equation.invars[0].aval.shape)
    found = reduced(view, tuple(map(int, equation.params["axes"])))
    if found is None or view.core == operands[0]:
        return None
    own, axes = found
    return Core({**equation.params, "axes": own}, [view.core], _avals(equation, axes), axes)


def _reshaping(equation: Any, operands: Operands, views: Views) -> Core | None:
    view = views.of(operands[0], equation.invars[0].aval.shape)
    axes = _reshaped(equation, view)
    if axes is None or view.core == operands[0]:
        return None
    shape = sizes(equation.outvars[0].aval.shape, axes)
    params = {**equation.params, "new_sizes": shape}
    return Core(params, [view.core], _avals(equation, axes), axes)


def _counting(equation: Any, operands: Operands, views: Views) -> Core | None:
    """Count along one axis, and repeat that along the others."""
    shape, axis = equation.params["shape"], int(equation.params["dimension"])
    if len(shape) == 1 or shape != equation.outvars[0].aval.shape or shape[axis] == 1:
        return None
    params = {**equation.params, "shape": (shape[axis],), "dimension": 0}
    return Core(params, [], _avals(equation, (axis,)), (axis,))


def _dot(equation: Any, operands: Operands, views: Views) -> Core | None:
    contracted, batch = (
        [tuple(map(int, axes)) for axes in each] for each in equation.params["dimension_numbers"]
    )
    seen = _seen(equation, operands, views)
    found = dot(seen, contracted, batch)
    cores = [views.number(view.along(axes)) for view, axes in zip(seen, found.kept, strict=True)]
    if cores == list(operands) and found.axes == tuple(range(len(found.axes))):
        return None
    params = {**equation.params, "dimension_numbers": (found.contracted, found.batch)}
    return Core(params, cores, _avals(equation, found.axes), found.axes)


def _gather(equation: Any, operands: Operands, views: Views) -> Core | None:
    params, numbers = equation.params, equation.params["dimension_numbers"]
    source, indices = _seen(equation, operands, views)
    rank = len(equation.outvars[0].aval.shape)
    found = gather(source, indices, numbers._asdict(), params["slice_sizes"], rank)
    own = {"dimension_numbers": numbers._replace(**found.numbers), "slice_sizes": found.slice_sizes}
    last = len(indices.shape) - 1
    cores = [
        views.number(source.along(found.kept)),
        views.number(indices.along((*found.by_index, last))),
    ]
    return Core({**params, **own}, cores, _avals(equation, found.axes), found.axes)


def _seen(equation: Any, operands: Operands, views: Views) -> list[View]:
    shapes = [atom.aval.shape for atom in equation.invars]
    return [views.of(*each) for each in zip(operands, shapes, strict=True)]


# Of the operand of a decomposition, so many last axes make a matrix or a vector.
_MATRICES = {
    "cholesky": 2, "eig": 2, "eigh": 2, "geqrf": 2, "householder_product": 2, "lu": 2,
    "lu_pivots_to_permutation": 1, "qr": 2, "schur": 2, "svd": 2, "triangular_solve": 2,
    "tridiagonal": 2,
}  # fmt: skip


def _decomposing(equation: Any, operands: Operands, views: Views) -> Core | None:
    """Take a matrix that is repeated once; a batch is in the first axes of operands and results."""
    seen = _seen(equation, operands, views)
    batch = len(seen[0].shape) - _MATRICES[equation.primitive.name]
    axes = tuple(axis for axis in ordered(seen, ()) if axis < batch)
    if axes == tuple(range(batch)):
        return None
    cores = [views.number(view.along((*axes, *range(batch, len(view.shape))))) for view in seen]
    return Core(equation.params, cores, _avals(equation, axes, batch), axes, batch)


_OTHER: dict[str, Callable[[Any, Operands, Views], Core | None]] = {
    "dot_general": _dot,
    "gather": _gather,
    **dict.fromkeys(_MATRICES, _decomposing),
    "iota": _counting,
    "reshape": _reshaping,
    **dict.fromkeys(_REDUCING, _reducing),
}


def _is_free(equation: Any) -> bool:
    """Say whether the compiler places operands and results, and all sizes are known."""
    params = equation.params
    return (
        all(is_plain(var.aval) for var in equation.outvars)
        and all(is_plain(atom.aval) for atom in equation.invars)
        and is_open(params.get("sharding"))
        and is_open(params.get("out_sharding"))
    )


@lru_cache(maxsize=4096)
def has_no_elements(aval: Any) -> bool:
    """Say whether a type is of arrays one of whose sizes is 0."""
    return type(aval).__name__ == "ShapedArray" and any(
        type(size) is int and size == 0 for size in aval.shape
    )


@lru_cache(maxsize=4096)
def is_plain(aval: Any) -> bool:
    """Say whether a type is of arrays of known sizes that the compiler places."""
    shape = getattr(aval, "shape", None)
    is_known = shape is not None and all(type(size) is int for size in shape)
    return is_known and is_open(getattr(aval, "sharding", None))
