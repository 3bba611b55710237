"""The option --python: the interpreters that sides run in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from parity_tests.cli.exit_codes import fail
from parity_tests.cli.option_panels import WHAT

Python = Annotated[
    list[str] | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="Run the sides in this Python, as in ~/jax-0.12/bin/python, with the JAX and the "
        "packages that are installed there. Repeatable: several give a grid of their versions of "
        "JAX.",
        show_default=False,
        rich_help_panel=WHAT,
    ),
]
OnePython = Annotated[
    str | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="Run in this Python, as in ~/jax-0.12/bin/python, with the JAX and the packages that "
        "are installed there.",
        show_default=False,
        rich_help_panel=WHAT,
    ),
]


DiagnosedPythons = Annotated[
    list[str] | None,
    typer.Option(
        "--python",
        metavar="PATH",
        help="Diagnose this Python, as in ~/jax-0.12/bin/python, as one that the sides run in. "
        "Nothing is installed there. Repeatable. Without it, the Python of constparity.",
        show_default=False,
    ),
]


def interpreters(paths: Sequence[str | Path], *, reload: bool = False) -> list[Path]:
    """Return the interpreters of --python or --jax; `reload` says that exports are written there.

    Leaves with `Exit.USAGE` where sides cannot run in one of them.

    Example::

        interpreters(["~/jax-0.12"])
    """
    from parity_tests.processes.interpreters import FOR_RELOAD, InterpreterError, interpreter_at

    also = FOR_RELOAD if reload else ()
    try:
        return [interpreter_at(str(path), also) for path in paths]
    except InterpreterError as error:
        fail(str(error))
