"""Views: values that are another one, repeated along new axes, transposed, with axes of size 1.

`vmap` repeats what does not change along a batch, and does so in one form of a program where the
other leaves it as it is. So an operation on views is numbered by what they are views of, and its
result is a view (laws.py, module_laws.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from parity_tests.proof.numbers import Number, number

Shape: TypeAlias = tuple[int, ...]
Axes: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class View:
    """A value of a shape whose element at an index is that of `core` at the index of `axes`.

    Axis n of `core` is axis `axes[n]` of the value; along its other axes the value is repeated, or
    has size 1. No axis of `core` has size 1.
    """

    core: Number
    axes: Axes
    shape: Shape

    def broadcast(self, shape: Shape, dimensions: Sequence[int]) -> View:
        """Return the view whose axis `dimensions[n]` is axis n of this one."""
        return View(self.core, tuple(dimensions[axis] for axis in self.axes), shape)

    def transposed(self, permutation: Sequence[int]) -> View:
        """Return the view whose axis n is axis `permutation[n]` of this one."""
        shape = tuple(self.shape[axis] for axis in permutation)
        return View(self.core, tuple(map(list(permutation).index, self.axes)), shape)

    def along(self, axes: Axes) -> View:
        """Return the view with these axes alone, in their order; `core` needs no other."""
        shape = tuple(self.shape[axis] for axis in axes)
        return View(self.core, tuple(map(axes.index, self.axes)), shape)

    def reshaped(self, shape: Shape) -> Axes | None:
        """Return the axes of `core`, reshaped to their sizes, in a reshape of the value.

        None where axes along which it is repeated are joined to others.
        """
        moved: dict[Axes, Axes] = {}
        for group, others in _groups(self.shape, shape):
            held = tuple(axis for axis in group if axis in self.axes)
            if held and held != tuple(axis for axis in group if self.shape[axis] != 1):
                return None
            if held:
                moved[held] = tuple(axis for axis in others if shape[axis] != 1)
        if all(len(held) == len(after) == 1 for held, after in moved.items()):
            return tuple(moved[axis,][0] for axis in self.axes)
        if self.axes != tuple(sorted(self.axes)):
            return None
        return tuple(axis for after in moved.values() for axis in after)


def _groups(one: Shape, other: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """Cut two shapes of equal size, none of it 0, into the shortest runs of equal size."""
    n = m = 0
    while n < len(one) or m < len(other):
        group, others = [], []
        size = size_of_other = 1
        while True:
            if n < len(one) and (size <= size_of_other or m == len(other)):
                size, n = size * one[n], n + 1
                group.append(n - 1)
            elif m < len(other):
                size_of_other, m = size_of_other * other[m], m + 1
                others.append(m - 1)
            if size == size_of_other:
                break
        yield group, others


class Views:
    """The views among the numbers of a program.

    `named` gives those that have a number of their own; views are known by `add`, too.
    """

    def __init__(self, named: Callable[[View], Number | None] = lambda view: None) -> None:
        self._named = named
        self._known: dict[Number, View] = {}
        self._squeezed: dict[Number, tuple[Number, View]] = {}

    def add(self, value: Number, view: View) -> None:
        """Take a value for a view."""
        self._known[value] = view

    def of(self, value: Number, shape: Shape) -> View:
        """Return a value of a shape as a view; at least of itself without its axes of size 1."""
        found = self._known.get(value)
        if found is not None:
            return found
        axes = tuple(axis for axis, size in enumerate(shape) if size != 1)
        if len(axes) == len(shape):
            return View(value, axes, shape)
        core = number("squeezed", value)
        found = self._known[value] = View(core, axes, shape)
        self._squeezed[core] = value, found
        return found

    def number(self, view: View) -> Number:
        """Return the number of a view: `core` itself where it is seen as it is."""
        sizes = tuple(view.shape[axis] for axis in view.axes)
        if 1 in sizes or view.core in self._known:  # a view of a view
            view = self.of(view.core, sizes).broadcast(view.shape, view.axes)
        if view.axes == tuple(range(len(view.shape))):
            return view.core
        value, whole = self._squeezed.get(view.core, (b"", None))
        if whole == view:
            return value
        named = self._named(view)
        if named is not None:
            return named
        made = number("view", *view.shape, "|", *view.axes, view.core)
        self._known[made] = view
        return made

    def seen(self, value: Number) -> Number:
        """Return the value that a value is a view of, or itself."""
        view = self._known.get(value)
        return value if view is None else self._squeezed.get(view.core, (view.core,))[0]

    def mapped(self, value: Number, of_one: Callable[[Number], Number]) -> Number:
        """Return what `of_one` makes of the value that is seen, seen in the same way."""
        view = self._known.get(value)
        if view is None:
            return of_one(value)
        if view.core not in self._squeezed:
            return self.number(View(of_one(view.core), view.axes, view.shape))
        whole, own = self._squeezed[view.core]
        core = self.of(of_one(whole), own.shape).core
        return self.number(View(core, view.axes, view.shape))
