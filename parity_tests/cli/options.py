"""The arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
