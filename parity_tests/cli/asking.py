"""Asking an experiment about one program from the command line: what goes wrong is said alike."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import typer

from parity_tests.cli.exit_codes import Exit, fail

Answer = TypeVar("Answer")


def asked(context: typer.Context, ask: Callable[[], Answer], *, to: str) -> Answer | None:
    """Ask, and return the answer; None where there is none, which then is said.

    `to` is what could not be done. A target that names no program is an error of usage.

        asked(context, lambda: experiments.tune_policy(target, question), to="measure")
    """
    from parity_tests.experiments.ask import ExperimentError
    from parity_tests.targets import TargetError

    try:
        return ask()
    except TargetError as error:
        fail(str(error))
    except ExperimentError as error:
        print(f"constparity: could not {to} {error}", file=sys.stderr)
        context.obj.code = Exit.COULD_NOT_COMPARE
        return None
