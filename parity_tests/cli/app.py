"""The command line: the commands in the order of `--help`, and what the process exits with."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from parity_tests.cli.aa import aa
from parity_tests.cli.bench import bench
from parity_tests.cli.compare import compare
from parity_tests.cli.culprit import culprit
from parity_tests.cli.exit_codes import Exit
from parity_tests.cli.explain import explain
from parity_tests.cli.export import export
from parity_tests.cli.fuzz import fuzz
from parity_tests.cli.matrix import matrix
from parity_tests.cli.reduce import reduce
from parity_tests.cli.run import run
from parity_tests.cli.sweep import sweep
from parity_tests.cli.tune import tune


@dataclass
class _Outcome:
    """What a command came to: typer's own exits use 2 for usage, which is a verdict of ours."""

    code: Exit = Exit.PARITY


app = typer.Typer(
    name="constparity",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return what to exit with, one of `Exit`."""
    outcome = _Outcome()
    # SIGTERM as Ctrl-C, so that a cancelled CI job leaves neither workers nor files behind.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        # The name is part of what a shell completes, however the process was started.
        app(args=arguments, prog_name="constparity", obj=outcome)
    except SystemExit as stop:
        if stop.code in (0, None):
            return outcome.code
        return Exit.USAGE if stop.code in (2, Exit.USAGE) else Exit.INTERRUPTED
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception:  # noqa: BLE001 - any other exception is our bug, and the message says so
        traceback.print_exc()
        print("constparity: internal error; the lines above are for a bug report", file=sys.stderr)
        return Exit.INTERNAL_ERROR
    finally:
        signal.signal(signal.SIGTERM, before)
    return outcome.code


def _print_version(asked: bool) -> None:
    if asked:
        from parity_tests.observe.environment import version

        print(f"constparity {version()}")
        raise typer.Exit


@app.callback()
def constparity(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print it and exit."
        ),
    ] = False,
) -> None:
    """Compare the two ways in which JAX handles closed-over constants.

    Exit status: 0 nothing breaks, 1 a flip of the default breaks or changes a program or our
    pipelines differ from stock JAX (see --fail-on), 2 could not compare or not repeatable,
    3 internal error, 4 usage, 5 nothing collected.
    """


for command in (run, explain, matrix, compare, fuzz, aa, bench, culprit, sweep, tune, reduce):
    app.command()(command)
app.add_typer(export, name="export")
