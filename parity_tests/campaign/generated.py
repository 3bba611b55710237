"""Generated programs of a campaign: a seed and a number say which, on every machine.

A search goes on from those that it has kept: each has a combination that none before it has.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from parity_tests.campaign.spec import SpecError
from parity_tests.processes.protocol import write
from reports.output import json_file
from reports.rows import ProgramRow

if TYPE_CHECKING:
    from parity_tests.fuzz.recipe import Recipe

_FORMAT = 1


@dataclass(frozen=True)
class Interesting:
    """Programs that were kept, and all combinations that they cover."""

    recipes: tuple[Recipe, ...] = ()
    covered: frozenset[str] = frozenset()

    def with_new(self, recipes: Iterable[Recipe]) -> Interesting:
        """Return these and those of `recipes` that cover something new, in their order.

        Example::

            Interesting().with_new(recipes).covered
        """
        from parity_tests.fuzz.coverage import features

        kept, covered = list(self.recipes), set(self.covered)
        for each in recipes:
            if new := features(each) - covered:
                covered |= new
                kept.append(each)
        return Interesting(tuple(kept), frozenset(covered))


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


def read_kept(file: Path) -> Interesting:
    """Read the programs that a search has kept; none where there is no such file.

    Raises `SpecError` where it is damaged.

    Example::

        len(read_kept(Path("kept.json")).recipes)
    """
    from parity_tests.fuzz.coverage import is_valid
    from parity_tests.fuzz.recipe import Recipe

    if not file.exists():
        return Interesting()
    try:
        found = json.loads(file.read_text("utf-8"))
        if found["format"] != _FORMAT:
            raise ValueError(f"it is in format {found['format']}, and not {_FORMAT}")
        recipes = TypeAdapter(tuple[Recipe, ...]).validate_python(found["recipes"])
        if not all(map(is_valid, recipes)):
            raise ValueError("it has programs that no generator writes")
    except (OSError, ValueError, KeyError, TypeError) as error:
        said = f"{error.error_count()} errors" if isinstance(error, ValidationError) else error
        raise SpecError(
            f"{str(file)!r} has no programs of a search ({said}); remove it to begin anew"
        ) from error
    return Interesting().with_new(recipes)


def keep(interesting: Interesting, file: Path) -> None:
    """Write the programs to a file, whole or not at all."""
    from parity_tests.fuzz.recipe import Recipe

    recipes = TypeAdapter(tuple[Recipe, ...]).dump_python(interesting.recipes, mode="json")
    lines = ",\n".join(json.dumps(each) for each in recipes)
    write(file, f'{{"format": {_FORMAT}, "recipes": [\n{lines}\n]}}\n')
