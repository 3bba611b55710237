"""Search in rounds: the candidates of a round are tried many at once, the smallest first.

For programs that cost much to judge one by one, and little beside others in the same processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

# How many candidates are tried at once, and how many rounds there are at most.
CANDIDATES = 16
ROUNDS = 20


@dataclass(frozen=True)
class Found(Generic[T]):
    """The smallest program of a search, how many candidates were tried, and why it stopped early.

    `stopped` is "" where no smaller candidate shows the same.
    """

    best: T
    tries: int
    stopped: str = ""


def smallest(
    start: T,
    candidates: Callable[[T], Sequence[T]],
    first_shown: Callable[[Sequence[T]], T | None],
    *,
    at_once: int = CANDIDATES,
    rounds: int = ROUNDS,
    max_tries: float = float("inf"),
    seconds: float = float("inf"),
    on_round: Callable[[T], object] = lambda best: None,
) -> Found[T]:
    """Return the smallest program that shows what `start` shows.

    `candidates` returns programs that are one change smaller, the smallest first, and `first_shown`
    the first of some that shows it still. No program is tried once `seconds` are over.

    Example::

        smallest(9, lambda n: range(n), lambda tried: next((n for n in tried if n > 4), None)).best
    """
    best, tries, end = start, 0, time.monotonic() + seconds
    for _ in range(rounds):
        on_round(best)
        smaller, shown = candidates(best), None
        for first in range(0, len(smaller), at_once):
            if time.monotonic() > end:
                return Found(best, tries, f"{seconds:g} seconds are over")
            if tries >= max_tries:
                return Found(best, tries, f"all {max_tries:g} tries were made")
            tried = smaller[first : first + at_once]
            tries += len(tried)
            if (shown := first_shown(tried)) is not None:
                break
        if shown is None:
            return Found(best, tries)
        best = shown
    return Found(best, tries, f"{rounds} rounds were made")
