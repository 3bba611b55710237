"""Generated programs of a campaign: a seed and a number say which, on every machine."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reports.output import json_file
from reports.rows import ProgramRow

if TYPE_CHECKING:
    from parity_tests.fuzz.recipe import Recipe
    from parity_tests.planned.interesting import Interesting


def name_of(seed: int, number: int, depth: int | None = None) -> str:
    """Name a generated program, by the depth of its bodies, too, where one was asked for.

    Example::

        >>> name_of(7, 12), name_of(7, 12, depth=1)
        ('seed_7_program_12', 'seed_7_depth_1_program_12')
    """
    return f"seed_{seed}_{'' if depth is None else f'depth_{depth}_'}program_{number}"


def recipe_of(seed: int, number: int, text: str = "", depth: int | None = None) -> Recipe:
    """Return the program that `text` is, or draw one: the same seed and number, the same program.

    It has at most `depth` levels of bodies in bodies. Raises `ModuleNotFoundError` where hypothesis
    is not installed.

    Example::

        recipe_of(7, 12).pieces
    """
    if text:
        return read_recipe(text)
    from parity_tests.fuzz import strategy

    levels = strategy.DEPTH if depth is None else depth
    return strategy.drawn(number, of_seed=seed, depth=levels)


def variation_of(kept: Interesting, seed: int, number: int) -> str:
    """Return a variation of a program that was kept, as JSON.

    Example::

        variation_of(kept, seed=7, number=13)
    """
    from parity_tests.fuzz.coverage import varied

    return write_recipe(varied(kept.recipes, kept.covered, seed, number))


def write_recipe(recipe: Recipe) -> str:
    """Write a recipe as JSON.

    Example::

        read_recipe(write_recipe(recipe)) == recipe
    """
    return json.dumps(dataclasses.asdict(recipe), separators=(",", ":"))


def read_recipe(text: str) -> Recipe:
    """Read a recipe that `write_recipe` has written. Raises `ValueError` where it is none."""
    from pydantic import TypeAdapter

    from parity_tests.fuzz.recipe import Recipe

    return TypeAdapter(Recipe).validate_json(text)


def write_module(recipes: Mapping[str, Recipe], file: Path) -> None:
    """Write the programs as a module that stands alone, each under its name."""
    from parity_tests.fuzz import rendering

    file.write_text(rendering.module(recipes), "utf-8")


def without_file(row: ProgramRow, file: Path) -> str:
    """Render the row of a generated program without the path of its module.

    The module is of a task alone, and is removed with it. So no target loads the program, and lines
    are those of "generated.py".

    Example::

        json_file.program_of(without_file(row, file)).source == "generated"
    """
    nameless = row.model_copy(update={"source": "generated", "target": ""})
    text = json_file.render_program(nameless)
    for path in (str(file.absolute()), os.path.relpath(file), str(file)):
        text = text.replace(json.dumps(path, ensure_ascii=False)[1:-1], file.name)
    return text
