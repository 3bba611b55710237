"""The option --store: the database of runs that a command writes to or reads from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NoReturn

import typer

from parity_tests.cli.exit_codes import fail
from parity_tests.cli.option_panels import OUTPUT


def _file(text: str) -> Path:
    """Read the name of a file; "" would be the working directory, which nobody means by it."""
    if not text.strip() or text == "-":
        raise typer.BadParameter(f"{text!r} is no file; name one, as in runs.db")
    return Path(text).expanduser()


RunStore = Annotated[
    Path | None,
    typer.Option(
        parser=_file,
        metavar="FILE",
        help="Keep the run in a database, each program as soon as it is finished, for `history`.",
        show_default=False,
        rich_help_panel=OUTPUT,
    ),
]
Store = Annotated[
    Path | None,
    typer.Option(
        parser=_file,
        metavar="FILE",
        help="The database of runs that `run --store` writes.",
        show_default=False,
    ),
]


def check_store_option(store: Path) -> None:
    """Make sure that a run can be kept; leaves with `Exit.USAGE` where it cannot."""
    from reports.store.errors import StoreError
    from reports.store.writing import check_store

    try:
        check_store(store)
    except StoreError as error:
        fail(str(error))


def needs_store() -> NoReturn:
    """Leave with `Exit.USAGE`: the command was given no store."""
    fail("name the database of runs, as in --store runs.db; constparity run --store writes one")
