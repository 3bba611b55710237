"""The suite in JAX itself, and in other interpreters, which need pytest and nothing of ours."""

import os

import jax
import pytest
from doc_blocks import excerpt, says
from other_python import other_python

from parity_tests.suites.stock_runs.side_run import suite_pythons

SUITE = """
import jax, jax.numpy as jnp
TABLE = jnp.arange(100.0)

def test_captured_values():
    assert float(jax.jit(lambda x: (x * TABLE).sum())(jnp.ones(100))) == 4950

def test_reads_constvars():
    assert jax.make_jaxpr(lambda x: x * TABLE)(jnp.ones(100)).consts
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    packages = ("jax", "jaxlib", "numpy", "pytest")
    return other_python(tmp_path_factory.mktemp("other") / "python", packages)


def test_a_test_that_reads_a_jaxpr_differs_on_real_jax(plant, run):
    done = run(plant({"test_model.py": SUITE}))
    shown = excerpt("guide-suites.md", "jax-legacy: ")
    assert says(f"…\n{shown}…\n", done.printed), done.printed
    [difference] = done.result.differences
    assert difference.test == "test_model.py::test_reads_constvars"
    assert (difference.legacy.outcome, difference.simplified.outcome) == ("passed", "failed")
    assert [side.is_proven for side in done.result.sides] == [True, True]


def test_a_flag_that_a_test_changes_is_told(plant, run):
    done = run(
        plant("""
import jax
def test_changes_it(): jax.config.update("jax_use_simplified_jaxpr_constants", False)
""")
    )
    assert [side.is_proven for side in done.result.sides] == [True, False]
    assert "the flag of jax-simplified was False at the end: a test has changed it" in done.printed


def test_a_flag_that_the_suite_pins_fails_the_run(plant, run):
    suite = plant("""
def test_passes(): pass
""")
    (suite / "conftest.py").write_text(
        "import os\nos.environ['JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS'] = '0'\nimport jax\n"
    )
    done = run(suite)
    assert done.code == 1
    assert (
        "the flag of jax-simplified was False when it was first read: a conftest.py or a plugin "
        "sets it, so nothing is compared" in done.printed
    )


STARTS = """
import subprocess, sys
def test_starts_one():
    code = "import jax; t = jax.numpy.ones(9); assert jax.make_jaxpr(lambda x: x * t)(1.0).consts"
    subprocess.run([sys.executable, "-c", code], check=True)
"""


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_flag_that_the_suite_pins_for_processes_that_its_tests_start_fails_the_run(
    plant, run, workers
):
    suite = plant({"test_it.py": "", "below/test_starts.py": STARTS})
    (suite / "below" / "conftest.py").write_text(
        "import os\nos.environ['JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS'] = '0'\n"
    )
    done = run(suite, "-pxdist", workers)
    assert (done.code, done.result.alike) == (1, 1), done.printed
    assert (
        "the flag of jax-simplified was 0 in the environment of what its tests start: a "
        "conftest.py or a plugin sets it, so nothing is compared" in done.printed
    )
    assert [side.is_pinned for side in done.result.sides] == [False, True]


PINS = """
import jax
FLAG = "jax_use_simplified_jaxpr_constants"

@pytest.fixture
def pinned():
    before = getattr(jax.config, FLAG)
    jax.config.update(FLAG, False)
    yield
    jax.config.update(FLAG, before)

def test_reads_constvars(pinned):
    table = jax.numpy.ones(9)
    assert jax.make_jaxpr(lambda x: x * table)(1.0).consts
"""


@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_a_test_whose_fixture_sets_the_flag_is_told_apart(plant, run, workers):
    alone = run(plant(PINS), "-pxdist", workers)
    assert alone.code == 1
    assert "every test sets JAX's flag, so nothing was compared" in alone.printed
    beside = run(plant(f"{PINS}\ndef test_passes(): pass"), "-pxdist", workers)
    assert beside.code == 0
    assert [each.test for each in beside.result.set_the_flag] == [
        "test_it.py::test_reads_constvars"
    ]
    assert "1 alike, 1 set the flag" in beside.printed


def test_another_interpreter_runs_both_sides_too(plant, run, python):
    done = run(
        plant("""
import sys
IS_OTHER = "other" in sys.prefix
def test_differs(): assert not ON_SIMPLIFIED
def test_differs_there(): assert not (IS_OTHER and ON_SIMPLIFIED)
def test_fails_there(): assert not IS_OTHER
def test_has_nothing_of_ours():
    if IS_OTHER:
        with pytest.raises(ImportError):
            import pydantic
@pytest.mark.constparity
def test_with_a_fixture(constparity): pass
@pytest.mark.skipif(IS_OTHER, reason="only here")
def test_skipped_there(): pass
if not IS_OTHER:
    def test_only_here(): pass
if IS_OTHER:
    def test_only_there(): pass
"""),
        f"--constparity-python={python}",
        "--strict-markers",
    )
    here, there = (done.result.sides[number].interpreter for number in (0, 2))
    assert there == f"JAX {jax.__version__} ({python})"
    named = {(each.test.partition("::")[2], each.interpreter) for each in done.result.differences}
    assert named == {
        ("test_differs", here),
        ("test_differs", there),
        ("test_differs_there", there),
    }
    assert [each.test for each in done.result.fail_alike] == ["test_it.py::test_fails_there"]
    changed = {each.test.partition("::")[2]: each.outcomes for each in done.result.version_changes}
    assert changed == {
        "test_fails_there": ("passed", "failed"),
        "test_skipped_there": ("passed", "skipped"),
        "test_only_here": ("passed", "not collected"),
        "test_only_there": ("not collected", "passed"),
    }
    assert done.result.not_compared == ()  # an interpreter need not have every test
    assert done.last_line == "3 failed, 4 passed, 1 skipped"
    assert f"jax-legacy passed | jax-simplified failed: assert not True ({there})" in done.printed


def test_an_interpreter_without_pytest_is_refused(plant, run, tmp_path):
    python = other_python(tmp_path / "bare", ("jax",))
    done = run(plant("def test_one(): pass"), f"--constparity-python={python}")
    assert done.code == 4
    assert f"{str(python)!r} lacks pytest" in done.printed
    assert f"{python} -m pip install pytest" in done.printed


def test_a_path_that_is_no_interpreter_is_refused(plant, run):
    done = run(plant("def test_one(): pass"), f"--constparity-python={os.devnull}")
    assert done.code == 4
    assert "is no Python interpreter" in done.printed


def test_interpreters_are_named_by_their_jax():
    [own] = suite_pythons([])
    assert own.name == f"JAX {jax.__version__}"
    assert own.is_own
