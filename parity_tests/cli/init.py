"""The command `constparity init`: what it finds, shows, asks and writes."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from parity_tests.cli.display import PlainDisplay
from parity_tests.cli.exit_codes import Exit, complain, fail

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from parity_tests.jobs.facts import Facts, System
    from parity_tests.jobs.proposals import Change, Kept


_NOBODY = "there is no terminal to ask on: say --yes to write the files, or --diff to see them"


def init(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The project.", show_default="this one")
    ] = Path(),
    ci: Annotated[
        list[str] | None,
        typer.Option(
            "--ci",
            metavar="SYSTEM",
            help="github or gitlab. Repeatable.",
            show_default="what the project uses",
        ),
    ] = None,
    constparity: Annotated[
        str | None,
        typer.Option(
            metavar="REQUIREMENT",
            help="Arguments of pip that the job installs it from.",
            show_default="what is installed here, pinned",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    diff_only: Annotated[
        bool, typer.Option("--diff", help="Print the diff and write nothing.")
    ] = False,
    *,
    display: PlainDisplay,
) -> None:
    """Write a CI job and the section of pyproject.toml for a project.

    The job compares the project's tests (pytest --constparity=jax-both and =both), and its marked
    programs, on several releases of JAX. What it needs is found in the project's files, and stderr
    says where. A unified diff is shown first, and one question is asked. A file that is there
    stays, but for a section that it lacks.

    Exits with 0 when the files are written or nothing is left to write, with 1 when they are not:
    with --diff, and where the answer is no. Without a terminal to ask on it needs --yes or --diff,
    and exits with 4.

    Examples:

      constparity init

      constparity init my_project --ci gitlab --yes

      constparity init --diff | git apply
    """
    from parity_tests.jobs.proposals import Change, apply, diff_of

    if yes and diff_only:
        fail("--yes writes and --diff does not: say one of them")
    console = display.console()
    asks_nobody = not (yes or diff_only or sys.stdin.isatty())
    found, proposed = _proposed(
        folder, _checked(ci or ()), _split(constparity), asks_nobody=asks_nobody
    )
    changes = [each for each in proposed if isinstance(each, Change)]
    _explain(found, proposed)
    if not changes:
        complain("nothing is left to write")
        return
    _print_diff(console, diff_of(changes))
    if asks_nobody:
        fail(f"nothing was written: {_NOBODY}")
    if diff_only or not (yes or typer.confirm("write these files?", err=True)):
        context.obj.code = Exit.DIFFERENCE
        return
    try:
        apply(folder, changes)
    except OSError as error:
        fail(str(error).replace("write the report to", "write"))
    for change in changes:
        complain(f"wrote {folder / change.path}")


def _checked(named: Sequence[str]) -> tuple[System, ...]:
    from parity_tests.jobs.facts import SYSTEMS

    for name in named:
        if name not in SYSTEMS:
            raise typer.BadParameter(f"--ci {name}: the systems are {', '.join(SYSTEMS)}")
    return tuple(cast("System", name) for name in dict.fromkeys(named))


def _split(requirement: str | None) -> tuple[str, ...]:
    try:
        # pip takes `name @ address` as one argument.
        words = shlex.split((requirement or "").replace(" @ ", "@"))
    except ValueError as error:  # quotes that do not match
        raise typer.BadParameter(f"--constparity {requirement}: {error}") from error
    if requirement is not None and not words:
        raise typer.BadParameter("--constparity: name what pip installs")
    return tuple(words)


def _proposed(
    folder: Path,
    wanted: tuple[System, ...],
    constparity: tuple[str, ...],
    *,
    asks_nobody: bool,
) -> tuple[Facts, list[Change | Kept]]:
    """Find out about the project, and return what would be written.

    Raises `ProjectError`, which names all options that are needed at once.
    """
    from parity_tests.jobs import ProjectError
    from parity_tests.jobs.facts import chosen_systems, facts
    from parity_tests.jobs.origin import Origin, installed_origin
    from parity_tests.jobs.proposals import proposals

    origin = Origin(constparity, "--constparity") if constparity else None
    needed = []
    if folder.is_dir():
        try:
            origin = origin or installed_origin()
        except ProjectError as error:
            needed.append(str(error))
        try:
            chosen_systems(folder, wanted)
        except ProjectError as error:
            needed.append(str(error))
    if needed:
        raise ProjectError("\n  ".join([*needed, _NOBODY] if asks_nobody else needed))
    found = facts(folder, origin or installed_origin(), wanted)
    return found, proposals(found)


def _explain(found: Facts, proposed: Sequence[Change | Kept]) -> None:
    """Say on stderr what was found and where, and which files stay."""
    from parity_tests.jobs.proposals import Kept

    width = max(len(each.what) for each in found.findings)
    for each in found.findings:
        complain(f"{each.what:{width}}  {each.value}  ({each.source})")
    for kept in proposed:
        if isinstance(kept, Kept):
            complain(f"{kept.path} stays: {kept.reason}")


def _print_diff(console: Console, diff: str) -> None:
    """Print a patch, coloured on a terminal and plain elsewhere."""
    if not (console.is_terminal and sys.stdout.isatty()):  # FORCE_COLOR would break a patch
        print(diff, end="")
        return
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff.splitlines():
        console.print(
            line, style=styles.get(line[:1]), markup=False, highlight=False, soft_wrap=True
        )
