"""Delta debugging: the smallest part of a set that still shows what the whole shows.

Source: A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
Transactions on Software Engineering 28(2), 2002: the algorithm `ddmin`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def ddmin(items: Sequence[T], shows: Callable[[tuple[T, ...]], bool]) -> tuple[T, ...]:
    """Return a part of `items`, in their order, that `shows`, and would not without any one item.

    `shows(items)` must be true and is not asked, nor is the empty part. No part is asked about
    twice. The result is minimal and not the only one: where two items show it alone, one is found.

        ddmin(range(8), lambda part: 5 in part) == (5,)
    """
    indices = tuple(range(len(items)))
    answers: dict[tuple[int, ...], bool] = {}

    def asked(part: tuple[int, ...]) -> bool:
        if part not in answers:
            answers[part] = shows(tuple(items[index] for index in part))
        return answers[part]

    granularity = 2
    while len(indices) >= 2:
        chunks = _split(indices, granularity)
        complements = [tuple(i for i in indices if i not in chunk) for chunk in chunks]
        chunk = next((each for each in chunks if asked(each)), None)
        if chunk is not None:
            indices, granularity = chunk, 2
            continue
        # With two chunks the complements are the chunks.
        rest = next((each for each in complements if granularity > 2 and asked(each)), None)
        if rest is not None:
            indices, granularity = rest, max(granularity - 1, 2)
        elif granularity < len(indices):
            granularity = min(2 * granularity, len(indices))
        else:
            break
    return tuple(items[index] for index in indices)


def _split(indices: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """Split into `count` parts whose lengths differ by one at most."""
    bounds = [len(indices) * number // count for number in range(count + 1)]
    return [indices[start:end] for start, end in itertools.pairwise(bounds)]
