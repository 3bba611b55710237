"""Runs of a command: what shuts the start-up file out, what stays behind, the user's own files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from parity_tests.bisect.running import CommandError, Runner, Until, check_command
from parity_tests.bisect.running import switched_environment as environment_of
from parity_tests.bisect.sites import Flips
from parity_tests.cli.app import main

PYTHON = sys.executable
NONE = Flips.of("none")


def python(code: str) -> list[str]:
    return [PYTHON, "-c", code]


# -- what cannot be asked --------------------------------------------------------------------------

IMPORTS_NONE = "imports no JAX, in any of its processes"
FAILS_EARLY = "the command (exit status 1) had not imported JAX yet, in any of its processes"
READS_NONE = (
    "starts no Python process that reads our start-up file: it starts no Python, or with -I, -E, "
    "-S or `env -i`, or sets PYTHONPATH itself"
)
SHUT_OUT = "keeps Python from its environment, by which the sites are switched: leave the option"


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (["/no/such/file"], 4, "'/no/such/file' cannot be started: No such file or directory"),
        (["true"], 5, f"the command (exit status 0) {READS_NONE}"),
        (["sh", "-c", f"unset PYTHONPATH; {PYTHON} -c 0"], 5, f"(exit status 0) {READS_NONE}"),
        (python("print(1)"), 5, f"the command (exit status 0) {IMPORTS_NONE}"),
        ([PYTHON, "-I", "a.py"], 4, f"python -I {SHUT_OUT}"),
        ([PYTHON, "-bEs", "a.py"], 4, f"python -E {SHUT_OUT}"),
        (["env", "-u", "A", "-i", PYTHON, "a.py"], 4, f"env -i {SHUT_OUT}"),
        (["--timeout", "3", "--", *python("import time; time.sleep(60)")], 2,
         "the command (no end after 3 s) had not imported JAX yet, in any of its processes"),
        (python("import os; os.kill(os.getpid(), 9)"), 2,
         "the command (ended by SIGKILL) had not imported JAX yet, in any of its processes"),
        (python("import os; os.kill(os.getpid(), 40)"), 2,
         "the command (ended by SIGRTMIN+6) had not imported JAX yet, in any of its processes"),
        (python("import gone, jax"), 2,
         f"{FAILS_EARLY}: ModuleNotFoundError: No module named 'gone'"),
        (["--until", "text:gone", "--", *python("import gone, jax")], 2, FAILS_EARLY),
        (python("print('=== no tests ran in 0.01s ===\\n====='); exit(1)"), 2,
         f"{FAILS_EARLY}: no tests ran in 0.01s"),
        (["--until", "value:(.*) 1", "--", *python("import gone, jax")], 2, FAILS_EARLY),
        (["sh", "-c", "echo gone; exit 3"], 2, "the command (exit status 3) had started no Python "
         "process yet that reads our start-up file: it starts no Python, or with -I"),
        (["--flip", "all", "--", "true"], 5, f"the command (exit status 0) {READS_NONE}"),
        (["--flip", "all", "--", "false"], 1, "(exit status 1) had started no Python process yet"),
        (["--flip", "none", "--", "true"], 0, ""),
        (["--until", "text:(", "--", "true"], 4, "'(' is no regular expression: missing )"),
        (["--until", "value:( 1", "--", "true"], 4, "'(' is no regular expression: missing )"),
        (["--until", "value:loss 1.2.3", "--", "true"], 4, "'value:loss 1.2.3' is no way to fail"),
        (["--until", "value:loss -1", "--", "true"], 4, "'value:loss -1' is no way to fail"),
        (["--until", "value:loss", "--", "true"], 4, "'value:loss' is no way to fail; write exit"),
        (["--flip", "everything", "--", "true"], 4, "'everything' names no sites; write all"),
        (["--reset", "echo gone >&2; false", "--", "true"], 4, "--reset ended with 1: gone"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_said_in_a_sentence(
    command: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    dashes = [] if "--" in command else ["--"]
    assert main(["bisect", "-q", *dashes, *command]) == code
    assert said in capsys.readouterr().err
    assert not list(tmp_path.glob(".constparity_cache/bisect*"))


def test_a_command_of_another_environment_is_named_with_the_one_that_was_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = tmp_path / "pytest"
    theirs.write_text("#!/bin/sh\necho no module jax\nexit 4\n")
    theirs.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert main(["bisect", "--", "pytest"]) == 2
    ours = Path(sys.executable).with_name("pytest")
    assert (
        f": no module jax (pytest is {theirs}; that of the environment of constparity is {ours})"
    ) in capsys.readouterr().err


@pytest.mark.parametrize("name", ["bisect", "sites"])
def test_an_option_of_a_command_without_dashes_before_it_is_told_of_them(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hint = f"  -> the command goes after --, as in `constparity {name} -- pytest"
    assert main([name, "pytest", "-k", "loss"]) == 4
    told = capsys.readouterr().err
    assert "no option -k\n" in told
    assert hint in told
    assert main([name, "-k", "--", "pytest"]) == 4
    assert hint not in capsys.readouterr().err


READS = """\
import jax, jax.numpy as jnp
table = jnp.ones(32)
assert jax.make_jaxpr(lambda x: x + table)(1.0).consts
"""


def test_a_number_that_no_site_has_any_more_does_not_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "reads.py"
    file.write_text(READS)
    command = ["--", PYTHON, "reads.py"]
    [number] = Runner(command[1:]).flipped(NONE).told.sites
    assert main(["bisect", "--flip", number, *command]) == 1
    assert "not flipped" not in capsys.readouterr().err
    file.write_text(f"# a line above it\n{READS}")
    assert main(["bisect", "--flip", f"{number[:9]},0-f", *command]) == 1
    assert main(["bisect", "--flip", number, *command]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"constparity: not flipped: {number}: the command met no such site; it has another number "
        "once a line above it is added or removed, so bisect again"
    )


def test_options_of_a_script_are_its_own() -> None:
    check_command([PYTHON, "-X", "dev", "train.py", "-I", "-E"])
    check_command([PYTHON, "-u", "-m", "tool", "-S"])
    check_command([PYTHON, "-Wignore::ImportWarning", "-XImporttime", "-mIPython"])


def test_more_output_than_is_kept_cannot_be_searched() -> None:
    ended = Runner(python("print('x' * (65 << 20) + 'end')")).flipped(NONE)
    assert (ended.cut, ended.status, ended.output[-4:]) == (True, 0, "end\n")
    with pytest.raises(CommandError, match="printed more than 64 MiB, and all of it would have"):
        Until.of("text:x").fails(ended, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("loss=1.5\n", "no number|nothing matches"),
        ("it is over", "nothing matches it in the output of a run"),
        ("done", "'' is no number in the output of a run"),
    ],
)
def test_a_value_that_is_not_there_is_said(text: str, said: str) -> None:
    ended = Runner(["printf", text]).flipped(NONE)
    with pytest.raises(CommandError, match=said):
        Until.of("value:loss=([a-z]*)|done 1").value(ended)


# -- what is left behind ---------------------------------------------------------------------------


def test_a_run_leaves_no_process_and_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"
    ended = Runner(python(code)).flipped(NONE)
    assert not list(tmp_path.iterdir())
    state = subprocess.run(["ps", "-o", "stat=", ended.output.strip()], capture_output=True)
    assert state.stdout.strip()[:1] in (b"", b"Z")  # gone, or not taken note of by its parent


def test_each_run_compiles_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "mine"))
    shown = python("import os; print(os.environ['JAX_COMPILATION_CACHE_DIR'])")
    folders = {Runner(shown).flipped(NONE).output for _ in range(2)}
    assert len(folders) == 2
    assert not any(str(tmp_path) in each for each in folders)


def test_what_an_earlier_run_left_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint"
    code = (
        f"import pathlib, sys; file = pathlib.Path({str(file)!r}); was_there = file.exists(); "
        "file.touch(); sys.exit(was_there)"
    )
    assert [Runner(python(code)).flipped(NONE).status for _ in range(2)] == [0, 1]
    runner = Runner(python(code), reset=f"rm -f {file}")
    assert [runner.flipped(NONE).status for _ in range(2)] == [0, 0]


# -- the start-up file -----------------------------------------------------------------------------


def test_the_users_own_start_up_file_runs_and_nothing_else_is_changed(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.mine = __name__, __file__\n")
    code = (
        "import sys; print(getattr(sys, 'mine', None), sys.path, 'jax' in sys.modules, "
        "'reports' in sys.modules)"
    )
    plain = {**os.environ, "PYTHONPATH": str(tmp_path)}
    switched = environment_of(tmp_path / "run", NONE)
    own, *_ = switched["PYTHONPATH"].split(os.pathsep)
    path = os.pathsep.join([own, str(tmp_path)])
    said = [
        subprocess.run(python(code), env=each, capture_output=True, text=True).stdout
        for each in (plain, {**switched, "PYTHONPATH": path})
    ]
    assert said[0] == said[1]
    assert str(tmp_path / "sitecustomize.py") in said[0]


STEP = """\
import linecache, os, pickle, unittest.mock
import jax, jax.numpy as jnp
assert pickle.loads(pickle.dumps(jax.jit)) is jax.jit
table = jnp.arange(32.0)
step = jax.jit(lambda x: x + table)
os.chdir("/")
with unittest.mock.patch("builtins.open"):
    step(1.0)
