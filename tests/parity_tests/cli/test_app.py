"""What a command writes where, its exit status, and how it ends when it is interrupted."""

import json
import os
import signal
import subprocess
import sys

import pytest
from program_files import program_file, script_file

from parity_tests.cli import app
from parity_tests.evidence.saved import Saved, SavedError
from parity_tests.processes.interpreters import InterpreterError
from parity_tests.run import compare_saved
from parity_tests.run import run as campaign
from parity_tests.run.collection import SidesError
from parity_tests.run.folder import ResumeError
from parity_tests.run.selection import NameExpressionError
from parity_tests.targets import TargetError

STOCK = ["--sides", "jax-legacy,jax-simplified"]


@pytest.fixture
def canned(monkeypatch, faults):
    """The planted campaign, as if it had been run; `only` narrows it to some programs."""

    def only(*names):
        programs = tuple(row for row in faults.programs if row.name in names)
        result = faults.model_copy(update={"programs": programs})
        monkeypatch.setattr(campaign, "run", lambda *args, **kwargs: result)

    return only


def test_help_answers_without_jax_and_reports():
    script = script_file("help_of_run")
    assert subprocess.run([sys.executable, str(script)], check=False).returncode == 0


def test_a_campaign_that_judges_no_times_imports_no_scipy():
    command = [sys.executable, script_file("campaign_without_scipy"), program_file("good_programs")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize("command", ["run", "aa"])
def test_an_empty_name_of_a_folder_to_resume_is_an_error(command, capsys):
    assert app.main([command, "--resume", ""]) == 4
    assert "--resume" in (said := capsys.readouterr().err)
    assert "name a folder" in said


def test_the_version_is_printed(capsys):
    assert app.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("constparity ")


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["good", "last"], 0),
        (["good", "other_value"], 1),
        (["other_value", "exits"], 1),
        (["good", "exits"], 1),
        (["good", "raises"], 2),
    ],
)
def test_the_exit_status_follows_the_worst_finding(canned, names, code):
    canned(*names)
    assert app.main(["run", "x"]) == code
    assert app.main(["run", "x", "--exit-zero"]) == 0


def test_nothing_collected_has_its_own_status(canned, capsys):
    canned()
    assert app.main(["run", "empty.py", "--exit-zero"]) == 5
    assert "no programs in empty.py: mark functions with @program" in capsys.readouterr().err


def test_the_table_has_a_row_for_each_program_and_reasons(canned, capsys):
    canned("good", "other_value", "exits")
    app.main(["run", "x"])
    out = capsys.readouterr().out
    assert "flip: different; verdict: difference" in out
    assert "max rel 0.33" in out
    assert "fails on jax-simplified: crash in trace: exit status 7" in out
    assert "3 programs: 1 parity, 1 could not compare, 1 difference" in out


def test_a_report_is_written_and_named(canned, capsys, tmp_path):
    canned("good")
    path = tmp_path / "out.json"
    assert app.main(["run", "x", "--report", f"json:{path}"]) == 0
    assert json.loads(path.read_text())["programs"][0]["name"] == "good"
    assert f"report: {path}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--report", "json:/dev/null/out.json"],
        ["--report", "json:/"],
        ["--report", "papyrus:out"],
        ["--report", "out.html"],
        ["--sides", "legcay,simplified"],
        ["--sides", "legacy"],
        ["--sides", "legacy,legacy"],
        ["--timeout", "0"],
        ["--no-such-option"],
    ],
)
def test_bad_usage_is_said_before_anything_runs(monkeypatch, capsys, arguments):
    monkeypatch.setattr(campaign, "run", lambda *a, **k: pytest.fail("it ran"))
    assert app.main(["run", "x", "--exit-zero", *arguments]) == 4
    assert capsys.readouterr().err.strip()


@pytest.mark.parametrize("other", ["json:out", "html:./out", "html:sub/../out"])
def test_two_reports_to_one_file_are_bad_usage(monkeypatch, capsys, tmp_path, other):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(campaign, "run", lambda *a, **k: pytest.fail("it ran"))
    assert app.main(["run", "x", "--report", "html:out", "--report", other]) == 4
    assert "two reports to one file: html:out and" in capsys.readouterr().err


def test_a_misspelt_side_is_told_what_is_close(capsys):
    app.main(["run", "x", "--sides", "legcay,simplified"])
    assert "did you mean legacy" in " ".join(capsys.readouterr().err.split())


