"""Reduction: proposes smaller recipes; the first that fails alike replaces the recipe.

Hypothesis would shrink one example at a time, and an example here is a run in four fresh processes.
So all candidates of a round are made at once, and run as one campaign.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from parity_tests.fuzz.recipe import Block, Piece, Recipe, RecipeArray, uses, walk
from parity_tests.fuzz.rendering import CATALOGUE


def size(recipe: Recipe) -> tuple[int, ...]:
    """Return the key that orders recipes: fewer pieces, then fewer arrays, then simpler arrays."""
    pieces = list(walk(recipe.pieces))
    needed = [recipe.captured[index] for index in uses(recipe)]
    return (
        len(pieces) + (recipe.outside != "nothing"),
        len(needed) + len(recipe.returned),
        sum((each.dtype, each.shape, each.storage) != _PLAIN for each in needed),
        sum(piece.option != 0 for piece in pieces) + (recipe.size != 4),
    )


_PLAIN = (RecipeArray().dtype, RecipeArray().shape, RecipeArray().storage)


def candidates(recipe: Recipe) -> tuple[Recipe, ...]:
    """Return the recipes that are one change smaller, the smallest first."""
    found = {replace(recipe, pieces=block) for block in _smaller(recipe.pieces)}
    found |= {replace(recipe, outside="nothing"), replace(recipe, size=4)}
    found |= {replace(recipe, returned=recipe.returned[:-1])}
    for index in uses(recipe):
        plain = RecipeArray(seed=recipe.captured[index].seed)
        kept = recipe.captured[:index], recipe.captured[index + 1 :]
        found.add(replace(recipe, captured=(*kept[0], plain, *kept[1])))
        merged = tuple(_renamed(piece, index, min(uses(recipe))) for piece in recipe.pieces)
        found.add(replace(recipe, pieces=merged))
    return tuple(sorted((each for each in found if size(each) < size(recipe)), key=size))


def _smaller(block: Block) -> Iterator[Block]:
    for number, piece in enumerate(block):
        before, after = block[:number], block[number + 1 :]
        yield (*before, *after)
        if not CATALOGUE[piece.construct].by_row:
            for body in piece.bodies:
                yield (*before, *body, *after)
        if piece.option:
            yield (*before, replace(piece, option=0), *after)
        for index, body in enumerate(piece.bodies):
            for smaller in _smaller(body):
                bodies = (*piece.bodies[:index], smaller, *piece.bodies[index + 1 :])
                yield (*before, replace(piece, bodies=bodies), *after)


def _renamed(piece: Piece, old: int, new: int) -> Piece:
    return replace(
        piece,
        captured=tuple(new if index == old else index for index in piece.captured),
        bodies=tuple(tuple(_renamed(inner, old, new) for inner in body) for body in piece.bodies),
    )
