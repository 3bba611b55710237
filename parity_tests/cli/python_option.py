"""The options --python, --jax and --with: the interpreters that sides run in.

Environments of --jax are made when they are missing, and kept: see `constparity environments`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from parity_tests.cli.exit_codes import Exit, complain
from parity_tests.cli.options import WHAT

Python = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH",
        help="Run the sides in this Python, as in ~/jax-0.12/bin/python, with the JAX and the "
        "packages that are installed there. Repeatable: several give a grid of their versions of "
        "JAX.",
        rich_help_panel=WHAT,
    ),
]
OnePython = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Run in this Python, as in ~/jax-0.12/bin/python, with the JAX and the packages that "
        "are installed there.",
        rich_help_panel=WHAT,
    ),
]
JaxVersions = Annotated[
    str | None,
    typer.Option(
        metavar="VERSIONS",
        help="Run in environments of these JAX versions, as in 0.12.0.1,0.11.2; 0.12 is its newest "
        "release. What is missing is made, about 600 MB and a minute each, and kept.",
        rich_help_panel=WHAT,
    ),
]
WithPackages = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="PACKAGE",
        help="What the programs need besides JAX, in each environment of --jax: flax, flax>=0.12, "
        "or the folder of a project, as in ./my_project. '-c FILE' fixes versions. Repeatable.",
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
