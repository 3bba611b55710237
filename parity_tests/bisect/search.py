"""Find the smallest sets of sites that make a command fail, by halves.

Sites are in the order of their numbers, which are hashes, so that a question is a range of them,
and says the same of sites that no run has met yet. The first site at which a growing range begins
to fail is needed; with that one held, the next is found below it, until those found fail alone.
What is left of all the others is asked after that, for sets that fail without the first.

Source: the prefix search is Go's `bisect` (golang.org/x/tools/cmd/bisect); that the sets found are
minimal is Junker, "QuickXplain" (2004), under the assumption that flipping more never mends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from parity_tests.bisect.sites import LAST, Flips

# Answers, for each of some questions, whether the command fails. Several may run at once.
Ask = Callable[[Sequence[Flips]], Sequence[bool]]


class UnlistedError(Exception):
    """The command begins to fail between two listed sites: what was flipped there has no name."""


def bound(sites: int) -> int:
    """Return the most runs that are allowed for one culprit of so many sites.

    Example::

        bound(1000) == 23
    """
    return 2 * math.ceil(math.log2(max(sites, 1))) + 3


@dataclass
class Search:
    """A search for sets of sites.

    - `ask`: answers questions.
    - `listed`: returns the numbers of all sites that runs have met so far.
    - `at_once`: how many questions may be asked at once.
    - `contradicted`: answers contradict each other, as those of a command do that fails by chance.
    """

    ask: Ask
    listed: Callable[[], Sequence[str]]
    at_once: int = 1
    contradicted: bool = False

    def sets(self) -> Iterator[tuple[str, ...]]:
        """Yield the sets of sites that make the command fail, each of them by itself.

        All sites flipped must fail, and none must pass. Each set is one of the smallest: none of
        its sites can be left out. Sets that share a site with an earlier one are not looked for.

        Raises `UnlistedError`.
        """
        found: list[str] = []
        while True:
            smallest = self._smallest_set(found)
            yield smallest
            found += smallest
            left = set(self.listed()) - set(found)
            if not left or not self._fails(Flips.up_to(LAST, minus=found)):
                return

    def _smallest_set(self, without: Sequence[str]) -> tuple[str, ...]:
        needed: list[str] = []
        last = LAST
        while not needed or not self._fails(Flips.only(needed)):
            last = self._first_to_fail(last, needed, [*without, *needed])
            needed.append(last)
        for site in needed[:-1]:  # without the one found last they passed
            if self._fails(Flips.only(each for each in needed if each != site)):
                needed.remove(site)
                self.contradicted = True
        return tuple(needed)

    def _first_to_fail(self, end: str, held: Sequence[str], without: Sequence[str]) -> str:
        """Return the first site that makes all up to it fail, with those that are held."""
        begin = ""
        while len(between := self._between(begin, end, without)) > 1:
            asked = _split(between, self.at_once)
            questions = [Flips.up_to(site, plus=held, minus=without) for site in asked]
            answers = self.ask(questions)
            failing = next((i for i, fails in enumerate(answers) if fails), len(asked))
            begin = asked[failing - 1] if failing else begin
            end = asked[failing] if failing < len(asked) else end
        if not between:
            raise UnlistedError
        return between[0]

    def _between(self, begin: str, end: str, without: Sequence[str]) -> list[str]:
        return sorted(s for s in self.listed() if begin < s <= end and s not in without)

    def _fails(self, question: Flips) -> bool:
        return self.ask([question])[0]


def _split(between: Sequence[str], parts: int) -> list[str]:
    """Return up to `parts` sites that divide a list evenly; never its last."""
    cuts = {round(len(between) * number / (parts + 1)) for number in range(1, parts + 1)}
    return [between[cut - 1] for cut in sorted(cuts) if 0 < cut < len(between)]
