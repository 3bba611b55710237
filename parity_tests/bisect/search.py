"""Find the smallest sets of sites that make a command fail, by halves.

Sites are in the order of their numbers, which are hashes. The first site at which a growing range
of them begins to fail is needed; with that one held, the next is found below it, until those found
fail alone. What is left of all the others is asked after that, for sets that fail without these.

Source: the prefix search is Go's `bisect` (golang.org/x/tools/cmd/bisect); that the sets found are
minimal is Junker, "QuickXplain" (2004), under the assumption that flipping more never fixes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

# Sites that are flipped, by their numbers; all others are not.
Question = Sequence[str]
# Answers, for each of some questions, whether the command fails. Several may run at once.
Ask = Callable[[Sequence[Question]], Sequence[bool]]


def bound(sites: int, at_once: int = 1) -> int:
    """Return the most runs that are allowed for one culprit of so many sites.

    Runs that go at once count one by one: they take fewer rounds, and more runs.

    Example::

        bound(1000) == 23
    """
    rounds, left = 0, max(sites, 1)
    while left > 1:
        rounds, left = rounds + 1, -(-left // (at_once + 1))
    return at_once * rounds + math.ceil(math.log2(max(sites, 1))) + 3


@dataclass
class Search:
    """A search for sets of sites.

    - `ask`: answers questions.
    - `at_once`: how many questions may be asked at once.
    - `contradicted`: answers contradict each other, as those of a command do that fails by chance.
    """

    ask: Ask
    at_once: int = 1
    contradicted: bool = False

    def sets(self, sites: Sequence[str]) -> Iterator[tuple[str, ...]]:
        """Yield the sets of sites that make the command fail, each of them by itself.

        All sites flipped must fail, and none must pass. Each set is one of the smallest: none of
        its sites can be left out. Sets that share a site with an earlier one are not looked for.
        """
        left = sorted(sites)
        while left:
            smallest = self._smallest_set(left)
            yield smallest
            left = [site for site in left if site not in smallest]
            if left and not self._fails(left):
                return

    def _smallest_set(self, failing: Sequence[str]) -> tuple[str, ...]:
        """Return a smallest set of these sites, which fail together."""
        needed: list[str] = []
        while failing and not (needed and self._fails(needed)):
            number = self._first_to_fail(failing, needed)
            needed.append(failing[number])
            failing = failing[:number]
        for site in needed[:-1]:  # without the one found last they passed
            if self._fails([each for each in needed if each != site]):
                needed.remove(site)
                self.contradicted = True
        if not self._fails(needed):
            self.contradicted = True
        return tuple(needed)

    def _first_to_fail(self, failing: Sequence[str], held: Sequence[str]) -> int:
        """Return which site makes those up to it fail, with others that are held."""
        passing, fails = 0, len(failing)  # how many of them pass, and how many fail
        while fails - passing > 1:
            asked = _split(passing, fails, self.at_once)
            answers = self.ask([sorted([*failing[:count], *held]) for count in asked])
            first = next((i for i, answer in enumerate(answers) if answer), len(asked))
            passing = asked[first - 1] if first else passing
            fails = asked[first] if first < len(asked) else fails
        return fails - 1

    def _fails(self, question: Question) -> bool:
        return self.ask([sorted(question)])[0]


def _split(begin: int, end: int, parts: int) -> list[int]:
    """Return up to `parts` numbers between two, which divide them evenly."""
    cuts = {begin + round((end - begin) * number / (parts + 1)) for number in range(1, parts + 1)}
    return sorted(cut for cut in cuts if begin < cut < end)
