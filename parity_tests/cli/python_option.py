"""The options --python, --jax and --with: the interpreters that sides run in.

Environments of --jax are made when they are missing, and kept: see `constparity environments`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from parity_tests.cli.exit_codes import Exit, complain
from parity_tests.cli.options import WHAT

Python = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PYTHON",
        help="Run in this Python; several give a grid of JAX versions.",
        rich_help_panel=WHAT,
    ),
]
OnePython = Annotated[
    str | None,
    typer.Option(
        metavar="PYTHON",
        help="Run in this Python, with the JAX that is there.",
        rich_help_panel=WHAT,
    ),
]
JaxVersions = Annotated[
    str | None,
    typer.Option(
        metavar="VERSIONS",
        help="Run on these JAX versions, in environments that are made: 0.11.2,0.12; "
        "0.11.0..0.12 finds the first with a change.",
        rich_help_panel=WHAT,
    ),
]
WithPackages = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="PACKAGE",
        help="With --jax: what programs need besides, as flax>=0.12, ./my_project, or '-c FILE' "
        "for constraints. Repeatable.",
        rich_help_panel=WHAT,
    ),
]


def interpreters(paths: Sequence[str | Path], *, reload: bool = False) -> list[Path]:
    """Return the interpreters of --python or --jax; `reload` says that exports are written there.

    Raises `InterpreterError` where sides cannot run in one of them.
    """
    from parity_tests.processes.interpreters import FOR_RELOAD, interpreter_at

    also = FOR_RELOAD if reload else ()
    return [interpreter_at(str(path), also) for path in paths]


def releases_of(jax: str | None) -> list[str]:
    """Return the releases of `--jax A..B`, oldest first; none where it names no range.

    Raises `typer.BadParameter` where it has fewer than two.
    """
    from parity_tests.environments.find_python import NoPythonError, between, on_index

    first, dots, last = (jax or "").partition("..")
    if not dots:
        return []
    try:
        return between(first.strip(), last.strip(), on_index(sys.executable))
    except NoPythonError as error:
        raise typer.BadParameter(str(error)) from error


def pythons_of(
    context: typer.Context, jax: str | None, with_: Sequence[str] | None
) -> tuple[Path, ...] | None:
    """Return the Pythons of the environments that the options name; make what is missing.

    Where one cannot be made, says why, sets the exit status and returns None. Raises
    `typer.BadParameter` where an option is wrong.
    """
    from parity_tests.environments.find_python import NoPythonError
    from parity_tests.environments.making import MEGABYTES, MakingError, environment_of, planned
    from parity_tests.environments.requirements import RequirementError

    versions = [name.strip() for name in (jax or "").split(",") if name.strip()]
    if jax is not None and not versions:
        raise typer.BadParameter("--jax names no version: write it as 0.12.0.1,0.11.2")
    if with_ and not versions:
        raise typer.BadParameter("--with needs --jax: it installs into environments of that only")
    try:
        plans = [planned(each, with_ or (), say=complain) for each in versions]
        plans = list({plan.path: plan for plan in plans}.values())
        missing = sum(plan.python is not None for plan in plans)
        if missing > 1:
            size = f"about {missing * MEGABYTES:,} MB, about {missing} minutes"
            complain(f"{missing} environments are missing: {size}")
        return tuple(environment_of(plan, complain).python for plan in plans)
    except (NoPythonError, RequirementError) as error:
        raise typer.BadParameter(str(error)) from error
    except MakingError as error:
        complain(str(error))
        context.obj.code = Exit.COULD_NOT_COMPARE
        return None
