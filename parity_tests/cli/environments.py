"""The commands `constparity environments ...`: list, make and remove the environments of --jax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from parity_tests.cli.exit_codes import complain, fail
from parity_tests.cli.help_pages import Command, Group
from parity_tests.cli.options import Reporting, with_options
from parity_tests.cli.python_option import pythons_of

if TYPE_CHECKING:
    from rich.table import Table

    from parity_tests.environments.store import Kept

environments = typer.Typer(cls=Group, add_completion=False, rich_markup_mode=None)


@environments.callback(invoke_without_command=True)
@with_options
def _list(context: typer.Context, reporting: Annotated[Reporting, ("json",)]) -> None:
    """List the environments that --jax has made; make and remove them.

    Examples:

      constparity environments

      constparity environments make 0.12.0.1 --with flax

      constparity environments remove jax-0.12.0.1-python3.13

      constparity environments remove --all
    """
    if context.invoked_subcommand is not None:
        return
    from parity_tests.cli import terminal
    from parity_tests.cli.report_option import write_data
    from parity_tests.environments import store

    requests = reporting.requests(context)
    console = terminal.console()
    found = store.kept(store.store_folder())
    sizes = {each.name: store.size(each.path) for each in found}
    if found:
        terminal.say(console, f"{_megabytes(sum(sizes.values()))} in {store.store_folder()}")
        console.print(_table(found, sizes))
    else:
        terminal.say(console, f"no environments in {store.store_folder()}")
    listed = [
        {"name": each.name, "bytes": sizes[each.name], "environment": each.environment}
        for each in found
    ]
    write_data(context, console, requests, {"environments": listed})


@environments.command(cls=Command)
@with_options
def make(
    context: typer.Context,
    versions: Annotated[
        str, typer.Argument(metavar="VERSIONS", help="Of JAX, as in 0.12.0.1,0.11.2.")
    ],
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="PACKAGE",
            help="What is installed besides, as flax>=0.12, ./my_project, or '-c FILE' for "
            "constraints. Repeatable.",
        ),
    ] = None,
) -> None:
    """Make environments of JAX versions, unless they are there, and print the path of each Python.

    Exits with 2 where one cannot be made. Everything but the paths goes to stderr.

    Examples:

      constparity environments make 0.12.0.1 --with flax

      constparity run my_model.py --python "$(constparity environments make 0.12)"
    """
    for python in pythons_of(context, versions, with_) or ():
        print(python)


@environments.command(cls=Command)
@with_options
def remove(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="As `constparity environments` lists them."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Remove all that no process uses.")] = False,
) -> None:
    """Remove environments.

    Exits with 4 where one is unknown, or is used by a process.

    Examples:

      constparity environments remove jax-0.12.0.1-python3.13

      constparity environments remove --all
    """
    from parity_tests.cli import terminal
    from parity_tests.environments import store
    from parity_tests.suggestions import close

    if bool(names) == all_:
        fail("name the environments to remove, or --all")
    there = {each.name: each.path for each in store.kept(store.store_folder())}
    for name in names or ():
        if name not in there:
            fail(f"no environment {name!r}{close(name, there)}")
    in_use = 0
    for name in dict.fromkeys(names or there):
        size = store.size(there[name])
        if store.remove(there[name]):
            terminal.say(terminal.console(), f"removed {name}: {_megabytes(size)}")
        else:
            complain(f"{name} stays: a process uses it, or is making it")
            in_use += 1
    if in_use:
        fail("not all were removed")


def _table(found: Sequence[Kept], sizes: Mapping[str, int]) -> Table:
    """Return a line for each environment, whose name is the name of its folder."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(pad_edge=False)
    for column in ("name", "JAX", "Python", "packages", "size", "made"):
        table.add_column(column, overflow="fold", justify="right" if column == "size" else "left")
    for each in found:
        size, made = _megabytes(sizes[each.name]), each.environment
        if made is None:
            cells = ["", "", "", size, "being made" if each.is_held else "not finished"]
        else:
            when = made.made.astimezone().strftime("%Y-%m-%d %H:%M")
            cells = [made.jax, made.python_version, ", ".join(made.with_), size, when]
        table.add_row(*map(escape, [each.name, *cells]))
    return table


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
