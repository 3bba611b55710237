"""Repeated values of a StableHLO module: what vmap broadcasts along a new axis in one form alone.

What is computed element by element from repeated values, or reduced along axes of their own, is
what is computed before, repeated. So is a slice, and a reshape that leaves the axes alone along
which a value is repeated, where these are its first ones, as those of `vmap` are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from parity_tests.proof.attributes import static_shape, with_shape
from parity_tests.proof.contents import Content
from parity_tests.proof.numbers import Number, number
from parity_tests.proof.operations import ELEMENTWISE, OF_ELEMENTS, REDUCE, RESHAPE, SLICE
from parity_tests.proof.reading import Broadcast, Operation, integers_of, key_of

_MOVING = frozenset((SLICE, RESHAPE))
_OF_SLICES = frozenset(("start_indices", "limit_indices", "strides"))


@dataclass(frozen=True, slots=True)
class Repeated:
    """A value that is another one, `base`, on these axes, in their order, and repeated on others.

    `type_` is the text of its type.
    """

    base: Number
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    type_: str


class Repeats:
    """The repeated values of one module; `contents` are those of its constants."""

    def __init__(self, contents: Mapping[Number, Content]) -> None:
        self._contents = contents
        self._known: dict[Number, Repeated] = {}

    def number_of(self, repeated: Repeated) -> Number:
        """Return the number of a repeated value, and know it from now on."""
        found = number("repeated", repeated.type_, *repeated.axes, repeated.base)
        self._known[found] = repeated
        return found

    def broadcast(
        self, operation: Operation, broadcast: Broadcast, value: Number
    ) -> Repeated | None:
        """Return what a broadcast repeats; None for one that stretches an axis or moves axes."""
        shape, axes, of = broadcast
        base, of_base = value, tuple(range(len(of)))
        if value in self._known:
            base, of_base = self._known[value].base, self._known[value].axes
        moved = tuple([axes[axis] for axis in of_base])
        if len(moved) == len(shape) or moved != tuple(sorted(moved)):
            return None
        if any(shape[axes[axis]] != of[axis] for axis in of_base):
            return None
        return Repeated(base, moved, shape, operation.types[0])

    def before(
        self, operation: Operation, operands: tuple[Number, ...]
    ) -> tuple[Number, tuple[Number, ...], Repeated] | None:
        """Return the key and the operands of an operation on what its operands repeat.

        Its result is repeated as is told last, without its base. None where no axis is repeated in
        all operands, or no law knows the operation.
        """
        if operation.name in _MOVING:
            return self._moved(operation, operands[0])
        is_reduction = operation.name == REDUCE and len(operands) == 2
        if not (is_reduction or operation.name in ELEMENTWISE):
            return None
        axes, shapes = set[int](), set[tuple[int, ...]]()
        taken, start = (operands[:1], operands[1:]) if is_reduction else (operands, ())
        for each in taken:
            view = self._view(each)
            if view is None:
                return None
            axes |= {*view[0]}
            shapes |= {view[1]} - {()}  # a scalar is one for all elements
        if len(shapes) != 1 or not operation.attributes.keys() <= OF_ELEMENTS:
            return None
        [shape], [type_], own = shapes, operation.types, sorted(axes)
        attributes = dict(operation.attributes)
        gone = integers_of(attributes["dimensions"]) if is_reduction else ()
        left = [axis for axis in range(len(shape)) if axis not in gone]
        of_result = tuple([shape[axis] for axis in left])
        if len(own) == len(shape) or not axes >= {*gone} or static_shape(type_) != of_result:
            return None
        if is_reduction:
            attributes["dimensions"] = f"array<i64: {', '.join(str(own.index(n)) for n in gone)}>"
        kept = [axis for axis in own if axis not in gone]
        before = with_shape(type_, [shape[axis] for axis in kept])
        return (
            key_of(operation.name, tuple(sorted(attributes.items())), (before,)),
            (*(self._on_axes(each, own) for each in taken), *start),
            Repeated(b"", tuple(map(left.index, kept)), of_result, type_),
        )

    def _moved(
        self, operation: Operation, value: Number
    ) -> tuple[Number, tuple[Number, ...], Repeated] | None:
        """Return what `before` does, of a slice or a reshape of a value."""
        view, [type_] = self._view(value), operation.types
        shape = static_shape(type_)
        if view is None or shape is None or not operation.attributes.keys() <= _OF_SLICES:
            return None
        own, whole = view
        if not own or 0 in whole or 0 in shape or len(own) == len(whole):
            return None
        attributes, kept = dict[str, str](), own
        if operation.name == SLICE:
            for name, text in operation.attributes.items():
                along = integers_of(text)
                attributes[name] = f"array<i64: {', '.join(str(along[axis]) for axis in own)}>"
        else:
            both = zip(whole[: own[0]], shape, strict=False)
            left = len([*takewhile(lambda sizes: sizes[0] == sizes[1], both)])
            if not left:
                return None
            own, kept = tuple(range(left, len(whole))), tuple(range(left, len(shape)))
        before = with_shape(type_, [shape[axis] for axis in kept])
        key = key_of(operation.name, tuple(sorted(attributes.items())), (before,))
        return key, (self._on_axes(value, own),), Repeated(b"", kept, shape, type_)

    def _view(self, value: Number) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return the axes on which a value is not repeated, and its shape, where both are known."""
        content = self._contents.get(value)
        if content is not None:
            return None if 0 in content.shape else (content.varying, content.shape)
        repeated = self._known.get(value)
        return None if repeated is None else (repeated.axes, repeated.shape)

    def _on_axes(self, value: Number, axes: Sequence[int]) -> Number:
        """Return the number of what is left of a value that is repeated on all other axes."""
        content = self._contents.get(value)
        if content is not None:
            return content.on_axes(axes).number if content.shape else value
        repeated = self._known[value]
        if repeated.axes == tuple(axes):
            return repeated.base
        shape = tuple([repeated.shape[axis] for axis in axes])
        own, type_ = tuple(map(axes.index, repeated.axes)), with_shape(repeated.type_, shape)
        return self.number_of(Repeated(repeated.base, own, shape, type_))
