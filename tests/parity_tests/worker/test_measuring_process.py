"""What a program changes for its process is noticed, and said; the next program is spared."""

import inspect
import os
import shutil
import subprocess
import sys

import jax
import numpy as np
import pytest
from program_files import program_file

from parity_tests.observe import jit_on_side
from parity_tests.observe.process_state import ProcessState
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions

RANKS = "jax_numpy_rank_promotion"


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trust")
    files = [
        str(shutil.copy(program_file(f"trust/{name}"), folder))
        for name in ("changes_its_process", "sets_x64", "wants_x32")
    ]
    options = CampaignOptions(sides=("jax-legacy", "jax-simplified"), steady_calls=0)
    return {row.name: row for row in run.run(files, options).programs}


@pytest.mark.parametrize(
    ("name", "did"),
    [
        ("patches_jit", "replaces jax.jit"),
        ("sets_the_configuration", f"sets {RANKS} to 'raise' (it was 'allow')"),
        ("closes_stdout", "closes stdout"),
        (
            "changes_the_rest",
            "sets the environment variable CHANGED, changes the working directory to /, changes "
            "sys.path, changes what SIGUSR1 does",
        ),
    ],
)
def test_who_did_what_is_said_and_the_next_program_runs_in_a_new_process(rows, name, did):
    changed, after = rows[name], rows[f"after_{name}"]
    assert (changed.verdict, after.verdict) == ("parity", "parity")
    assert changed.reasons == (f"the program {did}; other programs ran in other processes",)
    assert after.reasons == ()
    assert [each.changed_process for each in changed.observations] == [(f"the program {did}",)] * 2


def test_a_flag_that_a_program_flips_does_not_reach_the_next_one(rows):
    changed = {each.side: each.changed_process for each in rows["flips_the_flag"].observations}
    flag = "jax_use_simplified_jaxpr_constants"
    assert changed["jax-legacy"] == (f"the program sets {flag} to True (it was False)",)
    assert rows["after_flips_the_flag"].verdict == "parity"


def test_a_program_that_restores_what_it_changes_has_changed_nothing(rows):
    assert (rows["restores"].verdict, rows["restores"].reasons) == ("parity", ())


def test_what_an_import_sets_reaches_the_programs_of_its_module_and_no_others(rows):
    first, second = rows["first_of_two"], rows["second_of_two"]
    assert "sets_x64.py sets jax_enable_x64 to True (it was False); other" in first.reasons[0]
    assert second.reasons == ()
    for row in (first, second):
        assert {leaf.dtype for each in row.observations for leaf in each.outputs} == {"float64"}
    assert rows["wants_x32"].verdict == "parity"


def test_a_state_tells_its_changes_and_no_secret(monkeypatch):
    before = ProcessState.now()
    assert before.changes(ProcessState.now()) == ()
    monkeypatch.setattr(jax.numpy, "sum", lambda x: x)
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.delenv("PATH")
    monkeypatch.setattr(sys, "path", [*sys.path, "/nowhere"])
    monkeypatch.setattr(os, "getcwd", lambda: "/elsewhere")
    limit, errors = sys.getrecursionlimit(), np.geterr()
    monkeypatch.setattr(sys, "getrecursionlimit", lambda: 150)
    with np.errstate(all="raise"):
        raises = np.geterr()
        after = ProcessState.now()
    assert set(before.changes(after)) == {
        "replaces jax.numpy.sum",
        "sets the environment variable TOKEN",
        "removes the environment variable PATH",
        "changes sys.path",
        "changes the working directory to /elsewhere",
        f"sets the recursion limit to 150 (it was {limit})",
        f"sets numpy.geterr() to {raises} (it was {errors})",
    }
    assert "changes sys.path" not in before.apart_from_path(after)


@pytest.mark.parametrize("side", ["simplified", "jax-legacy"])
def test_no_program_pays_for_what_a_side_loads_lazily(side):
    """With `--rounds` the first program of each process seemed to be traced three times slower."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED_BY_THE_FIRST_PROGRAM, side], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


LOADED_BY_THE_FIRST_PROGRAM = """
import sys
from parity_tests.observe.jit_on_side import jitted_on
from parity_tests.worker.jobs import _start

_start(sys.argv[1])
before = set(sys.modules)
table = sys.modules["jax"].numpy.arange(64.0)
jitted_on(lambda x: x @ table, sys.argv[1]).trace(table).lower().compile()(table)
print(sorted(set(sys.modules) - before))
"""


@pytest.mark.parametrize(("release", "shape"), [((0, 9, 2), ()), ((0, 10, 0), (64,))])
def test_a_side_warms_up_where_stock_jax_fails_on_captured_arrays(monkeypatch, release, shape):
    captured = []
    monkeypatch.setattr(jax, "__version_info__", release)
    monkeypatch.setattr(jit_on_side, "STOCK_JIT", lambda fun: jax.jit(noted(fun)))

    def noted(fun):
        captured.append(inspect.getclosurevars(fun).nonlocals["captured"].shape)
        return fun

    jit_on_side.warm_up("jax-simplified")
    assert captured == [shape]