class Scale:
    def __call__(self, x):
        return x * table
jax.jit(Scale())(1.0)
jax.jit(lambda x: x - table)(1.0), jax.jit(lambda x: x / table)(1.0)
jax.make_jaxpr(lambda x: jax.jit(lambda x: x + table)(x))(1.0)
cell, name = "def doubled(x):\\n    return 2 * x + table\\n", "<ipython-input-1-8d1f>"
linecache.cache[name] = len(cell), None, cell.splitlines(True), name  # as IPython does
exec(compile(cell, name, "exec"))
jax.jit(doubled)(1.0)
"""


def test_what_a_command_does_to_its_process_hides_no_site_and_mixes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.py").write_text(STEP)
    ended = Runner([PYTHON, "step.py"]).flipped(NONE)
    captured = {
        "<lambda> at step.py:5": "float32[32] at step.py:5 (<lambda>)",
        "Scale at step.py:10": "float32[32] at step.py:11 (Scale.__call__)",
        "<lambda:18> at step.py:13": "float32[32] at step.py:13 (<lambda>)",
        "<lambda:53> at step.py:13": "float32[32] at step.py:13 (<lambda>)",
        "doubled at cell 8d1f:1": "float32[32] at cell 8d1f:2 (doubled)",
    }
    assert (ended.status, {site.words for site in ended.told.sites.values()}) == (
        0,
        {
            *(f"{array}, captured by {program}" for program, array in captured.items()),
            *(f"the form of the program {program}" for program in captured),
            "the form of the program <lambda:25> at step.py:14",
        },
    )
    codes = {site.line: site.code for site in ended.told.sites.values() if site.line in (2, 10)}
    assert codes == {2: "return 2 * x + table", 10: "def __call__(self, x):"}


IN_ANY_ORDER = """\
import threading
import jax, jax.numpy as jnp
tables = {f"table{n}": jnp.arange(20.0 + n) for n in range(8)}
def added(name):
    return jax.jit(lambda x: x + tables[name])(1.0)
