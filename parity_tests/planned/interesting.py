"""The programs that a search goes on from: each has a combination that none before it has."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError

from parity_tests.planned.spec import SpecError
from parity_tests.processes.protocol import write

if TYPE_CHECKING:
    from parity_tests.fuzz.recipe import Recipe

FORMAT = 1


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


def read(file: Path) -> Interesting:
    """Read the programs that a search has kept; none where there is no such file.

    Raises `SpecError` where it is damaged.

    Example::

        len(read(Path("kept.json")).recipes)
    """
    from parity_tests.fuzz.coverage import is_valid
    from parity_tests.fuzz.recipe import Recipe

    if not file.exists():
        return Interesting()
    try:
        found = json.loads(file.read_text("utf-8"))
        if found["format"] != FORMAT:
            raise ValueError(f"it is in format {found['format']}, and not {FORMAT}")
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
    write(file, f'{{"format": {FORMAT}, "recipes": [\n{lines}\n]}}\n')
