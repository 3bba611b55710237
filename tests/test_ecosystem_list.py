"""The script that runs other people's test-suites, on a library that is made here."""

import json
import sys
import tomllib
from argparse import Namespace
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from parity_tests.campaign.spec import KnownFailures, LibrarySpec
from tests.scripts import run_suites as script

ROOT = Path(__file__).parent.parent

TESTS = """
import jax, jax.numpy as jnp

def test_passes():
    table = jnp.arange(4.0)
    assert jax.jit(lambda x: x + table)(1.0).sum() == 10

def test_knows_the_implementation():
    assert jax.jit.__module__.startswith("jax")

def test_fails():
    assert False
"""


def test_a_suite_runs_in_each_mode_and_a_changed_outcome_is_named(tmp_path):
    (tmp_path / "some_library-1.0").mkdir()
    (tmp_path / "some_library-1.0" / "test_it.py").write_text(TESTS)
    suite = LibrarySpec(name="some-library", version="1.0", tests=("test_it.py",))
    out = tmp_path / "out"
    out.mkdir()
    options = Namespace(
        sources=tmp_path,
        out=out,
        python=sys.executable,
        repeat=1,
        only=None,
        mode=["off", "both"],
        cache=None,
    )
    runs = list(script._runs(suite, options))
    assert [run.mode for run in runs] == ["off", "both"]
    assert runs[0].outcomes == {
        "test_it::test_passes": "passed",
        "test_it::test_knows_the_implementation": "passed",
        "test_it::test_fails": "failure",
    }
    both = runs[-1]
    assert (both.programs, both.one_executable, both.different) == (1, 0, 0)
    assert all(run.seconds > 0 for run in runs)
    lines = list(script.table(runs))
    assert lines[2].startswith("| some-library 1.0 | 3 | 2 passed, 1 failure | not run | not run |")
    assert lines[-1] == (
        "- some-library, both 0: test_it::test_knows_the_implementation: passed, now failure"
    )
    failing = "test_it::test_fails"
    known = KnownFailures(tests=("*::test_fails",), why="it asserts False")
    assert list(script.failures(runs, {"some-library": (known,)})) == [
        f"- some-library, plain: {failing}: it asserts False"
    ]
    assert list(
        script.failures(runs, {"some-library": (KnownFailures(tests=("*::x",), why="gone"),)})
    ) == [
        f"- some-library, plain: {failing}: NOT ON THE LIST",
        "- some-library, plain: no test fails of *::x",
    ]
    # A second call reads the records, and runs nothing.
    record = out / "some-library-both-0.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "seconds": 1234.0}))
    assert next(r for r in script._runs(suite, options) if r.mode == "both").seconds == 1234


def test_the_versions_of_the_list_are_those_of_all_that_constparity_needs_too():
    [versions] = (ROOT / "docs").glob("ecosystem-*.txt")
    named = {line.partition("==")[0] for line in versions.read_text("utf-8").splitlines()}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = {canonicalize_name(Requirement(each).name) for each in project["dependencies"]}
    assert needed - {"jax", "jaxlib"} <= named
