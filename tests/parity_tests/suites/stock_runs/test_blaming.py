"""From a test that fails after the flip to the line that is to blame."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(scope="module")
def done(plant: Any, run: Any) -> Any:
    """A suite of a test that fails after the flip, one that fails before it, and one that works."""
    folder = plant("""
import jax
import jax.numpy as jnp

TABLE = jnp.arange(32.0)

def test_after():
    assert len(jax.make_jaxpr(lambda x: x + TABLE)(1.0).consts) == 1

def test_before():
    assert len(jax.make_jaxpr(lambda x: x + TABLE)(1.0).consts) == 0

def test_works():
    assert jax.jit(lambda x: x + TABLE)(1.0)[2] == 3.0
""")
    return run(folder, "--constparity-bisect=5")


def test_the_report_of_a_test_that_fails_after_the_flip_ends_with_the_command(done: Any) -> None:
    command = "constparity bisect -- python -m pytest -p no:cacheprovider test_it.py::test_"
    assert done.printed.count(f"Which line is to blame: {command}after\n") == 1
    assert f"{command}before" not in done.printed


def test_the_first_tests_that_fail_after_it_are_bisected(done: Any) -> None:
    _, _, said = done.printed.partition("to blame for test_it.py::test_after:\n")
    lines = said.splitlines()
    assert lines[:3] == [
        "  bisect: 1 site of 1 makes the command fail",
        "    the form of the program <lambda> at test_it.py:14",
        "        assert len(jax.make_jaxpr(lambda x: x + TABLE)(1.0).consts) == 1",
    ]
    assert "    3 runs of 1 site, at most 3 for one culprit" in said
    assert "to blame for test_it.py::test_before" not in done.printed


def test_other_modes_find_no_tests_to_bisect(plant: Any, run: Any) -> None:
    options = ("-p", "parity_tests.suites.plugin", "--constparity-bisect=1")
    refused = run(plant("def test_it(): pass"), *options, plain=True)
    assert refused.code == 4
    assert (
        "--constparity-bisect: --constparity=off finds no tests to bisect; use "
        "--constparity=jax-both"
    ) in refused.printed
