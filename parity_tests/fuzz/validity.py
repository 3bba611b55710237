"""Whether JAX accepts a recipe: each construct supports the transformations around it."""

from __future__ import annotations

from parity_tests.fuzz.construct import NOTHING, Demand
from parity_tests.fuzz.recipe import Block, Outside, Recipe
from parity_tests.fuzz.rendering import CATALOGUE

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
    """Say whether each construct supports the transformations and the rank that it is under.

    Example::

        is_valid(drawn(12, of_seed=7))
    """
    return _fits(recipe.pieces, OUTSIDE_DEMANDS[recipe.outside], 2)


def _fits(block: Block, demands: frozenset[Demand], rank: int) -> bool:
    for piece in block:
        construct = CATALOGUE.get(piece.construct)
        if construct is None or not demands <= construct.survives or rank not in construct.ranks:
            return False
        if len(piece.bodies) != construct.bodies or len(piece.captured) != construct.captured:
            return False
        within = 1 if construct.by_row else rank
        if not all(_fits(body, demands | construct.demands, within) for body in piece.bodies):
            return False
    return bool(block) or rank != 2
