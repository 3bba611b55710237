"""Standard output that ends early, and reports that go there."""

import json
import os
import subprocess
import sys

import pytest

import reports
from parity_tests.cli import app
from parity_tests.run import run as campaign


@pytest.fixture
def canned(monkeypatch, faults):
    """The planted campaign, as if it had been run."""
    monkeypatch.setattr(campaign, "run", lambda *args, **kwargs: faults)
    return faults


@pytest.fixture
def output(tmp_path, monkeypatch):
    """Standard output as a file, with what the process has written to it so far."""

    def of(file):
        stream = open(file, "w")  # noqa: SIM115 - a test's standard output
        monkeypatch.setattr(sys, "stdout", stream)
        return stream

    return of


class TestOutputThatIsLost:
    def test_a_closed_pipe_is_no_failure(self, canned, monkeypatch, capsys, tmp_path):
        """Reports are written, and the exit status is that of the rules."""
        reading, writing = os.pipe()
        os.close(reading)
        with open(writing, "w") as closed:
            monkeypatch.setattr(sys, "stdout", closed)
            assert app.main(["run", "x", "--report", f"json:{tmp_path}/r.json"]) == 1
            monkeypatch.undo()
        assert reports.load_campaign(tmp_path / "r.json").programs
        assert capsys.readouterr().err == ""

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
    @pytest.mark.parametrize("report", [[], ["--report", "json:-"]])
    def test_a_full_disk_is_said(self, canned, output, capsys, tmp_path, monkeypatch, report):
        with output("/dev/full"):
            arguments = ["run", "x", "--exit-zero", "--report", f"md:{tmp_path}/r.md", *report]
            assert app.main(arguments) == 3
            monkeypatch.undo()
        assert (tmp_path / "r.md").exists()
        said = capsys.readouterr().err
        assert "standard output does not take the results (No space left on device)" in said
        assert "Traceback" not in said

    def test_in_a_shell(self):
        """The whole process, whose streams Python flushes when it ends."""
        command = f"{sys.executable} -m parity_tests.cli run --help 2>&1 | head -1; echo $?"
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True
        )
        assert done.stdout.split()[-1] == "0"
        assert done.stderr == ""

    def test_no_output_at_all(self, canned, monkeypatch):
        monkeypatch.setattr(sys, "stdout", None)
        assert app.main(["run", "x"]) == 1


class TestReportsToStandardOutput:
    @pytest.mark.parametrize("format_", reports.FORMATS)
    def test_it_has_the_report_alone(self, canned, capsysbinary, format_, tmp_path):
        also = f"json:{tmp_path}/r.json"
        assert app.main(["run", "x", "--report", f"{format_}:-", "--report", also]) == 1
        captured = capsysbinary.readouterr()
        assert captured.out == reports.as_bytes(reports.render_report(format_, canned))
        assert b"flip: no." in captured.err
        assert f"report: {tmp_path}/r.json".encode() in captured.err

    def test_it_is_utf_8_in_every_locale(self, canned, tmp_path, monkeypatch):
        file = tmp_path / "out"
        with open(file, "w", encoding="ascii") as stream:
            monkeypatch.setattr(sys, "stdout", stream)
            app.main(["run", "x", "--report", "json:-"])
            monkeypatch.undo()
        assert json.loads(file.read_text("utf-8"))["programs"]

    def test_two_are_refused(self, monkeypatch, capsys):
        monkeypatch.setattr(campaign, "run", lambda *a, **k: pytest.fail("it ran"))
        assert app.main(["run", "x", "--report", "json:-", "--report", "md:-"]) == 4
        assert "two reports to standard output: json:- and md:-" in capsys.readouterr().err

    def test_results_are_not_saved_there(self, monkeypatch, capsys):
        monkeypatch.setattr(campaign, "run", lambda *a, **k: pytest.fail("it ran"))
        assert app.main(["run", "x", "--save", "-"]) == 4
        assert "--save -: name a file" in capsys.readouterr().err


def test_what_cannot_be_saved_is_printed_all_the_same(monkeypatch, faults, capsys, tmp_path):
    def run(*args, **kwargs):
        raise campaign.NotSavedError("cannot save the results to 'A.json' (disk full)", faults)

    monkeypatch.setattr(campaign, "run", run)
    arguments = ["run", "x", "--exit-zero", "--save", f"{tmp_path}/A.json"]
    assert app.main([*arguments, "--report", f"md:{tmp_path}/r.md"]) == 3
    captured = capsys.readouterr()
    assert "flip: no." in captured.out
    assert "constparity: cannot save the results to 'A.json' (disk full)" in captured.err
    assert (tmp_path / "r.md").exists()


def test_what_a_machine_refuses_is_said_without_a_traceback(monkeypatch, capsys):
    def run(*args, **kwargs):
        raise OSError(28, "No space left on device", "/tmp/kept/campaign.json")

    monkeypatch.setattr(campaign, "run", run)
    assert app.main(["run", "x", "--exit-zero"]) == 3
    said = capsys.readouterr().err
    assert said == "constparity: [Errno 28] No space left on device: '/tmp/kept/campaign.json'\n"


def test_a_working_directory_that_is_gone_is_named(monkeypatch, capsys, tmp_path):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert app.main(["compare", "A.json", "B.json"]) == 4
    assert capsys.readouterr().err == (
        "constparity: the working directory was removed; change to another one\n"
    )


def test_results_need_a_name(capsys):
    assert app.main(["run", "x", "--save", ""]) == 4
    assert "name a file, as in A.json" in capsys.readouterr().err
