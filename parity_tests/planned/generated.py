"""Generated programs of a campaign: a seed and a number say which, on every machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parity_tests.fuzz.recipe import Recipe


def name_of(seed: int, number: int) -> str:
    """Name a generated program.

    Example::

        >>> name_of(7, 12)
        'seed_7_program_12'
    """
    return f"seed_{seed}_program_{number}"


def recipe_of(seed: int, number: int) -> Recipe:
    """Draw a program: the same seed and number, the same program.

    Raises `ModuleNotFoundError` where hypothesis is not installed.
    """
    from parity_tests.fuzz import strategy

    return strategy.drawn(number, of_seed=seed)


def write_module(recipes: Mapping[str, Recipe], file: Path) -> None:
    """Write the programs as a module that stands alone, each under its name."""
    from parity_tests.fuzz import rendering

    file.write_text(rendering.module(recipes), "utf-8")
