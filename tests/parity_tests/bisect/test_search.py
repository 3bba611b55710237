"""The search by halves: which sets it finds, and in how many runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parity_tests.bisect.search import Search, bound
from parity_tests.bisect.sites import Flips, Site

SITES = [f"{number * 7919:012x}" for number in range(1000)]


class Command:
    """A command that fails where all sites of one of some sets are flipped; counts its runs."""

    def __init__(self, culprits: Iterable[Iterable[str]]) -> None:
        self.culprits, self.asked = [set(each) for each in culprits], list[tuple[str, ...]]()

    def ask(self, questions: Sequence[Sequence[str]]) -> list[bool]:
        self.asked += [tuple(each) for each in questions]
        return [any(each <= set(asked) for each in self.culprits) for asked in questions]

    def found(self, sites: Sequence[str] = SITES, at_once: int = 1) -> set[frozenset[str]]:
        search = Search(self.ask, at_once)
        found = set(map(frozenset, search.sets(sites)))
        assert not search.contradicted
        return found

    @property
    def runs(self) -> int:
        """Each question is run once."""
        return len(set(self.asked))


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 300), st.integers(1, 5), st.data())
def test_one_culprit_is_found_within_the_bound(
    count: int, at_once: int, data: st.DataObject
) -> None:
    sites = SITES[:count]
    culprit = data.draw(st.sampled_from(sites))
    command = Command([[culprit]])
    command.ask([tuple(sites)])  # the end at which all are flipped
    assert command.found(sites, at_once) == {frozenset([culprit])}
    others = 2 if count <= 4 else 3  # nothing and everything flipped; nothing, again
    assert command.runs + others <= bound(count, at_once)


def test_the_bound_of_runs_one_by_one_is_that_of_halving() -> None:
    assert [bound(sites) for sites in (0, 1, 2, 5, 40, 1000)] == [3, 3, 5, 9, 15, 23]
    assert [bound(1000, at_once) for at_once in (2, 3)] == [2 * 7 + 13, 3 * 5 + 13]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(SITES), min_size=2, max_size=4, unique=True))
def test_sites_that_fail_only_together_are_one_set(culprits: list[str]) -> None:
    assert Command([culprits]).found() == {frozenset(culprits)}


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from(SITES), min_size=4, max_size=6, unique=True), st.sampled_from([1, 3])
)
def test_several_culprits_are_found_one_by_one(sites: list[str], at_once: int) -> None:
    culprits = [sites[:1], sites[1:3], sites[3:]]
    assert Command(culprits).found(at_once=at_once) == set(map(frozenset, culprits))


def test_runs_at_once_divide_by_more_than_two() -> None:
    one, three = Command([[SITES[600]]]), Command([[SITES[600]]])
    assert one.found() == three.found(at_once=3) == {frozenset([SITES[600]])}
    rounds = 5  # 4^5 > 1000; then the culprit alone, and all the others
    assert (one.runs, three.runs) == (10 + 2, 3 * rounds + 2)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("none", [], ["0" * 12, "f" * 12]),
        ("all", ["0" * 12, "f" * 12], []),
        ("3f2a,80-9f", ["3f2a" + "f" * 8, "8" + "0" * 11, "9f" + "f" * 10], ["3f2b" + "0" * 8]),
    ],
)
def test_flips_are_written_as_numbers_and_beginnings_of_them(
    text: str, inside: list[str], outside: list[str]
) -> None:
    flips = Flips.of(text)
    assert all(site in flips for site in inside)
    assert not any(site in flips for site in outside)
    assert str(Flips.of(str(flips))) == str(flips)


@pytest.mark.parametrize("text", ["", "3F2A", "1-2-3", "everything", "0123456789abc"])
def test_what_names_no_sites_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="names no sites; write all, none, or sites and ranges"):
        Flips.of(text)


def test_a_site_is_what_it_is_and_not_how_large_its_array_is() -> None:
    site = Site("array", "step at a.py:3", "a.py", 4, "step", "float32[8]", 1, bytes=32, uses=2)
    assert site.id == Site("array", "step at a.py:3", "a.py", 4, "step", "float32[8]", 1).id
    assert site.words == "float32[8] at a.py:4 (step), the 2nd there, captured by step at a.py:3"
