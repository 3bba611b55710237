"""Which files are looked at, and when one counts as saved."""

import json
import os

import pytest

from parity_tests.run import watched_files
from parity_tests.run.watched_files import WatchedFiles


class NothingSavedError(Exception):
    pass


@pytest.fixture
def model(tmp_path):
    file = tmp_path / "model.py"
    file.write_text("one")
    return file


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(watched_files, "POLL_SECONDS", 0)
    monkeypatch.setattr(watched_files, "_SETTLED_SECONDS", 0)


def is_saved(files):
    def nothing():
        raise NothingSavedError

    try:
        files.wait_for_save(nothing)
    except NothingSavedError:
        return False
    return True


def listed(folder, *files):
    (folder / "imported.json").write_text(json.dumps([str(each) for each in files]))
    return folder


@pytest.mark.parametrize("target", ["model.py", "model.py:step", "model.py::step"])
def test_a_saved_target_is_noticed_once(model, target):
    files = WatchedFiles([str(model.with_name(target))])
    assert not is_saved(files)
    model.write_text("other")
    assert is_saved(files)
    files.begin()
    assert not is_saved(files)


@pytest.mark.parametrize("save", ["in place", "by renaming", "removed"])
def test_all_ways_to_save_a_file_of_equal_size_are_noticed(model, save):
    files = WatchedFiles([str(model)])
    if save == "in place":
        model.write_text("two")
    elif save == "by renaming":
        model.with_suffix(".new").write_text("two")
        model.with_suffix(".new").rename(model)
    else:
        model.unlink()
    assert is_saved(files)


def test_a_file_that_was_imported_is_looked_at_too(model, tmp_path):
    helper = tmp_path / "helper.py"
    helper.write_text("")
    os.utime(helper, (1000, 1000))
    files = WatchedFiles(["model"])
    files.add_imported(listed(tmp_path, helper), begun=2000.0)
    assert not is_saved(files)
    assert len(files) == 1
    helper.write_text("x")
    assert is_saved(files)


@pytest.mark.parametrize("name", ["missing.py", "missing/__init__.py"])
def test_a_module_that_comes_is_noticed_and_its_next_save_is_not(tmp_path, model, name):
    module = tmp_path / name
    module.parent.mkdir(exist_ok=True)
    files = WatchedFiles([str(model)])
    module.write_text("")
    assert is_saved(files)
    files.begin()
    module.write_text("nobody imports it")
    assert not is_saved(files)
    assert len(files) == 1
    files.add_imported(listed(tmp_path, module), begun=0.0)
    assert is_saved(files)
    files.begin()
    assert len(files) == 2


def test_a_lock_of_emacs_is_no_module_that_comes(model):
    files = WatchedFiles([str(model)])
    model.with_name(f".#{model.name}").symlink_to("user@host.1:2")
    assert not is_saved(files)


def test_a_file_of_a_folder_that_is_imported_too_is_one_file(tmp_path, model, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    files = WatchedFiles([tmp_path.name])
    files.add_imported(listed(tmp_path, model), begun=0.0)
    assert len(files) == 1


def test_a_file_saved_while_it_was_imported_counts_as_saved(tmp_path):
    helper = tmp_path / "helper.py"
    helper.write_text("")
    os.utime(helper, (3000, 3000))
    files = WatchedFiles(["model"])
    files.add_imported(listed(tmp_path, helper), begun=2000.0)
    assert is_saved(files)


def test_a_new_file_in_a_folder_that_is_a_target_is_noticed(model):
    files = WatchedFiles([str(model.parent)])
    (model.parent / "notes.txt").write_text("")
    assert not is_saved(files)
    (model.parent / "more.py").write_text("")
    assert is_saved(files)


def test_installed_packages_below_a_folder_are_not_looked_through(model, monkeypatch):
    (model.parent / ".venv" / "lib").mkdir(parents=True)
    (model.parent / "site-packages").mkdir()
    (model.parent / "package").mkdir()
    looked_through, scandir = [], os.scandir
    monkeypatch.setattr(
        os, "scandir", lambda path=".": looked_through.append(str(path)) or scandir(path)
    )
    assert len(WatchedFiles([str(model.parent)])) == 1
    assert str(model.parent / "package") in looked_through
    assert not [each for each in looked_through if "site-packages" in each or "lib" in each]
