"""Shadow mode says what stock JAX does after the flip with captured arrays that are donated."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from program_files import program_file

import engine
from engine import api
from engine.runtime import watching
from parity_tests import targets
from parity_tests.advice import advice
from parity_tests.observe import hazards
from parity_tests.suites.collected.collector import candidate
from parity_tests.suites.collected.folder import Ran
from parity_tests.suites.explicit_rules import Rules
from parity_tests.suites.explicit_watching import watched
from parity_tests.suites.messages import message_of

FILE = program_file("reported/donated_captures")
_SPEC = importlib.util.spec_from_file_location("donated_captures", FILE)
programs = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(programs)

GONE = {"by_a_second_program", "deleted"}
BREAKS = GONE | {
    "captured_and_donated", "captured_by_an_inner_function", "captured_in_a_loop", "in_a_tree",
    "by_name", "by_another_array_on_its_buffer", "ahead_of_time", "with_an_effect",
    "kept_and_unread",
}  # fmt: skip
WORKS_NEVER = {"passed_twice", "passed_twice_by_another_array_on_its_buffer"}


@pytest.fixture(scope="module")
def collected(tmp_path_factory):
    """The file of each program that a case runs last, by the case; None where there is none."""
    folder, files, name = tmp_path_factory.mktemp("collected"), {}, ""

    def watcher(execution):
        made = candidate(execution, Ran(name, 0), folder)
        files[name] = str(folder / f"{name}.py") if made.written else None
        if made.written:
            made.written.save(folder / f"{name}.py")
        return execution.run()

    api.forget_calls()
    watching.watch(watcher)
    try:
        for name in programs.CASES:
            programs.works(programs.CASES[name], engine.jit)
    finally:
        watching.watch(None)
    return files


@pytest.fixture(scope="module")
def on_stock_jax(collected):
    """What fails on stock JAX: the cases and, after the flip, the files collected of them."""

    def run(flag, *files):
        env = {**os.environ, "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": flag}
        command = [sys.executable, FILE, *files]
        said = subprocess.run(command, env=env, capture_output=True, check=True)
        return {name for name, works in json.loads(said.stdout).items() if not works}

    return run("0"), run("1", *filter(None, collected.values()))


def test_what_stock_jax_does(on_stock_jax):
    before, after = on_stock_jax
    assert before == WORKS_NEVER
    assert after & {*programs.CASES} == WORKS_NEVER | BREAKS


def test_a_collected_program_fails_where_its_test_does(collected, on_stock_jax):
    """A program with an effect has no file, and neither has one whose array is gone.

    A file keeps no option of a jit but donation, as its first lines say.
    """
    no_file = {name for name, file in collected.items() if file is None}
    assert no_file == GONE | {"with_an_effect"}
    _, fails = on_stock_jax
    found = {name for name, file in collected.items() if file in fails}
    assert found == (WORKS_NEVER | BREAKS) - no_file - {"kept_and_unread"}
    assert "Without its keep_unused." in Path(collected["kept_and_unread"]).read_text()


def test_run_says_so_of_a_collected_program(collected):
    [program] = targets.load([collected["captured_and_donated"]])
    assert [each.kind for each in hazards.detect(program)] == ["captured and donated"]


@pytest.mark.parametrize(
    ("name", "side"),
    [
        *((name, "legacy") for name in programs.CASES),
        *((name, "simplified") for name in sorted(GONE | WORKS_NEVER | {"in_a_tree"})),
    ],
)
def test_a_call_is_blamed_where_stock_jax_breaks_it(name, side):
    with engine.use_simplified_constants(side == "simplified"), watched(name, Rules()) as now:
        works = programs.works(programs.CASES[name], engine.jit)
    assert works == (name not in WORKS_NEVER | (GONE if side == "simplified" else set()))
    assert bool(now.differences) == (name in BREAKS)
    sides = {(each.left, each.right) for each in now.differences}
    other = "legacy" if side == "simplified" else "simplified"
    of_stock = {("jax-legacy", "jax-simplified")} if name in BREAKS else set()
    assert sides == ({(side, other)} if name in GONE else of_stock)
    for each in now.differences:
        assert each.reasons[-1].subject == "captured and donated"
        helps = {reason.action for reason in each.reasons}
        assert helps == {advice("donated")}


def test_the_hazard_is_told_and_no_side_is_blamed():
    with engine.use_simplified_constants(False), watched("test_step", Rules()) as now:
        programs.captured_and_donated(engine.jit)
    line = 1 + FILE.read_text()[: FILE.read_text().index("return jit(lambda x: x + t")].count("\n")
    place = f"tests/programs/reported/donated_captures.py:{line}"
    assert message_of(now.differences) == "\n".join(
        [
            f"constparity: the flip of stock JAX breaks `<lambda>` ({place}), which works on both "
            "pipelines",
            f"  {place} (jax.Array float32[64]): captured and donated: the array is also passed as "
            "a donated argument: legacy has inlined its value, stock simplified fails when it is "
            "called (attempt to donate a buffer which is also used by the same call)",
            f"    -> {advice('donated')}",
            f"  it captured float32[64] (256 bytes), first used at {place} in "
            "captured_and_donated.<locals>.<lambda>",
        ]
    )
