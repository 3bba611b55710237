"""The option --python: the interpreters that sides run in, and the sides that run in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.exit_codes import complain, fail
from parity_tests.cli.option_panels import WHAT
from parity_tests.cli.options import parse_sides

if TYPE_CHECKING:
    from reports.rows import Side

Python = Annotated[
    list[str] | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="Run the sides in this Python, as in ~/jax-0.12/bin/python, with the JAX and the "
        "packages that are installed there. Repeatable.",
        show_default=False,
        rich_help_panel=WHAT,
    ),
]


@dataclass(frozen=True)
class Place:
    """An interpreter, None for this one, and the sides that run in it."""

    python: Path | None
    sides: tuple[Side, ...]


def places(
    python: Sequence[str | Path], sides: str | None, *, also: tuple[str, ...] = ()
) -> tuple[Place, ...]:
    """Return the interpreters of --python or --jax, and the sides of --sides that run in each.

    Without --sides all that can run in one do, and what cannot is said. `also` are packages that
    each needs besides. Raises `typer.BadParameter`, and leaves with `Exit.USAGE` where an
    interpreter does not serve.
    """
    from parity_tests.campaign.interpreters import interpreter, sides_in
    from parity_tests.processes.interpreters import InterpreterError

    found = []
    try:
        for path in map(str, python):
            each = interpreter(path, also)
            chosen = sides_in(each, parse_sides(sides) if sides is not None else None)
            if sides is None and each.missing:
                why = "; ".join(dict.fromkeys(each.missing.values()))
                complain(f"{path}: {why}, so {', '.join(chosen)} run")
            found.append(Place(each.python, chosen))
    except InterpreterError as error:
        fail(str(error))
    return tuple(found)
