"""Search: from a draft that shows a symptom to a smallest one that still does.

It makes edits until no edit is left. The outermost equations come first, with their bodies whole,
then the bodies from the innermost out. All is repeated until nothing changes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from parity_tests.reduce import edits
from parity_tests.reduce.delta_debugging import ddmin
from parity_tests.reduce.draft import Draft, Path, size

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
