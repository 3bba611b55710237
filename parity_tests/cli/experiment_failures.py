"""Asks an experiment about one program; all commands report its failures in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import typer

from parity_tests.cli.exit_codes import Exit, complain, fail

Answer = TypeVar("Answer")


def asked(context: typer.Context, ask: Callable[[], Answer], *, to: str) -> Answer | None:
    """Ask, and return the answer; where the experiment fails, print why and return None.

    `to` is the verb of that message. A target that names no program is an error of usage.

    Example::

        asked(context, lambda: ask.tune_policy(target, question), to="measure")
    """
    from parity_tests.experiments.in_worker import ExperimentError
    from parity_tests.targets import TargetError

    try:
        return ask()
    except TargetError as error:
        fail(str(error))
    except ExperimentError as error:
        complain(f"could not {to} {error}")
        context.obj.code = Exit.COULD_NOT_COMPARE
        return None
