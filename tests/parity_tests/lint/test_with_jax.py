"""What the rules and fixes say of JAX, seen on the JAX at hand; the libraries that broke."""

import builtins
import importlib

import jax
import jax.numpy as jnp
import pytest
from broken_libraries import PAGE, ROWS, page, write_programs
from jax.extend import core

from parity_tests.lint import fixing
from parity_tests.lint.rules import CODES
from parity_tests.lint.rules.removed_names import LOST, MOVED
from parity_tests.lint.run import lint_source

PROGRAMS = [row for row in ROWS if "program" in row]
# Jaxprs without debug information, and names before they are removed.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def is_since(release):
    return tuple(map(int, release.split("."))) <= jax.__version_info__


def run(text):
    exec(compile(text, "program", "exec"), {"__name__": "program"})


def fixed(text):
    return fixing.fixed(text, [match for _, match in lint_source(text.encode(), CODES)])


@pytest.mark.parametrize("row", PROGRAMS, ids=lambda row: row["release"])
def test_lint_names_the_lines_of_a_library_that_broke(row):
    text = row["program"]
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# <-")]
    found = lint_source(text.encode(), CODES)
    assert sorted({match.place.line for _, match in found}) == lines
    assert {code for code, _ in found} <= set(row["now"])


@pytest.mark.parametrize("row", PROGRAMS, ids=lambda row: row["release"])
def test_its_pattern_breaks_from_the_named_version_on(row):
    if is_since(row["from"]):
        with pytest.raises(getattr(builtins, row["error"])):
            run(row["program"])
    else:
        run(row["program"])


@pytest.mark.parametrize(
    "row", [row for row in PROGRAMS if row["fix"] != "no"], ids=lambda row: row["release"]
)
def test_its_fix_runs_on_this_version(row):
    after = fixed(row["program"])
    assert after != row["program"]
    run(after)
    assert fixed(after) == after


def test_no_other_row_has_a_fix():
    for row in PROGRAMS:
        assert (fixed(row["program"]) == row["program"]) == (row["fix"] == "no")


def test_the_page_is_written_from_the_rows():
    assert PAGE.read_text() == page()


def is_there(name):
    module, _, attribute = name.rpartition(".")
    return hasattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("name", sorted({**MOVED, **LOST}))
def test_names_are_gone_from_the_named_version_on(name):
    release = {**MOVED, **LOST}[name]
    assert is_there(name) == bool(release and not is_since(release))


@pytest.mark.parametrize("name", sorted(MOVED))
def test_moved_names_are_in_their_new_place(name):
    assert is_there(f"jax.extend.core.{name.rpartition('.')[2]}")


@pytest.mark.skipif(not hasattr(jax.stages.Traced, "closure_convert"), reason="from JAX 0.11.1 on")
def test_a_traced_stage_hands_out_no_captured_arrays_after_the_flip():
    table, flag = jnp.arange(9.0), "jax_use_simplified_jaxpr_constants"
    was_on = getattr(jax.config, flag)
    try:
        for is_on, count in ((False, 1), (True, 0)):
            jax.config.update(flag, is_on)
            traced = jax.jit(lambda x: x * table).trace(1.0)
            assert len(traced.closure_convert()[0]) == count
            assert len(traced.with_consts_as_arg()[0]) == count
            # This one hands out values that are being differentiated, and no captured array.
            assert jax.closure_convert(lambda x: x * table, 1.0)[1] == []
    finally:
        jax.config.update(flag, was_on)


@pytest.mark.parametrize("is_on", [False, True])
def test_tracers_and_typed_keys_stay_consts_after_the_flip(is_on):
    table, key, flag = jnp.arange(9.0), jax.random.key(0), "jax_use_simplified_jaxpr_constants"
    found = []

    def outer(y):
        jaxpr = jax.make_jaxpr(lambda x: jax.random.normal(key) * table * x * y)(1.0)
        found.extend(type(each).__name__ for each in jaxpr.consts)
        return y

    was_on = getattr(jax.config, flag)
    try:
        jax.config.update(flag, is_on)
        jax.jit(outer)(2.0)
    finally:
        jax.config.update(flag, was_on)
    assert [each for each in found if "Tracer" in each]
    assert "PRNGKeyArray" in found
    assert ("ArrayImpl" in found) != is_on


def test_both_classes_are_one_from_0_11_0_on():
    assert (core.Jaxpr is core.ClosedJaxpr) == is_since("0.11.0")


BEFORE_AND_AFTER = [
    "from jax.core import Tracer, new_jaxpr_eqn, Effect as E\nassert Tracer and new_jaxpr_eqn\n",
    "import jax\nfrom jax import core\nassert core.gensym\n",
    "import jax\nassert jax.core.no_effects == frozenset()\nassert jax.core.DropVar\n",
    "import jax\nfrom jax.extend.core import ClosedJaxpr\n"
    "j = jax.make_jaxpr(lambda x: x)(1)\n"
    "while isinstance(j, ClosedJaxpr):\n    j = j.jaxpr\n",
    "import jax\n[eqn] = jax.make_jaxpr(jax.jit(lambda x: x + 1))(1).eqns\n"
    "assert not eqn.params['inline']\nassert eqn.params['inline'] == False\n"
    "assert (1 if eqn.params['inline'] else 2) == 2\n",
]


@pytest.mark.parametrize("before", BEFORE_AND_AFTER)
def test_what_is_fixed_runs_on_this_version(before):
    after = fixed(before)
    assert after != before
    run(after)
    assert not any(match.edits for _, match in lint_source(after.encode(), CODES))


def test_each_program_is_written_as_a_target_and_as_a_test(tmp_path):
    write_programs(tmp_path)
    assert len(list(tmp_path.glob("pattern_*.py"))) == len(PROGRAMS)
    suite = (tmp_path / "test_patterns.py").read_text()
    made = {}
    exec(compile(suite, "test_patterns", "exec"), made)
    tests = [made[name] for name in made if name.startswith("test_")]
    for row, test in zip(PROGRAMS, tests, strict=True):
        assert row["grid"]
        assert row["plugin"]
        if is_since(row["from"]):
            with pytest.raises(getattr(builtins, row["error"])):
                test()
        else:
            test()
