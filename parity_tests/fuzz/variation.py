"""Variations of programs that were interesting: another transformation, another piece or array."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from parity_tests.fuzz.coverage import features, is_valid
from parity_tests.fuzz.recipe import DTYPES, OUTSIDES, SHAPES, STORAGES, Recipe, RecipeArray

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
