"""The exit statuses of all commands, and the one way to refuse a wrong use."""

from __future__ import annotations

import sys
import traceback
from contextvars import ContextVar
from enum import IntEnum
from typing import NoReturn

import typer


class Exit(IntEnum):
    """The exit status of the process."""

    PARITY = 0
    DIFFERENCE = 1
    COULD_NOT_COMPARE = 2
    INTERNAL_ERROR = 3
    USAGE = 4
    NOTHING_COLLECTED = 5
    INTERRUPTED = 130


# The option --debug: what is complained of has its traceback below.
TRACEBACKS = ContextVar("TRACEBACKS", default=False)


def complain(message: str) -> None:
    """Print what went wrong on stderr; the control characters of a user's text are spelled out."""
    from reports.views.texts import visible

    print(f"constparity: {visible(message)}", file=sys.stderr)
    if TRACEBACKS.get() and sys.exception() is not None:
        traceback.print_exc()


def fail(message: str) -> NoReturn:
    """Print how a command was used wrongly, and leave with `Exit.USAGE`."""
    complain(message)
    raise typer.Exit(Exit.USAGE)


def interrupted(context: typer.Context, hint: str = "") -> None:
    """Say that a command was interrupted, and set the exit status of it."""
    complain(f"interrupted{hint}")
    context.obj.code = Exit.INTERRUPTED


def check_engine_runs(command: str) -> None:
    """Leave with `Exit.USAGE`, and say why, where the engine refuses the JAX of this process."""
    from parity_tests.processes.side_environment import refusal_here

    reason = refusal_here()
    if reason is not None:
        fail(f"{command} needs the engine: {reason}")


def nothing_collected(context: typer.Context, named: str) -> None:
    """Say that there are no programs in what was named, and set the exit status of it."""
    to_do = "mark functions with @program of parity_tests, or name one, as in my_model.py:step"
    if " with " in named:  # a choice among its programs
        to_do = "--list without the choice lists what there is"
    complain(f"no programs in {named}: {to_do}")
    context.obj.code = Exit.NOTHING_COLLECTED


def code_of(verdict: str) -> Exit:
    """Return the exit status of a verdict."""
    return {
        "parity": Exit.PARITY,
        "difference": Exit.DIFFERENCE,
        "agrees here, not proved": Exit.COULD_NOT_COMPARE,
        "not repeatable": Exit.COULD_NOT_COMPARE,
        "could not compare": Exit.COULD_NOT_COMPARE,
    }[verdict]
