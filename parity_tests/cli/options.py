"""The arguments and options that several commands have."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from reports.rows import Side

OneTarget = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="One program: package.module:name or path/to/file.py:name.",
        show_default=False,
    ),
]
Sides = Annotated[
    str, typer.Option(help="The sides to run, separated by commas.", show_default=True)
]
ALL_SIDES = "legacy,simplified,jax-legacy,jax-simplified"
Report = Annotated[
    list[str] | None,
    typer.Option(metavar="KIND:PATH", help="Write a report, as in html:out.html. Repeatable."),
]
ExitZero = Annotated[
    bool,
    typer.Option("--exit-zero", help="Exit with 0 whatever the verdict; errors still count."),
]
ProgramTimeout = Annotated[
    float, typer.Option(min=0.1, metavar="SECONDS", help="For one program on one side.")
]
Resume = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep what is finished in DIR, and go on with what an earlier run left there.",
        show_default=False,
    ),
]


def parse_sides(text: str) -> tuple[Side, ...]:
    """Read the sides of the option --sides. Raises `typer.BadParameter`.

    Example::

        parse_sides("simplified,legacy") == ("legacy", "simplified")
    """
    from reports.rows import SIDES

    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in SIDES:
            close = difflib.get_close_matches(name, SIDES, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise typer.BadParameter(f"no side {name!r}{hint}; the sides are {', '.join(SIDES)}")
    if len(names) < 2 or len(set(names)) < len(names):
        raise typer.BadParameter(f"a comparison needs two or more different sides, got {text!r}")
    return tuple(side for side in SIDES if side in names)
