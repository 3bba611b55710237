"""An environment is there once its marker says that it is finished; removing begins with that."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from parity_tests.environments import store
from parity_tests.environments.store import MARKER, Environment, FolderLock


@pytest.fixture
def made(store_folder):
    """Make the folder of an environment, without packages; the marker is written on request."""

    def make(name, finished=True):
        environment = Environment(
            path=store_folder / name,
            requested="1a2b",
            jax="0.12.0.1",
            jaxlib="0.12.0.1",
            python_version="3.13.0",
            with_=("flax",),
            packages=("flax==0.12.8", "jax==0.12.0.1"),
            made=datetime(2026, 1, 1, tzinfo=UTC),
        )
        environment.python.parent.mkdir(parents=True)
        environment.python.touch()
        if finished:
            store.finish(environment)
        return environment

    return make


def test_the_folder_is_the_users_cache_unless_it_is_set(monkeypatch, tmp_path):
    assert store.store_folder() == tmp_path / "store"
    monkeypatch.delenv(store.FOLDER_VARIABLE)
    monkeypatch.setattr(store.sys, "platform", "linux")
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert store.store_folder() == Path("/cache/constparity/environments")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert store.store_folder() == Path("/home/me/.cache/constparity/environments")
    monkeypatch.setattr(store.sys, "platform", "darwin")
    assert store.store_folder() == Path("/home/me/Library/Caches/constparity/environments")


def test_a_folder_with_its_marker_is_finished(made):
    environment = made("one")
    assert store.finished(environment.path) == environment


def test_a_folder_without_marker_is_not_finished(made):
    assert store.finished(made("one", finished=False).path) is None


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]"])
def test_a_damaged_marker_is_none(made, text):
    path = made("one").path
    (path / MARKER).write_text(text)
    assert store.finished(path) is None


def test_a_copy_is_not_finished_for_its_scripts_are_the_originals(made):
    path = made("one").path
    copy = path.with_name("copy")
    shutil.copytree(path, copy)
    assert store.finished(copy) is None


def test_an_environment_whose_python_was_uninstalled_is_not_finished(made, tmp_path):
    environment = made("one")
    environment.python.unlink()
    environment.python.symlink_to(tmp_path / "uninstalled")
    assert store.finished(environment.path) is None


def test_removing_begins_with_the_marker(made, monkeypatch):
    """A remover that is killed half-way leaves nothing that is taken for finished."""
    path = made("one").path

    def killed(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(store.shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        store.remove(path)
    assert path.exists()
    assert store.finished(path) is None


def test_what_a_process_uses_is_not_removed(made, store_folder):
    path = made("one").path
    with FolderLock(path) as lock:
        lock.share()
        assert [each.is_held for each in store.kept(store_folder)] == [True]
        assert not store.remove(path)
        assert store.finished(path)
    assert [each.is_held for each in store.kept(store_folder)] == [False]
    assert store.remove(path)
    assert store.kept(store_folder) == []


def test_a_store_that_may_only_be_read_is_listed_and_its_environments_are_held(
    made, store_folder, monkeypatch
):
    def readable(file, mode="r"):
        if mode != "r":
            raise PermissionError(13, "Permission denied", str(file))
        return open(file, mode)

    made("a")
    (store_folder / ".a.lock").touch()
    monkeypatch.setattr(store, "open", readable, raising=False)
    with FolderLock(store_folder / "a") as lock:
        lock.share()
        [kept] = store.kept(store_folder)
        assert kept.is_held
    made("b")
    with pytest.raises(PermissionError):
        store.kept(store_folder)


def test_what_a_killed_maker_left_is_deleted_and_nothing_else(made, store_folder):
    made("finished")
    made("left", finished=False)
    with FolderLock(made("being_made", finished=False).path) as lock:
        lock.exclude()
        store.delete_abandoned(store_folder)
        assert [each.name for each in store.kept(store_folder)] == ["being_made", "finished"]


def test_an_empty_store_has_nothing(store_folder):
    assert store.kept(store_folder) == []
    assert store.environments(store_folder) == []
    store.delete_abandoned(store_folder)


def test_a_file_with_two_names_takes_its_bytes_once(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "one").write_bytes(bytes(1 << 16))
    once = store.size(folder)
    assert once >= 1 << 16
    (folder / "two").hardlink_to(folder / "one")
    assert store.size(folder) == once


def test_the_marker_is_readable_json(made):
    text = (made("one").path / MARKER).read_text()
    assert json.loads(text)["packages"] == ["flax==0.12.8", "jax==0.12.0.1"]
