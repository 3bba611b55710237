"""Where the axes of operations go when their operands are views: sums of products, and gathers.

Nothing here knows how a jaxpr or a module writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parity_tests.proof.views import Axes, Shape, View

_BOTH = (0, 1)


def ordered(views: Sequence[View], acted: Sequence[int] = ()) -> Axes:
    """Return the axes that count, in an order that follows when all views are transposed alike.

    Those that an operation acts along count at any rate.
    """
    used = [axis for view in sorted(views, key=lambda each: -len(each.axes)) for axis in view.axes]
    return tuple(dict.fromkeys([*used, *acted]))


def sizes(shape: Sequence[int], axes: Axes) -> Shape:
    """Return the sizes of some axes of a shape."""
    return tuple(shape[axis] for axis in axes)


def reduced(view: View, gone: Axes) -> tuple[Axes, Axes] | None:
    """Return which axes of a view's core a reduction takes, and where its result has the others.

    None where it reduces what is repeated, or in another order.
    """
    own = tuple(view.axes.index(axis) for axis in gone if axis in view.axes)
    if len(own) < len(gone) or own != tuple(sorted(own)):
        return None
    left = [axis for axis in range(len(view.shape)) if axis not in gone]
    return own, tuple(left.index(axis) for axis in view.axes if axis not in gone)


@dataclass(frozen=True)
class Dot:
    """A sum of products over the `contracted` axes of two operands, each for all of `batch`.

    Of the operands it takes the axes `kept`, and counts its own among them; the axes of its result
    are `axes` of the one that was asked for.
    """

    kept: tuple[Axes, Axes]
    contracted: tuple[Axes, Axes]
    batch: tuple[Axes, Axes]
    axes: Axes


def dot(seen: Sequence[View], contracted: Sequence[Axes], batch: Sequence[Axes]) -> Dot:
    """Take each sum of products once: what only one operand has is no axis of the other.

    A batch axis along which one operand is repeated is a free axis of the other one.
    """
    # Along an axis that is summed over, a core is repeated where need be.
    left, right = (tuple(dict.fromkeys([*seen[n].axes, *contracted[n]])) for n in _BOTH)
    kept = left, right
    pairs = enumerate(zip(*batch, strict=True))
    shared = [n for n, (one, other) in pairs if one in left and other in right]
    axes, count = list(shared), len(batch[0])
    for n in _BOTH:
        hidden = (*contracted[n], *batch[n])
        free = [axis for axis in range(len(seen[n].shape)) if axis not in hidden]
        of_result = {axis: batch[n].index(axis) for axis in batch[n]}
        of_result |= {axis: count + position for position, axis in enumerate(free)}
        count += len(free)
        own = [of_result[axis] for axis in kept[n] if axis in of_result]
        axes += [axis for axis in own if axis not in shared]
    return Dot(
        kept,
        (tuple(map(left.index, contracted[0])), tuple(map(right.index, contracted[1]))),
        (
            tuple(left.index(batch[0][each]) for each in shared),
            tuple(right.index(batch[1][each]) for each in shared),
        ),
        tuple(axes),
    )


# What a gather says of axes: of its result, of its operand and of its indices.
OFFSET, COLLAPSED, MAP = "offset_dims", "collapsed_slice_dims", "start_index_map"
BATCH, BATCH_OF_INDICES = "operand_batching_dims", "start_indices_batching_dims"


@dataclass(frozen=True)
class Gather:
    """A gather from the axes `kept` of its operand by the axes `by_index` of its indices.

    The last axis of the indices is behind these. `axes` are as of a `Dot`.
    """

    kept: Axes
    by_index: Axes
    numbers: Mapping[str, Axes]
    slice_sizes: Shape
    axes: Axes


def gather(
    source: View, indices: View, said: Mapping[str, Axes], slice_sizes: Shape, rank: int
) -> Gather:
    """Gather from what is not repeated, by indices that are not.

    A batch axis that one of them alone has is an axis of the indices, or one of which each slice
    has all. The result has the axes of the indices, then those of a slice; `rank` is that of the
    result that was asked for.
    """
    of_indices = [axis for axis in range(rank) if axis not in said[OFFSET]]
    hidden = (*said[COLLAPSED], *said[BATCH])
    in_slices = [axis for axis in range(len(source.shape)) if axis not in hidden]
    of_slice = dict(zip(in_slices, said[OFFSET], strict=True))
    batch = []
    for axis, of_index in zip(said[BATCH], said[BATCH_OF_INDICES], strict=True):
        if axis in source.axes and of_index in indices.axes:
            batch.append((axis, of_index))
        elif axis in source.axes:
            of_slice[axis] = of_indices[of_index]
    parts = [axis for axis in in_slices if slice_sizes[axis] != source.shape[axis]]
    kept = ordered([source], sorted({*said[MAP], *said[COLLAPSED], *parts}))
    last = len(indices.shape) - 1
    by_index = tuple(axis for axis in indices.axes if axis != last)
    sliced = [axis for axis in kept if axis in of_slice]
    axes = (*(of_indices[axis] for axis in by_index), *(of_slice[axis] for axis in sliced))
    whole = {axis for axis in sliced if axis not in in_slices}
    return Gather(
        kept,
        by_index,
        {
            OFFSET: tuple(range(len(by_index), len(axes))),
            COLLAPSED: tuple(map(kept.index, said[COLLAPSED])),
            MAP: tuple(map(kept.index, said[MAP])),
            BATCH: tuple(kept.index(axis) for axis, _ in batch),
            BATCH_OF_INDICES: tuple(by_index.index(axis) for _, axis in batch),
        },
        tuple(source.shape[axis] if axis in whole else slice_sizes[axis] for axis in kept),
        axes,
    )
