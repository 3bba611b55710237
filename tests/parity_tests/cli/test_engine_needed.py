"""Commands that need the engine say so where it refuses the installed JAX."""

import importlib.metadata

import pytest

from parity_tests.cli import app


@pytest.mark.parametrize(
    "command",
    [
        ["culprit", "my_programs.py:scaled"],
        ["sweep", "my_programs.py:scaled"],
        ["tune", "my_programs.py:scaled"],
        ["bench", "--quick"],
        ["export", "inspect", "no_file"],
    ],
)
def test_a_command_that_needs_the_engine_says_so(monkeypatch, capsys, command):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.99.0")
    assert app.main(command) == 4
    said = capsys.readouterr().err
    assert "needs the engine: constparity's engine reads private parts" in said
    assert "this is jax 0.99.0" in said
    assert len(said.splitlines()) == 1


def test_an_installed_jax_that_the_engine_knows_is_not_refused(capsys):
    assert app.main(["export", "inspect", "no_file"]) == 4
    assert "cannot read 'no_file'" in capsys.readouterr().err
