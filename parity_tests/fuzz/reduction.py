"""Reduction: proposes smaller recipes; the first that fails alike replaces the recipe.

Hypothesis would shrink one example at a time, and an example here is a run in four fresh processes.
So all candidates of a round are made at once, and run as one campaign.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from parity_tests.fuzz.recipe import Block, Recipe, RecipeArray, Step, uses, walk
from parity_tests.fuzz.rendering import CATALOGUE


def size(recipe: Recipe) -> tuple[int, ...]:
    """Return the key that orders recipes: fewer steps, then fewer arrays, then simpler arrays."""
    steps = list(walk(recipe.steps))
    needed = [recipe.captured[index] for index in uses(recipe)]
    return (
        len(steps) + (recipe.outside != "nothing"),
        len(needed) + len(recipe.returned),
        sum((each.dtype, each.shape, each.storage) != _PLAIN for each in needed),
        sum(step.option != 0 for step in steps) + (recipe.size != 4),
    )


_PLAIN = (RecipeArray().dtype, RecipeArray().shape, RecipeArray().storage)


def candidates(recipe: Recipe) -> tuple[Recipe, ...]:
    """Return the recipes that are one change smaller, the smallest first."""
    found = {replace(recipe, steps=block) for block in _smaller(recipe.steps)}
    found |= {replace(recipe, outside="nothing"), replace(recipe, size=4)}
    found |= {replace(recipe, returned=recipe.returned[:-1])}
    for index in uses(recipe):
        plain = RecipeArray(seed=recipe.captured[index].seed)
        kept = recipe.captured[:index], recipe.captured[index + 1 :]
        found.add(replace(recipe, captured=(*kept[0], plain, *kept[1])))
        merged = tuple(_renamed(step, index, min(uses(recipe))) for step in recipe.steps)
        found.add(replace(recipe, steps=merged))
    return tuple(sorted((each for each in found if size(each) < size(recipe)), key=size))


def _smaller(block: Block) -> Iterator[Block]:
    for number, step in enumerate(block):
        before, after = block[:number], block[number + 1 :]
        yield (*before, *after)
        if not CATALOGUE[step.construct].by_row:
            for body in step.bodies:
                yield (*before, *body, *after)
        if step.option:
            yield (*before, replace(step, option=0), *after)
        for index, body in enumerate(step.bodies):
            for smaller in _smaller(body):
                bodies = (*step.bodies[:index], smaller, *step.bodies[index + 1 :])
                yield (*before, replace(step, bodies=bodies), *after)


def _renamed(step: Step, old: int, new: int) -> Step:
    return replace(
        step,
        captured=tuple(new if index == old else index for index in step.captured),
        bodies=tuple(tuple(_renamed(inner, old, new) for inner in body) for body in step.bodies),
    )
