"""Which recipes JAX accepts, and which combinations of constructs and constants they cover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from parity_tests.fuzz.bodies import WITH_BODIES
from parity_tests.fuzz.construct import NOTHING, Demand
from parity_tests.fuzz.operations import OPERATIONS
from parity_tests.fuzz.recipe import OUTSIDES, Block, Outside, Recipe, kind_of
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
    """Say whether each construct supports the transformations and the rank that it is under."""
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
        for construct in (*OPERATIONS, *WITH_BODIES)
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
