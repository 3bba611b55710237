"""The strategy that draws recipes: the one module here that needs Hypothesis."""

from __future__ import annotations

from functools import cache

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.fuzz.catalogue import OPERATIONS, WITH_BODIES
from parity_tests.fuzz.construct import Construct, Demand
from parity_tests.fuzz.coverage import OUTSIDE_DEMANDS
from parity_tests.fuzz.recipe import (
    DTYPES,
    OUTSIDES,
    SHAPES,
    STORAGES,
    Block,
    Outside,
    Piece,
    Recipe,
    RecipeArray,
)

# The number of captured arrays of a recipe, and the depth of bodies in bodies.
MOST_CAPTURED = 4
DEPTH = 3


@cache
def programs(depth: int = DEPTH) -> st.SearchStrategy[Recipe]:
    """Draw recipes with bodies in bodies, `depth` levels at most.

    They shrink to fewer pieces, simpler constructs and fewer captured arrays.
    """

    @cache  # strategies are made and checked once: that took a third of drawing
    def within(outside: Outside) -> st.SearchStrategy[Recipe]:
        return st.builds(
            Recipe,
            pieces=_blocks(OUTSIDE_DEMANDS[outside], 2, depth, 4),
            captured=_captured(),
            size=st.sampled_from((4, 8, 3)),
            returned=_returned(),
            outside=st.just(outside),
        )

    return st.sampled_from(OUTSIDES).flatmap(within)


def drawn(number: int, *, of_seed: int, depth: int = DEPTH) -> Recipe:
    """Draw one recipe: the same for the same number, seed, depth and version of Hypothesis."""
    found: list[Recipe] = []

    # Hypothesis begins with the simplest example, and from the third on they resemble the second.
    @seed((of_seed << 32) + number)
    @settings(
        max_examples=2,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(depth))
    def collect(recipe: Recipe) -> None:
        found.append(recipe)

    with temporary_folder("fuzz-") as folder:  # Hypothesis caches, by default in `.hypothesis/`
        set_hypothesis_home_dir(folder)
        try:
            collect()
        finally:
            set_hypothesis_home_dir(None)
    return found[-1]


@cache
def _captured() -> st.SearchStrategy[tuple[RecipeArray, ...]]:
    # Half of the arrays have the most common dtype, and half the most common shape. There are few
    # seeds, so that arrays of equal values occur.
    dtypes = st.one_of(st.just(DTYPES[0]), st.sampled_from(DTYPES))
    shapes = st.one_of(st.just(SHAPES[0]), st.sampled_from(SHAPES))
    seeds = st.integers(0, 2)
    one = st.builds(RecipeArray, dtypes, shapes, st.sampled_from(STORAGES), seeds)
    # Pieces name any index below MOST_CAPTURED, so every recipe has that many arrays. Arrays that
    # are not used are not written.
    return st.tuples(*[one] * MOST_CAPTURED)


def _indices() -> st.SearchStrategy[int]:
    return st.integers(0, MOST_CAPTURED - 1)


@cache
def _returned() -> st.SearchStrategy[tuple[int, ...]]:
    return st.one_of(st.just(()), st.lists(_indices(), min_size=1, max_size=2).map(tuple))


@cache
def _blocks(
    demands: frozenset[Demand], rank: int, depth: int, longest: int
) -> st.SearchStrategy[Block]:
    one = _pieces(demands, rank, depth)
    return st.lists(one, min_size=1, max_size=longest).map(tuple)


@cache
def _pieces(demands: frozenset[Demand], rank: int, depth: int) -> st.SearchStrategy[Piece]:
    def fits(construct: Construct) -> bool:
        return demands <= construct.survives and construct.takes(rank)

    @cache
    def piece(construct: Construct) -> st.SearchStrategy[Piece]:
        rank_within = 1 if construct.by_row else rank
        body = st.deferred(lambda: _blocks(demands | construct.demands, rank_within, depth - 1, 2))
        return st.builds(
            Piece,
            construct=st.just(construct.name),
            captured=st.tuples(*[_indices()] * construct.captured),
            bodies=st.tuples(*[body] * construct.bodies),
            option=st.integers(0, construct.options - 1),
        )

    simple = st.sampled_from([c for c in OPERATIONS if fits(c)]).flatmap(piece)
    if depth == 0:
        return simple
    nesting = st.sampled_from([c for c in WITH_BODIES if fits(c)]).flatmap(piece)
    return st.one_of(simple, nesting)
