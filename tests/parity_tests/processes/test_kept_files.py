"""What a campaign keeps is believed where its digest is right."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from parity_tests.evidence import digests, values
from parity_tests.evidence.folder_layout import ProcessFiles, truth_files
from parity_tests.evidence.records import truth_of
from parity_tests.evidence.values import Value
from parity_tests.processes.kept_files import keep, kept, leaving, why_not_kept
from parity_tests.processes.protocol import write


def test_what_was_kept_is_read_again(tmp_path):
    keep(tmp_path / "drift.json", "why: \udcff")
    assert kept(tmp_path / "drift.json") == "why: \\udcff"
    keep(tmp_path / "drift.json", "another")
    assert kept(tmp_path / "drift.json") == "another"
    assert kept(tmp_path / "none.json") is None


def test_what_is_damaged_is_missing_and_said(tmp_path, caplog):
    file = tmp_path / "drift.json"
    keep(file, "the cause")
    file.write_text("the curse")
    assert kept(file) is None
    assert caplog.messages == [f"constparity: {file} is not what was written, so it is made again"]
    keep(file, "the cause")
    (tmp_path / "drift.json.sha256").unlink()
    assert kept(file) is None


@pytest.mark.parametrize("number", [errno.EBADF, errno.EMFILE])
def test_a_program_that_took_its_process_the_descriptors_is_no_full_folder(
    tmp_path, monkeypatch, number
):
    monkeypatch.setattr(os, "_exit", lambda status: pytest.fail(f"it ended with {status}"))
    files = ProcessFiles(tmp_path)
    with pytest.raises(OSError, match=os.strerror(number)), leaving(files):
        raise OSError(number, os.strerror(number))
    assert why_not_kept(files) == ""


def test_a_damaged_truth_is_none(tmp_path, caplog):
    files = truth_files(tmp_path, 3)
    files.folder.mkdir()
    values.save(files.truth, [Value("", np.ones(3))])
    write(files.seal, digests.seal([files.truth]))
    assert len(truth_of(tmp_path, 3)) == 1
    files.truth.write_bytes(files.truth.read_bytes()[:-9])
    assert truth_of(tmp_path, 3) == ()
    assert "so the arbiter is asked again" in caplog.text


@pytest.mark.parametrize("fails", ["write_bytes", "replace"])
def test_a_full_disk_leaves_no_half_file(tmp_path, monkeypatch, fails):
    def full(self, *args):
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, fails, full)
    with pytest.raises(OSError, match="No space"):
        write(tmp_path / "0.json", "text")
    if fails == "replace":
        with pytest.raises(OSError, match="No space"):
            values.save(tmp_path / "0.npz", [Value("", np.ones(3))])
    assert list(tmp_path.iterdir()) == []
