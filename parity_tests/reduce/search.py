"""Search: from a draft that shows a symptom to a smallest one that still does.

It makes edits until no edit is left. The outermost equations come first, with their bodies whole,
then the bodies from the innermost out. All is repeated until nothing changes.

Source: A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
Transactions on Software Engineering 28(2), 2002: the algorithm `ddmin`.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from parity_tests.reduce import edits
from parity_tests.reduce.draft import Draft, Path, size

Item = TypeVar("Item")


def ddmin(items: Sequence[Item], shows: Callable[[tuple[Item, ...]], bool]) -> tuple[Item, ...]:
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


T = TypeVar("T")


class _OutOfBudgetError(Exception):
    """No more candidates may be tried."""


@dataclass
class Search:
    """A search: `shows` says whether a candidate shows the symptom; equal candidates share a `key`.

    `max_tries` bounds how many candidates are tried, `seconds` for how long. `best` is the smallest
    draft so far, `stopped` says in words why the search ended early, "" where it did not.
    """

    best: Draft
    shows: Callable[[Draft], bool]
    key: Callable[[Draft], Hashable]
    max_tries: int
    seconds: float
    on_try: Callable[[int, Draft], object] = lambda tries, best: None
    tries: int = 0
    stopped: str = ""
    _answers: dict[Hashable, bool] = field(default_factory=dict)
    _start: float = field(default_factory=time.monotonic)

    def run(self) -> Draft:
        """Search, and return the smallest draft that shows the symptom; `best` has to show it."""
        try:
            before = None
            while before != self.best:
                before = self.best
                self._fewer_outputs()
                self._fewer_equations(())
                self._inline()
                self._smaller_bodies()
                self._first_of(edits.merged_arrays)
                self._first_of(edits.simpler_arrays)
        except _OutOfBudgetError as error:
            self.stopped = str(error)
        return self.best

    def _shows(self, candidate: Draft) -> bool:
        """Ask, unless it was asked before, and keep what shows; too many questions raise."""
        if not candidate.body.outputs:
            return False
        key = self.key(candidate)
        if key not in self._answers:
            if self.tries >= self.max_tries:
                raise _OutOfBudgetError(f"all {self.max_tries} tries were made")
            if time.monotonic() - self._start > self.seconds:
                raise _OutOfBudgetError(f"{self.seconds:g} seconds are over")
            self.tries += 1
            self._answers[key] = self.shows(candidate)
            self.on_try(self.tries, self.best)
        if self._answers[key] and size(candidate) < size(self.best):
            self.best = candidate
        return self._answers[key]

    def _fewer_outputs(self) -> None:
        start = self.best
        outputs = tuple(dict.fromkeys(start.body.outputs))
        if len(outputs) > 1:
            self._keep(outputs, lambda part: edits.with_outputs(start, part))

    def _fewer_equations(self, path: Path) -> None:
        start = self.best
        body = edits.body_at(start.body, path)
        free_to_go = edits.movable(start, path)
        held = set(range(len(body.equations))) - set(free_to_go)
        if not free_to_go:
            return
        if path and self._shows(edits.cut(start, path, held)):
            return
        if len(free_to_go) > 1:
            self._keep(free_to_go, lambda part: edits.cut(start, path, held | set(part)))

    def _keep(self, items: Sequence[T], candidate: Callable[[Sequence[T]], Draft]) -> None:
        """Delta-debug; where all items together show it no longer, there is nothing to do."""
        if self._shows(candidate(items)):
            ddmin(items, lambda part: self._shows(candidate(part)))

    def _inline(self) -> None:
        """Put bodies in the place of their equations, for as long as one can be."""
        while True:
            start = self.best
            candidates = (
                candidate
                for path in edits.paths(start.body)
                for number, _ in enumerate(edits.body_at(start.body, path).equations)
                for candidate in edits.inlined(start, path, number)
            )
            if not any(self._shows(each) and self.best != start for each in candidates):
                return
            self._fewer_equations(())

    def _smaller_bodies(self) -> None:
        done: set[Hashable] = set()
        while True:
            start = self.best
            waiting = [path for path in edits.paths(start.body) if path not in done and path]
            if not waiting:
                return
            self._fewer_equations(waiting[0])
            # After a cut the paths are others; candidates that were tried are in the cache.
            done = {*done, waiting[0]} if self.best == start else set()

    def _first_of(self, make: Callable[[Draft], object]) -> None:
        """Take a candidate that shows it and is smaller, and begin again with that."""
        while True:
            start = self.best
            if not any(self._shows(each) and self.best != start for each in make(start)):  # type: ignore[attr-defined]
                return


# -- search in rounds: candidates are tried many at once, the smallest first -----------------------

# For programs that cost much to judge one by one, and little beside others in the same processes.

Candidate = TypeVar("Candidate")

# How many candidates are tried at once, and how many rounds there are at most.
CANDIDATES = 16
ROUNDS = 20


@dataclass(frozen=True)
class Found(Generic[Candidate]):
    """The smallest program of a search, how many candidates were tried, and why it stopped early.

    `stopped` is "" where no smaller candidate shows the same.
    """

    best: Candidate
    tries: int
    stopped: str = ""


def smallest(
    start: Candidate,
    candidates: Callable[[Candidate], Sequence[Candidate]],
    first_shown: Callable[[Sequence[Candidate]], Candidate | None],
    *,
    at_once: int = CANDIDATES,
    rounds: int = ROUNDS,
    max_tries: float = float("inf"),
    seconds: float = float("inf"),
    on_round: Callable[[Candidate], object] = lambda best: None,
) -> Found[Candidate]:
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
