"""Which programs a command runs: -k, --tag, --last-failed, and --list, which runs none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.completion import one_of, programs
from parity_tests.cli.exit_codes import Exit, nothing_collected
from parity_tests.cli.help_pages import RARE, WHAT

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from parity_tests.processes.protocol import Listed
    from parity_tests.run.selection import Selection

Expression = Annotated[
    str,
    typer.Option(
        "-k",
        metavar="EXPRESSION",
        autocompletion=one_of(programs),
        help="Only programs that match, as 'scan and not grad'.",
        rich_help_panel=WHAT,
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="Only programs with this tag, as in @program(tags=('slow',)). Repeatable: one of "
        "them is enough.",
        rich_help_panel=RARE,
    ),
]
LastFailed = Annotated[
    bool,
    typer.Option(
        "--last-failed",
        help="Only programs that failed in the last run of this folder.",
        rich_help_panel=WHAT,
    ),
]
ListOnly = Annotated[
    bool,
    typer.Option(
        "--list",
        help="List the programs that would run.",
        rich_help_panel=RARE,
    ),
]


@dataclass(frozen=True)
class Chosen:
    """The targets of a command, and which of their programs it runs."""

    targets: tuple[str, ...]
    select: Selection

    @property
    def named(self) -> str:
        """What was chosen, as the user wrote it, for a message."""
        parts = [" ".join(self.targets) or "the built-in corpus"]
        if self.select.expression:
            parts.append(f"-k {self.select.expression!r}")
        parts += [f"--tag {tag}" for tag in self.select.tags]
        if self.select.targets is not None:
            parts.append("--last-failed")
        return " with ".join([parts[0], " and ".join(parts[1:])]) if parts[1:] else parts[0]


@dataclass(frozen=True)
class Choosing:
    """Which programs of its targets a command runs."""

    expression: Expression = ""
    tag: Tags = None

    def choose(self, targets: Sequence[str], *, last_failed: bool = False) -> Chosen:
        """Choose programs. Raises `typer.BadParameter`."""
        from parity_tests.cli import last_failed as memory
        from parity_tests.run.selection import NameExpressionError, Selection, parse_expression

        if self.expression.strip():
            try:
                parse_expression(self.expression)
            except NameExpressionError as error:
                raise typer.BadParameter(f"-k: {error}") from error
        only = (memory.read() or None) if last_failed else None
        return Chosen(
            # What failed names modules; without it, the targets would be the corpus.
            targets=tuple(targets or only or ()),
            select=Selection(expression=self.expression, tags=tuple(self.tag or ()), targets=only),
        )


def list_programs(
    context: typer.Context,
    console: Console,
    chosen: Chosen,
    timeout: float,
    python: Path | None = None,
) -> None:
    """Print the programs that would run, each with its source, its tags, and why it cannot run.

    They are listed in the interpreter `python`, by default in this one.

    Leaves with `Exit.NOTHING_COLLECTED` where there are none.
    """
    from parity_tests.cli import terminal
    from parity_tests.evidence.temporary_folders import temporary_folder
    from parity_tests.processes.options import Limits
    from parity_tests.run.collection import collect
    from reports.views.texts import counted

    with temporary_folder() as folder:
        limits = Limits(timeout, python=python)
        found = collect(chosen.targets, folder, limits, chosen.select).programs
    if not found:
        nothing_collected(context, chosen.named)
        return
    for each in found:
        terminal.say(console, terminal.on_one_line(_line(each)))
    terminal.say(console, counted(len(found), "program"))
    context.obj.code = Exit.PARITY


def _line(program: Listed) -> str:
    source = f" ({program.source})" if program.source else ""
    tags = f" [{', '.join(program.tags)}]" if program.tags else ""
    missing = f": cannot run: {program.unavailable}" if program.unavailable else ""
    return f"{program.name}{source}{tags}{missing}"
