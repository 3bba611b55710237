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
