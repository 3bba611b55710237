"""The commit of the user's repository, found from a target or from the working directory."""

import subprocess

import pytest
from system_programs import needed

from parity_tests.run.run import commit_of


@pytest.fixture
def git(tmp_path, monkeypatch):
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "a")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "a@b")
        monkeypatch.setenv(f"GIT_{name}_DATE", "2026-11-01T10:00:00+00:00")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    folder = tmp_path / "a repository"
    folder.mkdir()

    def run(*arguments):
        command = [needed("git"), "-C", folder, *arguments]
        done = subprocess.run(command, check=True, capture_output=True)
        return done.stdout.decode().strip()

    run("init", "-q")
    return run, folder


def test_the_commit_is_of_the_repository_of_the_target(git, monkeypatch, tmp_path):
    run, folder = git
    file = folder / "model.py"
    file.write_text("a = 1\n")
    monkeypatch.chdir(tmp_path)
    assert commit_of([f"{file}:step"]) is None  # without a commit
    run("add", ".")
    run("commit", "-qm", "first")
    found = commit_of([f"{file}:step"])
    assert (found.id, found.is_dirty) == (run("rev-parse", "HEAD"), False)
    assert found.date.startswith("2026-11-01T10:00:00")
    file.write_text("a = 2\n")
    assert commit_of([str(folder)]).is_dirty
    assert str(commit_of([str(folder)])) == found.id[:10] + "+"


def test_without_a_path_it_is_of_the_working_directory(git, monkeypatch, tmp_path):
    run, folder = git
    (folder / "model.py").touch()
    run("add", ".")
    run("commit", "-qm", "first")
    monkeypatch.chdir(folder)
    assert commit_of(["a_module:step"]) == commit_of([]) is not None
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "of another hook"))
    assert commit_of([]) is not None
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GIT_DIR")
    assert commit_of([]) is None


def test_without_git_there_is_no_commit(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert commit_of([]) is None
