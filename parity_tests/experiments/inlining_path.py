"""The path from all arrays hoisted to the set of inlined arrays whose calls are fastest.

The rule is at the head of `tune`. Times are asked for, so that a test can plan them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from parity_tests.experiments.inlining_times import NOTHING, Inlined, InliningTimes


@dataclass(frozen=True)
class InliningPath:
    """The sets of the path that held, and the times that decided; the last set is the choice.

    `too_long` has the keys that would be faster inlined, but compile too long. `lost` says that
    gains were seen and not seen again.
    """

    sets: tuple[Inlined, ...]
    times: InliningTimes
    too_long: Inlined
    lost: bool

    @property
    def chosen(self) -> Inlined:
        """The last set of the path; empty if nothing is to be inlined."""
        return self.sets[-1] if self.sets else NOTHING


def find_path(
    measure: Callable[[Iterable[Inlined]], InliningTimes],
    singles: Sequence[Inlined],
    everything: Inlined,
    beside: Sequence[Inlined] = (),
) -> InliningPath:
    """Walk the path, then time all of it once more, and take back the sets that do not hold.

    What is `beside` the path is timed with it.
    """
    alone = measure([*singles, everything, *beside])
    walked, too_long = _walk(measure, alone, singles, everything)
    times = measure([*singles, *walked, everything, *beside]) if walked else alone
    path = list(walked)
    while path and (times.compiles_too_long(path[-1]) or not times.is_faster(path[-1], NOTHING)):
        last = path.pop()
        if times.compiles_too_long(last):
            too_long |= last.difference(*path[-1:])
    lost = bool(walked) and not path and not too_long
    return InliningPath(tuple(path), times, too_long, lost)


def _walk(
    measure: Callable[[Iterable[Inlined]], InliningTimes],
    alone: InliningTimes,
    singles: Sequence[Inlined],
    everything: Inlined,
) -> tuple[list[Inlined], Inlined]:
    """Return the sets of the path without the empty one, and the keys that compile too long.

    `alone` has the times of each array alone and of all that may be inlined.
    """
    path, too_long = [NOTHING], NOTHING
    gaining = [single for single in singles if alone.is_faster(single, NOTHING)]
    for single in sorted(gaining, key=alone.call.__getitem__):
        more = path[-1] | single
        if alone.compiles_too_long(single):
            too_long |= single
            continue
        measured = measure([path[-1], more])
        if measured.compiles_too_long(more):
            too_long |= single
        elif measured.is_faster(more, path[-1]):
            path.append(more)
    if (
        everything not in (*path, *singles)
        and alone.is_faster(everything, NOTHING)
        and not alone.compiles_too_long(everything)
    ):
        measured = measure([path[-1], everything])
        if measured.is_faster(everything, path[-1]) and not measured.compiles_too_long(everything):
            path.append(_without_what_is_not_missed(measure, path[-1], everything))
    return path[1:], too_long


def _without_what_is_not_missed(
    measure: Callable[[Iterable[Inlined]], InliningTimes], kept: Inlined, everything: Inlined
) -> Inlined:
    needed = everything
    for key in sorted(everything - kept):
        fewer = needed - {key}
        if not measure([fewer, everything]).is_faster(everything, fewer):
            needed = fewer
    return needed
