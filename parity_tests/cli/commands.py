"""The commands in the order of `--help`, and the screen that `constparity` alone shows."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer

from parity_tests.cli.exit_codes import Exit
from parity_tests.cli.help_pages import Command, Group, write_page
from parity_tests.cli.options import with_options

# The commands in groups, each with what it does. The command `run` is the function `run` of
# `parity_tests.cli.run`, which is imported when the command is asked for.
COMMANDS: dict[str, dict[str, str]] = {
    "Does a flip break my programs?": {
        "run": "Run programs before and after it, and compare them",
        "prove": "Prove, without running them, that both are one computation",
        "watch": "Run programs again whenever their files are saved",
        "lint": "Find code that will see the flip, without running it",
        "explain": "What programs captured, and what a flip may change",
    },
    "What makes the difference?": {
        "bisect": "Find the lines that make a command, as pytest, fail",
        "sites": "List the arrays that a command captures, with their lines",
        "culprit": "Name the captured arrays that change outputs, memory or time",
        "reduce": "Shrink a program that differs to a small file",
    },
    "Many programs, and results that are kept": {
        "campaign": "Run the programs of a spec file, and go on where it stopped",
        "merge": "Put the shards of a campaign together",
        "history": "List the runs of a store, show them again, draw trends",
        "compare": "Compare two results",
        "report": "Write reports of a result; nothing is run",
        "fuzz": "Generate programs that capture arrays, and compare them",
        "matrix": "Run a captured array in each construct and transformation",
    },
    "What do constants cost?": {
        "tune": "Propose which captured arrays to inline for faster calls",
        "sweep": "Measure a program under several embed thresholds",
        "bench": "Measure what the engine costs beside stock JAX",
        "aa": "Compare a side with itself: how often is an alarm false?",
    },
    "Set up, and look around": {
        "init": "Write a CI job for a project",
        "doctor": "Say what is installed, whether it works, and what to do",
        "environments": "List, make and remove environments of JAX versions",
        "scorecard": "Show what stands between JAX and a flipped default",
        "export": "Look at the files of hoisted exports",
        "schema": "Print the JSON Schema of reports",
    },
}

FIRST_SCREEN = """\
constparity: what happens to my JAX programs at the flip, when the arrays that
they capture are no longer inlined but passed as hidden arguments?

  constparity run my_model.py --report html:out.html
      Run the programs of a file before and after the flip, compare them, and
      write a page that says of each one what differs, why, and what helps.

  constparity prove my_model.py
      Prove, without running them, that both are one computation for every
      argument, also for devices that are not here: --platforms cuda,tpu.

  constparity bisect -- pytest tests/test_model.py
      The tests fail after the flip? Find the lines that make them fail.

A program is a function with a mark, which has the arguments to call it with:

  from parity_tests import program

  @program(args=(jnp.ones(512),))
  def step(x): ...

All commands: constparity --help      one of them: constparity run --help
"""


class Commands(Group):
    """All commands; one is imported when it is asked for, since each takes a while."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words; without any, show the first screen and leave with `Exit.USAGE`."""
        if not args and not ctx.resilient_parsing:  # as a shell that completes the first word
            print(FIRST_SCREEN, end="")
            raise typer.Exit(Exit.USAGE)
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def list_commands(self, ctx: Any) -> list[str]:
        """Return their names, in the order of `--help`."""
        return [name for group in COMMANDS.values() for name in group]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command; None where there is none of this name."""
        return command_named(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page, with the commands in groups."""
        widest = max(map(len, self.list_commands(ctx)))
        rows = {
            heading: [(name.ljust(widest), what) for name, what in commands.items()]
            for heading, commands in COMMANDS.items()
        }
        write_page(self, ctx, formatter, rows)


def command_named(name: str) -> Any:
    """Return the command of a name, or the group of commands, as typer has made it.

    Example::

        command_named("run").params
    """
    found = getattr(import_module(f"parity_tests.cli.{name}"), name)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command(cls=Command)(with_options(found))
        found = alone
    command = typer.main.get_command(found)
    command.name = name
    return command


def every_command() -> list[str]:
    """Return the names of all commands, each group before the commands in it.

    Example::

        "history show" in every_command()
    """
    names = []
    for name in (name for group in COMMANDS.values() for name in group):
        inner = getattr(command_named(name), "commands", {})
        names += [name, *(f"{name} {each}" for each in inner)]
    return names
