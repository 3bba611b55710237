"""How much a command prints, and whether in colours: -q, -v and --no-color."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.help_pages import OUTPUT, RARE

if TYPE_CHECKING:
    from rich.console import Console

    from parity_tests.cli.terminal import Shown

Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print the headline and what fails, and no progress.",
        rich_help_panel=OUTPUT,
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        help="Print all rows, and all reasons.",
        rich_help_panel=OUTPUT,
    ),
]
NoColor = Annotated[
    bool,
    typer.Option(
        "--no-color",
        help="Print plain text: no colours, as with the variable NO_COLOR, and nothing bold.",
        rich_help_panel=RARE,
    ),
]


@dataclass(frozen=True)
class Display:
    """What is printed. Raises `typer.BadParameter` where two options contradict each other."""

    quiet: Quiet = False
    verbose: Verbose = False
    no_color: NoColor = False

    def __post_init__(self) -> None:
        if self.quiet and self.verbose:
            raise typer.BadParameter("-q and -v contradict each other: give one of them")

    @property
    def details(self) -> int:
        """How much is printed: 0 with -q, 2 with -v, and 1 else."""
        return 0 if self.quiet else 2 if self.verbose else 1

    def console(self) -> Console:
        """Return the console that results are printed on."""
        from parity_tests.cli import terminal

        return terminal.console(has_color=not self.no_color)

    @contextmanager
    def progress(self, *, first: str, every: float | None = None) -> Iterator[Shown]:
        """Show how far a command is, on stderr; with -q nothing is shown.

        `every` and `first` are as in `terminal.progress`.
        """
        from parity_tests.cli import terminal

        if not self.details:
            yield terminal.Shown()
            return
        console = terminal.error_console(has_color=not self.no_color)
        with terminal.progress(console, every=every, first=first) as shown:
            yield shown


# Of commands that have no more to print, and of those that always print the same.
BriefDisplay = Annotated[Display, ("quiet", "no_color")]
PlainDisplay = Annotated[Display, ("no_color",)]
