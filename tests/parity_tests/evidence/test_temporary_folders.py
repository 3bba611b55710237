"""What a killed process leaves in the temporary folder is deleted by the next one that starts."""

import errno
import os
import subprocess
import sys
import tempfile

import pytest

from parity_tests.evidence import temporary_folders

HOLDS = """
import time
from parity_tests.evidence.temporary_folders import temporary_folder
with temporary_folder("cache-") as folder:
    (folder / "entry").write_text("of a cache")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def test_a_folder_is_left_alone_while_its_process_lives_and_deleted_when_it_was_killed(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True)
    try:
        folder = tmp_path / process.stdout.readline().strip()
        temporary_folders.delete_abandoned()
        assert (folder / "entry").exists()
    finally:
        process.kill()
        process.communicate()
    assert folder.exists()
    temporary_folders.delete_abandoned()
    assert list(tmp_path.iterdir()) == []


def test_folders_that_nobody_has_held_are_not_ours_to_delete(tmp_path):
    (tmp_path / "constparity-of_somebody").mkdir()
    (tmp_path / "constparity-being_made").mkdir()
    (tmp_path / "constparity-being_made" / ".held.part").touch()
    temporary_folders.delete_abandoned()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_ends_with_its_block(tmp_path):
    with temporary_folders.temporary_folder() as folder:
        assert folder.parent == tmp_path
        temporary_folders.delete_abandoned()
        assert folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_another_process_still_writes_is_deleted_by_the_next_start(tmp_path, monkeypatch):
    with monkeypatch.context() as patched, temporary_folders.temporary_folder() as folder:
        (folder / "late").write_text("of a worker that is being ended")
        patched.setattr(os, "rmdir", _directory_not_empty)
    assert folder.exists()
    temporary_folders.delete_abandoned()
    assert list(tmp_path.iterdir()) == []


def _directory_not_empty(path, **options):
    raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
