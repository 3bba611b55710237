"""Asks an experiment about one program; all commands report its failures in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import typer

from parity_tests.cli.exit_codes import Exit, complain, fail

if TYPE_CHECKING:
    from parity_tests.cli.display import Display
    from parity_tests.processes.protocol import Progress

Answer = TypeVar("Answer")


def asked(
    context: typer.Context, display: Display, ask: Callable[[Progress], Answer], *, to: str
) -> Answer | None:
    """Ask under a progress bar; where the experiment fails, print why and return None.

    `to` is the verb of that message. A target that names no program is an error of usage.

    Example::

        asked(context, display, lambda shown: ask.tune_policy(target, question, progress=shown),
              to="measure")
    """
    from parity_tests.experiments.in_worker import ExperimentError
    from parity_tests.targets import TargetError

    try:
        with display.progress() as shown:
            return ask(shown)
    except TargetError as error:
        fail(str(error))
    except ExperimentError as error:
        complain(f"could not {to} {error}")
        context.obj.code = Exit.COULD_NOT_COMPARE
        return None