def test_an_unknown_command_is_usage():
    assert app.main(["walk"]) == 4


@pytest.mark.parametrize(
    "error",
    [InterpreterError, NameExpressionError, ResumeError, SavedError, SidesError, TargetError],
)
def test_what_the_user_has_to_fix_is_usage(capsys, monkeypatch, error):
    def run(*args, **kwargs):
        raise error("no module 'x'; name another")

    monkeypatch.setattr(campaign, "run", run)
    assert app.main(["run", "x", "--exit-zero"]) == 4
    assert "constparity: no module 'x'; name another\n" in capsys.readouterr().err


def test_a_missing_target_stops_a_real_run(capsys, good_file):
    assert app.main(["run", f"{good_file}:god", *STOCK]) == 4
    assert "has no 'god'; did you mean good?" in capsys.readouterr().err


def test_a_fault_of_ours_is_not_a_verdict(monkeypatch, capsys):
    def run(*args, **kwargs):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(campaign, "run", run)
    assert app.main(["run", "x", "--exit-zero"]) == 3
    assert "internal error" in capsys.readouterr().err


def test_a_report_that_is_lost_at_the_end_is_an_error(canned, monkeypatch, tmp_path, capsys):
    import reports

    def write(path, text):
        raise OSError("disk full")

    canned("good")
    monkeypatch.setattr(reports, "write_atomically", write)
    path = tmp_path / "out.json"
    assert app.main(["run", "x", "--exit-zero", "--report", f"json:{path}"]) == 3
    assert "disk full" in capsys.readouterr().err


def test_a_keyboard_interrupt_is_said_once_and_has_its_own_status(monkeypatch, capsys):
    def run(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(campaign, "run", run)
    monkeypatch.setattr(compare_saved, "compare", run)
    monkeypatch.setattr(Saved, "read", lambda path: path)
    goes_on = "; with --resume DIR a run goes on after this"
    for arguments, hint in (["run", "x"], goes_on), (["compare", "A.json", "B.json"], ""):
        assert app.main(arguments) == 130
        said = capsys.readouterr().err.splitlines()
        assert (said[-1], said.count(said[-1])) == (f"constparity: interrupted{hint}", 1)


def test_explain_prints_ledger_and_hazards_and_exits_as_run_does(canned, capsys):
    canned("good", "other_value")
    assert app.main(["explain", "x"]) == 1
    assert app.main(["explain", "x", "--exit-zero"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "): verdict: parity" in out
    assert "float32[77]" in out
    assert "folded" in out
    assert "hoisted" in out
    assert "flip: safe" in out
    assert "writeable NumPy array: " in out
    assert "no captured arrays" in out  # other_value


def test_explain_of_a_program_that_no_side_traced_knows_no_arrays(tmp_path, capsys):
    file = tmp_path / "raises.py"
    file.write_text(
        "import jax.numpy as jnp\nfrom parity_tests import program\nw = jnp.ones((4, 3))\n"
        "@program(args=(jnp.ones(5),))\ndef step(x):\n    return x @ w\n"
    )
    app.main(["explain", f"{file}:step"])
    out = capsys.readouterr().out
    assert "captured arrays: not known, for no side ran" in out
    assert "no captured arrays" not in out


def test_explain_needs_a_target(capsys):
    assert app.main(["explain"]) == 4
    assert "TARGET" in capsys.readouterr().err


def test_explain_of_nothing_has_its_own_status(canned):
    canned()
    assert app.main(["explain", "empty.py"]) == 5


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def number(request):
    """A signal that is not ignored, as nohup and a shell's background job have some of them."""
    is_int = request.param == signal.SIGINT
    before = signal.signal(request.param, signal.default_int_handler if is_int else signal.SIG_DFL)
    yield request.param
    signal.signal(request.param, before)


def test_an_import_that_a_signal_breaks_is_an_interruption(number, monkeypatch, capsys):
    def imports_numpy(*args, **kwargs):
        try:
            os.kill(os.getpid(), number)
        except KeyboardInterrupt:
            raise ImportError("numpy._core.multiarray failed to import") from None

    before = signal.getsignal(number)
    monkeypatch.setattr(app, "app", imports_numpy)
    assert app.main(["run"]) == 130
    assert capsys.readouterr().err == "constparity: interrupted\n"
    assert signal.getsignal(number) is before
