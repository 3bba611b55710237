"""How much a command prints, and whether in colours: -q, -v and --no-color."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.option_panels import OUTPUT

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
        help="Print the reasons of all programs, also of those that a flip leaves alone.",
        rich_help_panel=OUTPUT,
    ),
]
NoColor = Annotated[
    bool,
    typer.Option(
        "--no-color",
        help="Print plain text. The environment variable NO_COLOR leaves out the colours alone.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True)
class Display:
    """What is printed: `details` is 0 with -q, 2 with -v, and 1 else."""

    details: int = 1
    has_color: bool = True

    def console(self) -> Console:
        """Return the console that results are printed on."""
        from parity_tests.cli import terminal

        return terminal.console(has_color=self.has_color)

    @contextmanager
    def progress(self, *, every: float | None = None) -> Iterator[Shown]:
        """Show how far a command is, on stderr; with -q nothing is shown.

        `every` is as in `terminal.progress`.
        """
        from parity_tests.cli import terminal

        if not self.details:
            yield terminal.Shown()
            return
        console = terminal.error_console(has_color=self.has_color)
        with terminal.progress(console, every=every) as shown:
            yield shown


def display_of(quiet: bool, verbose: bool, no_color: bool) -> Display:
    """Read the three options. Raises `typer.BadParameter` where they contradict each other.

    Example::

        display_of(quiet=False, verbose=True, no_color=False).details == 2
    """
    if quiet and verbose:
        raise typer.BadParameter("-q and -v contradict each other: give one of them")
    return Display(0 if quiet else 2 if verbose else 1, not no_color)
