"""Which recipes JAX accepts, what they cover, and variations of them that cover something new."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from parity_tests.fuzz.catalogue import CATALOGUE
from parity_tests.fuzz.construct import NOTHING, Demand
from parity_tests.fuzz.recipe import (
    DTYPES,
    OUTSIDES,
    SHAPES,
    STORAGES,
    Block,
    Outside,
    Recipe,
    RecipeArray,
    kind_of,
)

OUTSIDE_DEMANDS: dict[Outside, frozenset[Demand]] = {
    "nothing": NOTHING,
    "grad": frozenset({"reverse"}),
    "vmap": frozenset({"batch"}),
    "jvp": frozenset({"forward"}),
    "vjp": frozenset({"reverse"}),
    "linearize": frozenset({"forward", "reverse"}),
    "checkpoint": frozenset({"reverse", "remat"}),
}


def is_valid(recipe: Recipe) -> bool:
    """Say whether each construct supports the transformations and the rank that it is under."""
    return _fits(recipe.pieces, OUTSIDE_DEMANDS[recipe.outside], 2)


def _fits(block: Block, demands: frozenset[Demand], rank: int) -> bool:
    for piece in block:
        construct = CATALOGUE.get(piece.construct)
        if construct is None or not demands <= construct.survives or not construct.takes(rank):
            return False
        if len(piece.bodies) != construct.bodies or len(piece.captured) != construct.captured:
            return False
        within = 1 if construct.by_row else rank
        if not all(_fits(body, demands | construct.demands, within) for body in piece.bodies):
            return False
    return bool(block) or rank != 2


KINDS = ("transformation", "nesting", "constant")


def features(recipe: Recipe) -> frozenset[str]:
    """Return the combinations that a program has, each as a text that begins with its kind.

    Example::

        "transformation: cond under grad" in features(recipe)
    """
    return frozenset(chain(_nested(recipe.pieces, "", recipe), _returned(recipe)))


def count_possible() -> int:
    """Return how many combinations of constructs and outer transformations there are."""
    return sum(
        OUTSIDE_DEMANDS[outside] <= construct.survives
        for outside in OUTSIDES
        for construct in CATALOGUE.values()
    )


def counted(found: Iterable[str]) -> dict[str, int]:
    """Count combinations by kind.

    Example::

        >>> counted({"nesting: cond in scan", "nesting: scan in cond"})
        {'transformation': 0, 'nesting': 2, 'constant': 0}
    """
    kinds = [each.partition(":")[0] for each in found]
    return {kind: kinds.count(kind) for kind in KINDS}


def _nested(block: Block, parent: str, recipe: Recipe) -> Iterator[str]:
    for piece in block:
        yield f"transformation: {piece.construct} under {recipe.outside}"
        if parent:
            yield f"nesting: {piece.construct} in {parent}"
        for index in piece.captured:
            kind = kind_of(recipe.captured, index)
            yield f"constant: {kind.dtype} {kind.shape} in {kind.storage} for {piece.construct}"
        for body in piece.bodies:
            yield from _nested(body, piece.construct, recipe)


def _returned(recipe: Recipe) -> Iterator[str]:
    for index in recipe.returned:
        kind = kind_of(recipe.captured, index)
        yield f"constant: {kind.dtype} {kind.shape} in {kind.storage} returned"


# -- variations ------------------------------------------------------------------------------------

_TRIES = 30


def varied(kept: Sequence[Recipe], covered: Collection[str], seed: int, number: int) -> Recipe:
    """Return a variation of one of `kept` that has a combination which is not `covered`.

    The same arguments give the same program. Where none of some tries has one, it is the last
    of them that is valid; where none is valid, a program of `kept` itself.
    """
    draw = random.Random(f"{seed} {number}")
    last = draw.choice(kept)
    for _ in range(_TRIES):
        one, other = draw.choice(kept), draw.choice(kept)
        tried = draw.choice(_WAYS)(one, other, draw)
        if is_valid(tried):
            last = tried
            if not features(tried) <= set(covered):
                break
    return last


def _another_transformation(one: Recipe, other: Recipe, draw: random.Random) -> Recipe:
    return replace(one, outside=draw.choice(OUTSIDES))


def _another_piece(one: Recipe, other: Recipe, draw: random.Random) -> Recipe:
    place = draw.randrange(len(one.pieces))
    pieces = list(one.pieces)
    pieces[place] = draw.choice(other.pieces)
    return replace(one, pieces=tuple(pieces))


def _one_more_piece(one: Recipe, other: Recipe, draw: random.Random) -> Recipe:
    return replace(one, pieces=(*one.pieces, draw.choice(other.pieces)))


def _another_body(one: Recipe, other: Recipe, draw: random.Random) -> Recipe:
    with_bodies = [place for place, piece in enumerate(one.pieces) if piece.bodies]
    if not with_bodies:
        return _one_more_piece(one, other, draw)
    place = draw.choice(with_bodies)
    piece = one.pieces[place]
    bodies = list(piece.bodies)
    bodies[draw.randrange(len(bodies))] = (draw.choice(other.pieces),)
    pieces = list(one.pieces)
    pieces[place] = replace(piece, bodies=tuple(bodies))
    return replace(one, pieces=tuple(pieces))


def _another_array(one: Recipe, other: Recipe, draw: random.Random) -> Recipe:
    place = draw.randrange(len(one.captured))
    captured = list(one.captured)
    captured[place] = RecipeArray(
        draw.choice(DTYPES), draw.choice(SHAPES), draw.choice(STORAGES), captured[place].seed
    )
    return replace(one, captured=tuple(captured))


_WAYS: tuple[Callable[[Recipe, Recipe, random.Random], Recipe], ...] = (
    _another_transformation,
    _another_piece,
    _one_more_piece,
    _another_body,
    _another_array,
)
