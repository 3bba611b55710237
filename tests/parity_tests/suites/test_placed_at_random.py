"""Prove mode on programs that are made at random: none that a flip breaks is called clean."""

import json
import os
import subprocess
import sys

import pytest
from planted_suites import Suite
from program_files import program_file

from reports import load_result

# The files of programs, and words in the names of those that may break by what is not in them.
DOUBTED = {
    "placed_at_random": ("donates",),
    "changed_at_random": ("writeable", "stage_called", "lowered"),
}


def suite_of(file, count):
    return f"""
import sys

import pytest

sys.path.append({str(program_file(file).parent)!r})
from {file} import programs
from placed_at_random import REFUSED


@pytest.mark.parametrize("program", programs({count}), ids=lambda each: each.name)
def test_program(program):
    try:
        program.results()
    except REFUSED:
        pytest.skip("it fails today")
"""


def on_stock_jax(flag, file, count):
    env = {**os.environ, "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": flag}
    command = [sys.executable, program_file(file), str(count)]
    done = subprocess.run(command, env=env, capture_output=True, check=True, timeout=600)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("file", "count"),
    [
        ("placed_at_random", 60),
        ("changed_at_random", 40),
        pytest.param("placed_at_random", 900, marks=pytest.mark.deep),
        pytest.param("changed_at_random", 900, marks=pytest.mark.deep),
    ],
)
def test_what_a_flip_breaks_or_moves_is_never_called_clean(file, count, server, tmp_path):
    suite = Suite(tmp_path, server).write(suite_of(file, count), head="", name="test_it.py")
    suite.run("--constparity=prove", "--constparity-report=json:out.json")
    before, after = (on_stock_jax(flag, file, count) for flag in "01")
    works = {name for name, made in before.items() if isinstance(made, list)}
    changed = {name for name in works if before[name] != after[name]}
    proofs = {each.name: each.proof for each in load_result(tmp_path / "out.json").programs}
    assert works <= proofs.keys()
    clean = {name for name in works if proofs[name].answer == "proved"} - {
        name for name in works if proofs[name].may_break
    }
    assert not changed & clean
    # Nor is all that works alike called unsafe.
    doubted = {name for name in works if any(word in name for word in DOUBTED[file])}
    alike = works - changed - doubted
    assert min(len(changed), len(alike)) > count / 10
    assert len(clean & alike) > 0.85 * len(alike)
