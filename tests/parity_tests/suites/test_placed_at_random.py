"""Prove mode on programs that are placed at random: none that a flip breaks is called clean."""

import json
import os
import subprocess
import sys

import pytest
from planted_suites import Suite
from program_files import program_file

from reports import load_result

FILE = program_file("placed_at_random")
SUITE = f"""
import importlib.util

import pytest

spec = importlib.util.spec_from_file_location("placed_at_random", {str(FILE)!r})
placed_at_random = importlib.util.module_from_spec(spec)
spec.loader.exec_module(placed_at_random)


@pytest.mark.parametrize("program", placed_at_random.programs(COUNT), ids=lambda each: each.name)
def test_program(program):
    try:
        program.results()
    except placed_at_random.REFUSED:
        pytest.skip("it fails today")
"""


def on_stock_jax(flag, count):
    env = {**os.environ, "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": flag}
    command = [sys.executable, FILE, str(count)]
    done = subprocess.run(command, env=env, capture_output=True, check=True, timeout=600)
    return json.loads(done.stdout)


@pytest.mark.parametrize("count", [60, pytest.param(900, marks=pytest.mark.deep)])
def test_what_a_flip_breaks_or_moves_is_never_called_clean(count, server, tmp_path):
    suite = Suite(tmp_path, server).write(SUITE.replace("COUNT", str(count)), name="test_it.py")
    suite.run("--constparity=prove", "--constparity-report=json:out.json")
    before, after = (on_stock_jax(flag, count) for flag in "01")
    works = {name for name, made in before.items() if isinstance(made, list)}
    changed = {name for name in works if before[name] != after[name]}
    proofs = {each.name: each.proof for each in load_result(tmp_path / "out.json").programs}
    assert works <= proofs.keys()
    clean = {name for name in works if proofs[name].answer == "proved"} - {
        name for name in works if proofs[name].may_break
    }
    assert not changed & clean
    # Nor is all that works alike called unsafe, but for later calls that donate what is captured.
    alike = {name for name in works - changed if "donates" not in name}
    assert min(len(changed), len(alike)) > count / 10
    assert len(clean & alike) > 0.85 * len(alike)
