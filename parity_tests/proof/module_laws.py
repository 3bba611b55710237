"""Laws of StableHLO: operations of views are operations of what these are views of.

Each law holds for all elements, and is tested with the reference interpreter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from parity_tests.proof import axes as laws_of_axes
from parity_tests.proof.attributes import static_shape, with_shape
from parity_tests.proof.axes import ordered, reduced, sizes
from parity_tests.proof.numbers import Number
from parity_tests.proof.operations import names
from parity_tests.proof.reading import Operation
from parity_tests.proof.views import Axes, Shape, View, Views

Operands: TypeAlias = Sequence[Number]


@lru_cache(maxsize=10_000)
def ints(text: str) -> tuple[int, ...]:
    """Return the numbers of `array<i64: 1, 2>` or of `1 : i64`."""
    found = _INTEGERS.fullmatch(text)
    if found is None:
        raise ValueError(f"no integers: {text}")
    listed = found["many"] or found["one"]
    return tuple(map(int, listed.split(","))) if listed else ()


_INTEGERS = re.compile(r"array<i64(?:: (?P<many>[-0-9, ]+))?>|(?P<one>-?\d+) : i\d+")


_ELEMENTWISE = names(
    "abs add and atan2 cbrt ceil clamp compare complex convert cosine count_leading_zeros divide "
    "exponential exponential_minus_one floor imag is_finite log log_plus_one logistic maximum "
    "minimum multiply negate not or popcnt power real reduce_precision remainder "
    "round_nearest_afz round_nearest_even rsqrt select shift_left shift_right_arithmetic "
    "shift_right_logical sign sine sqrt subtract tan tanh xor"
)
_ELEMENTWISE_OF_CHLO = names(
    "acos acosh asin asinh atan atanh bessel_i1e conj cosh digamma erf erf_inv erfc lgamma "
    "next_after polygamma sinh square tan zeta"
)


@dataclass(frozen=True)
class Core:
    """What an operation computes of the cores of its operands.

    Axis n of the results, whose types are `types`, is axis `axes[n]` of those of the operation.
    """

    attributes: Mapping[str, str]
    operands: Sequence[Number]
    types: tuple[str, ...]
    axes: Axes


def view_by(
    operation: Operation, operands: Operands, shapes: Sequence[Shape], views: Views
) -> View | None:
    """Return what an operation sees its operand as, where it does no more than to see it so."""
    law = _SEEING.get(operation.name)
    shape = static_shape(operation.types[0]) if law is not None else None
    if law is None or shape is None or not _is_free(operation):
        return None
    return law(operation, views.of(operands[0], shapes[0]), shape)


def _broadcast(operation: Operation, view: View, shape: Shape) -> View | None:
    return view.broadcast(shape, ints(operation.attributes["broadcast_dimensions"]))


def _transposed(operation: Operation, view: View, shape: Shape) -> View | None:
    return view.transposed(ints(operation.attributes["permutation"]))


def _reshaped(operation: Operation, view: View, shape: Shape) -> View | None:
    axes = view.reshaped(shape)
    is_seen = axes is not None and sizes(shape, axes) == sizes(view.shape, view.axes)
    return View(view.core, axes, shape) if axes is not None and is_seen else None


_SEEING = {
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.reshape": _reshaped,
    "stablehlo.transpose": _transposed,
}


def core_of(
    operation: Operation, operands: Operands, shapes: Sequence[Shape], views: Views
) -> Core | None:
    """Return an operation of views as the operation of their cores.

    None where that is the operation itself, or no law knows it.
    """
    law = _LAWS.get(operation.name)
    if law is None or not _is_free(operation) or static_shape(operation.types[0]) is None:
        return None
    seen = [views.of(*each) for each in zip(operands, shapes, strict=True)]
    found = law(operation, seen, views)
    if found is None or (
        (*found.operands, *found.types) == (*operands, *operation.types)
        and found.axes == tuple(range(len(found.axes)))
        and found.attributes == operation.attributes
    ):
        return None
    return found


def _is_free(operation: Operation) -> bool:
    """Say whether nothing is said of where an operation runs or how it is placed."""
    return not any("." in name for name in operation.attributes)


def _along(operation: Operation, axes: Axes) -> tuple[str, ...]:
    """Return the types of the results of an operation with these axes of theirs alone."""
    return tuple(
        with_shape(each, sizes(static_shape(each) or (), axes)) for each in operation.types
    )


Law: TypeAlias = Callable[[Operation, Sequence[View], Views], Core | None]


def _aligned(
    acted: Callable[[Mapping[str, str], Sequence[Shape]], Axes],
    along: Callable[[Mapping[str, str], Axes], dict[str, str]],
    arrays: int | None = None,
) -> Law:
    """Return the law of an operation whose operands have the axes of its results.

    It acts along some of these, and alike at each place along the others. Behind `arrays` operands,
    if that is set, there is an index for each axis.
    """

    def law(operation: Operation, seen: Sequence[View], views: Views) -> Core | None:
        rank = len(static_shape(operation.types[0]) or ())
        with_axes = [view for view in seen[:arrays] if len(view.shape) == rank]
        along_them = acted(operation.attributes, [view.shape for view in seen])
        if operation.name in _SELECTING:
            along_them = tuple(axis for axis in along_them if axis in seen[0].axes)
        axes = ordered(with_axes, along_them)
        own = [view.along(axes) if len(view.shape) == rank else view for view in seen[:arrays]]
        if arrays is not None:  # what is repeated is whole along its axis, so its index there is 0
            own += [seen[arrays + axis] for axis in axes]
        attributes = {**operation.attributes, **along(operation.attributes, axes)}
        cores = list(map(views.number, own))
        return Core(attributes, cores, _along(operation, axes), axes)

    return law


# Of what is repeated, any elements are the same.
_SELECTING = names("stablehlo.dynamic_slice stablehlo.reverse stablehlo.slice")


def _nothing(attributes: Mapping[str, str], shapes: Sequence[Shape]) -> Axes:
    return ()


def _axis(
    name: str,
) -> tuple[
    Callable[[Mapping[str, str], Sequence[Shape]], Axes],
    Callable[[Mapping[str, str], Axes], dict[str, str]],
]:
    return (
        lambda attributes, shapes: ints(attributes[name]),
        lambda attributes, axes: {
            name: _text(
                attributes[name], tuple(axes.index(n) for n in ints(attributes[name]) if n in axes)
            )
        },
    )


def _items(*names: str) -> Callable[[Mapping[str, str], Axes], dict[str, str]]:
    """Take attributes that have a number for each axis."""
    return lambda attributes, axes: {
        name: _text(attributes[name], sizes(ints(attributes[name]), axes)) for name in names
    }


def _differing(one: Sequence[int], other: Sequence[int]) -> Axes:
    return tuple(n for n, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1])


def _sliced(attributes: Mapping[str, str], shapes: Sequence[Shape]) -> Axes:
    rank = len(shapes[0])
    return (
        *_differing(ints(attributes["start_indices"]), (0,) * rank),
        *_differing(ints(attributes["limit_indices"]), shapes[0]),
        *_differing(ints(attributes["strides"]), (1,) * rank),
    )


def _padded(attributes: Mapping[str, str], shapes: Sequence[Shape]) -> Axes:
    return tuple(
        axis
        for axis, each in enumerate(
            zip(*(ints(attributes[name]) for name in _PADDING), strict=True)
        )
        if any(each)
    )


_PADDING = ("edge_padding_low", "edge_padding_high", "interior_padding")


def _reducing(operation: Operation, seen: Sequence[View], views: Views) -> Core | None:
    """Reduce what is repeated along other axes once; the order of what is reduced stays."""
    inputs, starts = seen[: len(seen) // 2], seen[len(seen) // 2 :]
    if len(inputs) != 1:
        return None
    found = reduced(inputs[0], ints(operation.attributes["dimensions"]))
    if found is None:
        return None
    own, axes = found
    dimensions = {"dimensions": _text(operation.attributes["dimensions"], own)}
    operands = [inputs[0].core, views.number(starts[0])]
    return Core({**operation.attributes, **dimensions}, operands, _along(operation, axes), axes)


def _reshaping(operation: Operation, seen: Sequence[View], views: Views) -> Core | None:
    axes = seen[0].reshaped(static_shape(operation.types[0]) or ())
    if axes is None:
        return None
    return Core(operation.attributes, [seen[0].core], _along(operation, axes), axes)


def _counting(operation: Operation, seen: Sequence[View], views: Views) -> Core | None:
    """Count along one axis, and repeat that along the others."""
    (axis,) = axes = ints(operation.attributes["iota_dimension"])
    if (static_shape(operation.types[0]) or ())[axis] == 1:
        return None
    dimension = {"iota_dimension": _text(operation.attributes["iota_dimension"], (0,))}
    return Core({**operation.attributes, **dimension}, [], _along(operation, axes), axes)


_OF_DOT = re.compile(r"(\w+) = \[([0-9, ]*)\]")
_SIDES = ("lhs_", "rhs_")


def _dot(operation: Operation, seen: Sequence[View], views: Views) -> Core | None:
    said = _dimensions(operation.attributes["dot_dimension_numbers"])
    contracted = [said.get(f"{side}contracting_dimensions", ()) for side in _SIDES]
    batch = [said.get(f"{side}batching_dimensions", ()) for side in _SIDES]
    found = laws_of_axes.dot(seen, contracted, batch)
    attributes = {
        **operation.attributes,
        "dot_dimension_numbers": str((found.contracted, found.batch)),
    }
    cores = [views.number(view.along(axes)) for view, axes in zip(seen, found.kept, strict=True)]
    return Core(attributes, cores, _along(operation, found.axes), found.axes)


def _gather(operation: Operation, seen: Sequence[View], views: Views) -> Core | None:
    source, indices = seen
    numbers = _dimensions(operation.attributes["dimension_numbers"])
    last = len(indices.shape) - 1
    if numbers.get("index_vector_dim", (0,)) != (last,):
        return None
    said = {name: numbers.get(name, ()) for name in _OF_GATHER}
    slice_sizes = ints(operation.attributes["slice_sizes"])
    rank = len(static_shape(operation.types[0]) or ())
    found = laws_of_axes.gather(source, indices, said, slice_sizes, rank)
    attributes = {
        **operation.attributes,
        "dimension_numbers": str(sorted(found.numbers.items())),
        "slice_sizes": str(found.slice_sizes),
    }
    cores = [
        views.number(source.along(found.kept)),
        views.number(indices.along((*found.by_index, last))),
    ]
    return Core(attributes, cores, _along(operation, found.axes), found.axes)


_OF_GATHER = (
    laws_of_axes.OFFSET, laws_of_axes.COLLAPSED, laws_of_axes.MAP, laws_of_axes.BATCH,
    laws_of_axes.BATCH_OF_INDICES,
)  # fmt: skip

_LAWS: dict[str, Law] = {
    **{f"stablehlo.{each}": _aligned(_nothing, lambda *_: {}) for each in _ELEMENTWISE},
    **{f"chlo.{each}": _aligned(_nothing, lambda *_: {}) for each in _ELEMENTWISE_OF_CHLO},
    "stablehlo.concatenate": _aligned(*_axis("dimension")),
    "stablehlo.dot_general": _dot,
    "stablehlo.dynamic_slice": _aligned(
        lambda attributes, shapes: _differing(ints(attributes["slice_sizes"]), shapes[0]),
        _items("slice_sizes"),
        1,
    ),
    "stablehlo.dynamic_update_slice": _aligned(
        lambda attributes, shapes: _differing(shapes[1], shapes[0]), lambda *_: {}, 2
    ),
    "stablehlo.gather": _gather,
    "stablehlo.iota": _counting,
    "stablehlo.pad": _aligned(_padded, _items(*_PADDING)),
    "stablehlo.reduce": _reducing,
    "stablehlo.reshape": _reshaping,
    "stablehlo.reverse": _aligned(*_axis("dimensions")),
    "stablehlo.slice": _aligned(_sliced, _items("start_indices", "limit_indices", "strides")),
    "stablehlo.sort": _aligned(*_axis("dimension")),
}


def _text(like: str, numbers: Sequence[int]) -> str:
    """Return the text of numbers, as an attribute has it that is such a one."""
    if not like.startswith("array"):
        return f"{numbers[0]} : {like.rpartition(' ')[2]}"
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


@lru_cache(maxsize=10_000)
def _dimensions(text: str) -> Mapping[str, Axes]:
    """Return the numbers of an attribute such as `#stablehlo.gather<offset_dims = [1], ...>`."""
    listed = {
        name: tuple(map(int, each.split(","))) if each else ()
        for name, each in _OF_DOT.findall(text)
    }
    single = {name: (int(each),) for name, each in re.findall(r"(\w+) = (\d+)", text)}
    return listed | single
