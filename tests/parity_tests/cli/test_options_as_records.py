"""A command takes records, and typer sees the fields of them as options, in their place."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from parity_tests.cli.options import with_options


@dataclass(frozen=True)
class Shown:
    quiet: Annotated[bool, typer.Option("--quiet", "-q")] = False
    lines: Annotated[int, typer.Option(min=1)] = 10

    def __post_init__(self):
        if self.quiet and self.lines != 10:
            raise typer.BadParameter("-q prints no lines")


@pytest.fixture
def command():
    """Return a function that runs a command with two records, and what it was called with."""
    app, calls = typer.Typer(), []

    def show(name: str, *, shown: Shown, loud: bool = False) -> None:
        calls.append((name, shown, loud))

    app.command()(with_options(show))

    def run(*arguments):
        app(args=arguments, standalone_mode=False)
        return calls[-1]

    return run


def test_the_fields_of_a_record_are_options(command):
    assert command("a") == ("a", Shown(), False)
    assert command("a", "-q", "--loud") == ("a", Shown(quiet=True), True)
    assert command("--lines", "3", "b") == ("b", Shown(lines=3), False)


def test_options_that_contradict_each_other_are_an_error_of_usage(command):
    with pytest.raises(typer.BadParameter, match="-q prints no lines"):
        command("a", "-q", "--lines", "3")
