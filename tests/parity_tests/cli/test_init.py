"""`constparity init`: shows a diff, asks once, and never writes over a file of the user."""

import io
import shlex
import shutil
import subprocess
import sys

import pytest
from doc_blocks import commands_of, excerpt
from system_programs import needed

from parity_tests.cli import app
from parity_tests.jobs import ProjectError, origin, proposals
from reports.output.files import ReportPathError

WORKFLOW = ".github/workflows/constparity.yml"


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    (folder / ".github").mkdir(parents=True)
    (folder / "test_model.py").touch()
    (folder / "pyproject.toml").write_text('[project]\nname = "p"  # ours\n')
    monkeypatch.chdir(folder)
    found = origin.Origin(("constparity==9.1",), "as installed from an index")
    monkeypatch.setattr(origin, "installed_origin", lambda: found)
    return folder


def files(folder):
    return {
        str(each.relative_to(folder)): each.read_bytes()
        for each in folder.rglob("*")
        if each.is_file()
    }


class Terminal(io.StringIO):
    """A terminal on which a user has typed."""

    def isatty(self):
        return True


def test_a_second_run_changes_nothing(project, capsys):
    assert app.main(["init", "--yes"]) == 0
    assert set(files(project)) == {"test_model.py", "pyproject.toml", WORKFLOW}
    assert f"wrote {WORKFLOW}" in capsys.readouterr().err
    before = files(project)
    assert app.main(["init", "--yes"]) == 0
    assert app.main(["init", "--diff"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "nothing is left to write" in captured.err
    assert files(project) == before


def test_a_diff_is_printed_alone_and_writes_nothing(project, capsys):
    before = files(project)
    assert app.main(["init", "--diff"]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith(f"--- /dev/null\n+++ b/{WORKFLOW}\n")
    rules = '"different", "placement", "new-failure", "not-compared", "not-proved:parted", '
    rules += '"not-proved:undecided"'
    assert f"+fail-on = [{rules}]\n" in captured.out
    assert 'CONSTPARITY: "constparity==9.1"' in captured.out
    assert 'run: ["jax-both", "both"]' in captured.out
    assert "tests        pytest  (test files)" in captured.err
    assert files(project) == before


def test_without_a_terminal_nothing_is_asked_and_nothing_written(project, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    before = files(project)
    assert app.main(["init"]) == 4
    captured = capsys.readouterr()
    assert captured.out.startswith("--- /dev/null")
    assert "say --yes" in captured.err
    assert files(project) == before


@pytest.mark.parametrize(("typed", "status"), [("y", 0), ("n", 1), ("", 1)])
def test_one_question_is_asked(project, monkeypatch, typed, status):
    monkeypatch.setattr(sys, "stdin", Terminal(f"{typed}\n"))
    assert app.main(["init"]) == status
    assert (WORKFLOW in files(project)) == (status == 0)


def test_both_ways_of_the_guide_write_the_same(project, tmp_path, monkeypatch, capsys):
    git = needed("git")
    asks, applies = commands_of(excerpt("guide-ci.md", "constparity init"))
    other = tmp_path / "other"
    shutil.copytree(project, other)
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert app.main(shlex.split(asks)[1:]) == 0
    capsys.readouterr()
    monkeypatch.chdir(other)
    app.main(shlex.split(applies)[1:])
    diff = capsys.readouterr().out
    subprocess.run([git, "apply"], input=diff, text=True, check=True)
    assert files(other) == files(project)
    assert WORKFLOW in files(other)


def test_files_of_the_user_stay(project, capsys):
    own = ".github/workflows/parity.yml"
    (project / own).parent.mkdir()
    (project / own).write_text("# runs constparity\n")
    (project / "pyproject.toml").write_text("[tool.constparity]\n")
    before = files(project)
    assert app.main(["init", "--yes"]) == 0
    assert files(project) == before
    assert f"{own} stays: it runs constparity" in capsys.readouterr().err


def test_gitlab_gets_a_file_of_ours_and_a_line(project, capsys):
    (project / ".gitlab-ci.yml").write_text("stages: [check]\n")
    assert app.main(["init", "--ci", "gitlab", "--yes"]) == 0
    assert 'stage: "check"' in (project / ".gitlab" / "constparity.yml").read_text()
    pipeline = (project / ".gitlab-ci.yml").read_text()
    assert pipeline == "stages: [check]\n\ninclude:\n  - local: /.gitlab/constparity.yml\n"
    assert not (project / WORKFLOW).exists()
    assert app.main(["init", "--ci", "gitlab", "--diff"]) == 0


def test_without_an_origin_the_job_needs_one_named(project, capsys, monkeypatch):
    def raises():
        raise ProjectError("a CI job cannot install this constparity")

    monkeypatch.setattr(origin, "installed_origin", raises)
    before = files(project)
    assert app.main(["init", "--yes"]) == 4
    assert "a CI job cannot install this constparity" in capsys.readouterr().err
    assert files(project) == before
    assert app.main(["init", "--diff", "--constparity", "--no-index ./constparity.whl"]) == 1
    captured = capsys.readouterr()
    assert 'CONSTPARITY: "--no-index ./constparity.whl"' in captured.out
    assert "--no-index ./constparity.whl  (--constparity)" in captured.err
    # As the error names it, and as README installs it: one argument of pip.
    assert (
        app.main(["init", "--diff", "--constparity", "constparity @ git+https://a.b/c@0123"]) == 1
    )
    assert 'CONSTPARITY: "constparity@git+https://a.b/c@0123"' in capsys.readouterr().out


def test_all_that_is_needed_is_said_at_once(project, capsys, monkeypatch):
    def raises():
        raise ProjectError("a CI job cannot install this constparity")

    monkeypatch.setattr(origin, "installed_origin", raises)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    (project / ".github").rmdir()
    assert app.main(["init"]) == 4
    first, *others = capsys.readouterr().err.splitlines()
    assert first == "constparity: a CI job cannot install this constparity"
    assert ["--ci github" in others[0], "--yes" in others[1], len(others)] == [True, True, 2]
    needed = ["--ci", "github", "--constparity", "constparity==9.1", "--yes"]
    assert app.main(["init", *needed]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--constparity", "'a"], "No closing quotation"),
        (["--constparity", ""], "name what pip installs"),
        (["gone"], "gone is no folder"),
        (["--ci", "jenkins"], "the systems are github, gitlab"),
        (["--yes", "--diff"], "say one of them"),
    ],
)
def test_bad_usage_is_said(project, capsys, arguments, said):
    before = files(project)
    assert app.main(["init", *arguments]) == 4
    assert said in " ".join(capsys.readouterr().err.split())
    assert files(project) == before


def test_a_folder_that_takes_no_file_leaves_nothing_half_written(project, capsys, monkeypatch):
    def write(path, content):
        raise ReportPathError(f"cannot write the report to {path}: disk full")

    before = files(project)
    monkeypatch.setattr(proposals, "write_atomically", write)
    assert app.main(["init", "--yes"]) == 4
    said = f"constparity: cannot write {WORKFLOW}: disk full"
    assert capsys.readouterr().err.splitlines()[-1] == said
    assert files(project) == before
