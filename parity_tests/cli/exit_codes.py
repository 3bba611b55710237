"""What the process exits with, and the one way in which a command says that it was used wrongly."""

from __future__ import annotations

import sys
from enum import IntEnum
from typing import NoReturn

import typer


class Exit(IntEnum):
    """What the process exits with."""

    PARITY = 0
    DIFFERENCE = 1
    COULD_NOT_COMPARE = 2
    INTERNAL_ERROR = 3
    USAGE = 4
    NOTHING_COLLECTED = 5
    INTERRUPTED = 130


def fail(message: str) -> NoReturn:
    """Print what is wrong with how a command was used, and leave with `Exit.USAGE`."""
    print(f"constparity: {message}", file=sys.stderr)
    raise typer.Exit(Exit.USAGE)


def code_of(verdict: str) -> Exit:
    """Return what a command exits with that came to a verdict.

    code_of("difference") == Exit.DIFFERENCE
    """
    return {
        "parity": Exit.PARITY,
        "difference": Exit.DIFFERENCE,
        "could not compare": Exit.COULD_NOT_COMPARE,
    }[verdict]