for name in set(tables):
    threading.Thread(target=added, args=[name]).start()
jax.jit(lambda x: [x * tables[name] for name in set(tables)])(1.0)
print(list(set(tables)))
"""


def test_sites_are_the_same_whatever_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    found, orders = list[set[str]](), set[str]()
    for seed in "12":
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        ended = Runner(python(IN_ANY_ORDER)).flipped(NONE)
        orders.add(ended.output)
        found.append(set(ended.told.sites))
    assert (len(orders), len(found[0]), found[0] ^ found[1]) == (2, 2 + 2 * 8, set())


@pytest.mark.parametrize(
    "first", ["import engine", "from importlib import util; util.find_spec('jax')"]
)
def test_jax_is_switched_whatever_comes_before_its_import(first: str) -> None:
    code = (
        f"{first}\nimport jax, numpy as np; table = np.ones(32)\n"
        "print(len(jax.jit(lambda x: x + table).trace(1.0).jaxpr.consts))"
    )
    assert Runner(python(code)).flipped(Flips.of("all")).output == "0\n"


def test_a_package_of_the_users_with_a_name_of_ours_is_theirs(tmp_path: Path) -> None:
    for name in ("reports", "engine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"whose = 'the user, {name}'\n")
    code = "import engine, reports; print(engine.whose, reports.whose)"
    environment = environment_of(tmp_path / "run", NONE)
    done = subprocess.run(
        python(code), env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout == "the user, engine the user, reports\n"


def test_pytest_warns_of_nothing_that_was_imported_before_it(tmp_path: Path) -> None:
    """As where constparity is installed: pytest marks the packages of its plugins for rewriting."""
    (tmp_path / "conftest.py").write_text(
        "import pytest, sys\n"
        "assert 'parity_tests' in sys.modules\n"
        "pytest.register_assert_rewrite('parity_tests')\n"
    )
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    pytest_ = [PYTHON, "-m", "pytest", "-W", "error", "-p", "no:cacheprovider", str(tmp_path)]
    ended = Runner(pytest_).flipped(NONE)
    assert ended.status == 0, ended.output
