"""Programs that differ are reduced to files that show it, and show the same and nothing else."""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from program_files import line_with, program_file

from parity_tests.cli import app
from parity_tests.reduce import draft as drafts
from parity_tests.reduce.reduce import Question, ReduceError, reduce
from parity_tests.targets import TargetError

FILE = program_file("reducible")
ROOT = Path(__file__).parents[3]


def reduced(name, **question):
    return reduce(Question(f"{FILE}:{name}", **question))


def primitives_of(found):
    return {each.primitive for each in drafts.walk(found.draft.body)}


def run_alone(file, **environment):
    """Run a file where this project is not on the path, as a reader of a bug report would."""
    inherited = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    inherited.pop("XLA_FLAGS", None)
    script = (
        "import sys, runpy; sys.path = [p for p in sys.path if p not in ('', sys.argv[2])];"
        "sys.argv = [sys.argv[1]]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    return subprocess.run(
        [sys.executable, "-c", script, str(file), str(ROOT)],
        env=inherited | environment,
        cwd=file.parent,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def early(tmp_path_factory):
    """The file that two tries come to, and what the command printed."""
    file = tmp_path_factory.mktemp("early") / "early.py"
    asked = ["reduce", f"{FILE}:folds_by_itself", "--metric", "outputs", "-o", str(file)]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert app.main([*asked, "--max-tries", "2", "--exit-zero"]) == 0
    return file, printed.getvalue()


@pytest.mark.deep
def test_what_xla_folds_is_shown_by_stock_jax_alone(tmp_path, capsys):
    file = tmp_path / "drift.py"
    asked = ["reduce", str(FILE), "--program", "folds", "--metric", "outputs", "-o", str(file)]
    assert app.main(asked) == 1
    printed = capsys.readouterr().out
    assert "equations to 1, outputs" in printed
    assert int(re.search(r"folds: (\d+)", printed)[1]) >= 30
    assert "the file shows it" in printed
    text = file.read_text()
    assert "lax.exp" in text
    assert not any(name in text for name in ("import parity_tests", "pickle.load"))
    done = run_alone(file)
    assert done.returncode == 1, done.stderr
    for flag in (0, 1):
        assert f"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS={flag}" in done.stdout
    assert "elements differ, by up to" in done.stdout
    assert {each.suffix for each in file.parent.iterdir()} <= {".py", ".npz"}  # no half-written one


def test_a_file_exits_with_zero_where_the_difference_is_not(early, tmp_path):
    """Here one side is run twice; whoever takes the cause away sees the file say so, too."""
    assert "the file shows it" in early[1]
    text = early[0].read_text()
    both = "SIDES = ('jax-legacy', 'jax-simplified')"
    assert both in text
    file = tmp_path / "early.py"
    file.write_text(text.replace(both, "SIDES = ('jax-legacy', 'jax-legacy')"))
    if (arrays := early[0].with_suffix(".npz")).exists():
        shutil.copy(arrays, tmp_path)
    done = run_alone(file)
    assert (done.returncode, "difference: none" in done.stdout) == (0, True), done.stderr


def test_what_stock_jax_refuses_stays_refused(tmp_path):
    found = reduced("two_devices")
    assert found.equations[1] <= 3
    assert found.symptom.fails == (("jax-simplified", "ValueError"),)
    assert "Received incompatible devices for jitted computation" in found.symptom.kind
    found.written.save(tmp_path / "devices.py")
    done = run_alone(tmp_path / "devices.py")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "raised in lower: ValueError: Received incompatible devices" in done.stdout


def test_a_donated_array_stays_donated_and_captured(tmp_path):
    found = reduced("donates_what_it_captures")
    assert found.symptom.fails == (("jax-simplified", "JaxRuntimeError"),)
    assert "return jax.jit(fun, donate_argnums=(0,)), (x0" in found.written.program
    assert "x0 = c0" in found.written.program
    found.written.save(tmp_path / "donates.py")
    done = run_alone(tmp_path / "donates.py")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Attempt to donate a buffer" in done.stdout


def test_drift_does_not_slip_into_a_mismatch():
    """Cut after the amplifier, the program is smaller and differs, and under another verdict."""
    found = reduced("folds_and_amplifies", metric="outputs")
    assert found.slipped  # the bait was there
    assert (found.symptom.verdict, found.symptom.kind) == ("parity", "drift")
    assert "mismatch" not in found.symptom.detail


def test_a_mismatch_of_small_outputs_beside_a_key_is_shown_by_the_file_too(tmp_path):
    found = reduced("small_beside_a_key", max_tries=1)
    assert found.symptom.kind == "different: beyond tolerance"
    tolerances = {"float32": 1e-06, "key<fry>": 0.0, "uint32": 0.0}
    assert f"'tolerances': {tolerances}" in found.written.text
    found.written.save(tmp_path / "small.py")
    done = run_alone(tmp_path / "small.py")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "output 0: key<fry>[]" in done.stdout
    assert "difference: output 1: " in done.stdout


def test_more_const_args_than_arrays_needs_constparity():
    found = reduced("used_twice", sides=("simplified", "jax-simplified"), metric="const args")
    assert found.symptom.kind == "expected difference: larger on jax-simplified"
    assert not found.standalone
    assert found.equations[1] <= 3
    assert "It needs constparity" in found.written.text


@pytest.mark.deep
def test_a_planted_fault_is_reduced_to_its_primitive(tmp_path, monkeypatch, capsys):
    """Every process of this search has the rule of scan broken, in our simplified pipeline."""
    (tmp_path / "sitecustomize.py").write_text(
        f"import sys\nsys.path[:0] = [{str(ROOT / 'tests' / 'mutants')!r}]\n"
        "import of_functions, planting\n"
        "planted = planting.MUTANTS['scan operands shifted'].plant()\nplanted.__enter__()\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    file = tmp_path / "scan.py"
    asked = ["reduce", f"{FILE}:two_in_a_scan", "--sides", "legacy,simplified", "-o", str(file)]
    assert app.main(asked) == 1
    printed = capsys.readouterr().out
    assert "it needs constparity" in printed
    text = file.read_text()
    assert "lax.scan(" in text
    assert not any(f"lax.{name}(" in text for name in ("cond", "while_loop", "switch", "clamp"))
    assert "engine.jit(fun, constants=side)" in text


def test_a_callback_that_does_not_matter_is_cut():
    found = reduced("innocent_callback", metric="outputs")
    assert primitives_of(found) <= {"exp", "mul"}


@pytest.mark.parametrize(
    ("name", "error", "said"),
    [
        ("guilty_callback", ReduceError, "gone without what cannot be written.*pure_callback"),
        ("another_program", ReduceError, "traced differently on the two sides"),
        ("raises", ReduceError, "has no jaxpr to reduce.*no_such_name"),
        ("sharded", ReduceError, "over 2 devices cannot be written"),
        ("no_such_program", TargetError, "has no 'no_such_program'"),
    ],
)
def test_what_cannot_be_reduced_says_why(name, error, said):
    with pytest.raises(error, match=f"(?s){said}"):
        reduced(name)


def test_the_command_says_why_it_could_not_reduce(capsys):
    assert app.main(["reduce", f"{FILE}:raises"]) == 2
    assert f"could not reduce: {FILE}:raises has no jaxpr to reduce" in capsys.readouterr().err


def test_what_lies_in_no_jaxpr_is_told_by_the_line_that_reads_it(capsys):
    file = program_file("trust/reads_jaxprs")
    assert app.main(["reduce", f"{file}:the_flag", "-o", "reads.py"]) == 2
    said = capsys.readouterr().err
    assert f"could not reduce {file}:the_flag: the program's jaxpr does not show" in said
    assert "shown instead: nothing unexpected" in said
    read = line_with(file, "# reads the_flag")
    assert f"trust/reads_jaxprs.py:{read}: in legacy it is False" in said


def test_a_metric_that_there_is_not_is_refused_where_nothing_differs(tmp_path):
    file = tmp_path / "captures_nothing.py"
    file.write_text(
        "import numpy as np\nfrom parity_tests import program\n"
        "@program(args=(np.ones(3, np.float32),))\ndef f(x):\n    return x + 1\n"
    )
    with pytest.raises(ReduceError, match=r"--metric outptus: .* did you mean outputs"):
        reduce(Question(f"{file}:f", sides=("legacy", "jax-legacy"), metric="outptus"))


def test_a_metric_that_does_not_differ_is_refused_with_those_that_do(capsys):
    with pytest.raises(ReduceError, match="does not differ in 'output dtypes'; it does in"):
        reduced("folds_by_itself", metric="output dtypes")
    assert app.main(["reduce", f"{FILE}:folds_by_itself", "--metric", "speed"]) == 4
    said = capsys.readouterr().err
    assert "--metric speed: nothing of" in said
    assert "folds_by_itself --report json:-` has the names" in said
    with pytest.raises(ReduceError, match="no file shows that"):
        reduced("folds_by_itself", metric="constvars")


def test_parity_has_nothing_to_reduce(tmp_path, capsys, monkeypatch):
    file = tmp_path / "none.py"
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert app.main(["reduce", f"{FILE}:parity", "-o", str(file), "--no-color"]) == 0
    assert capsys.readouterr().out.startswith("parity ")
    assert not list(tmp_path.iterdir())


def test_an_exhausted_bound_is_said(early):
    _, printed = early
    assert "the search was stopped, so a smaller one may exist: all 2 tries were made" in printed
    assert "2 candidates tried" in printed


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["model.py"], "`constparity run model.py --list` lists the names"),
        (["model.py:step", "--sides", "legacy,jax-simplified"], "the pairs are"),
        (["model.py:step", "--beyond", "mismatch"], "bitwise, ulp or tolerance"),
        (["model.py:step", "-o", "out.txt"], "name a Python file"),
        (["model.py:step"], "no file 'model.py'"),
    ],
)
def test_usage(options, said, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert app.main(["reduce", *options]) == 4
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("there", ["model.py", "model.npz", "reduced_step.py"])
def test_a_file_of_somebody_else_is_not_replaced(there, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path(there).write_text("precious")
    options = [] if there.startswith("reduced") else ["-o", "model.py"]
    assert app.main(["reduce", "model.py:step", *options]) == 4
    assert f"{there} is there, and no file of `reduce`" in capsys.readouterr().err
    assert Path(there).read_text() == "precious"
