"""Saving fails as a whole or not at all, and says where and why."""

import os
import zipfile
from pathlib import Path

import pytest

from parity_tests.evidence import saved
from parity_tests.evidence.saved import Saved
from reports.rows import Campaign, ProgramRow
from tests.helpers.built_campaigns import ENVIRONMENT

CAMPAIGN = Campaign(
    created="2026-01-01T00:00:00+00:00",
    environment=ENVIRONMENT,
    sides=("legacy", "simplified"),
    programs=(
        ProgramRow(
            name="step", source="m.py:1", summary="", verdict="parity", reasons=(),
            observations=(), comparisons=(),
        ),
    ),
)  # fmt: skip


def below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_what_was_saved_is_read_again(tmp_path):
    saved.save(tmp_path / "A.json", CAMPAIGN, {})
    assert Saved.read(tmp_path / "A.json").campaign == CAMPAIGN
    assert below(tmp_path) == {"A.json", "A.json.arrays"}


@pytest.mark.parametrize("of", ["the archive", "the report"])
def test_a_full_disk_leaves_what_was_saved_before(tmp_path, monkeypatch, of):
    saved.save(tmp_path / "A.json", CAMPAIGN, {})
    before = {name: (tmp_path / name).read_bytes() for name in below(tmp_path)}
    opened, attempts = Path.open, []

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    def open_(self, mode="r", *args, **kwargs):
        attempts.append(self)
        if len(attempts) > 2:  # after the two files that are tried beforehand
            full()
        return opened(self, mode, *args, **kwargs)

    if of == "the archive":
        monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    else:
        monkeypatch.setattr(Path, "open", open_)
    with pytest.raises(OSError, match=r"'.*/A\.json' \(No space left on device\); make room"):
        saved.save(tmp_path / "A.json", CAMPAIGN, {})
    monkeypatch.undo()
    assert {name: (tmp_path / name).read_bytes() for name in below(tmp_path)} == before


def test_a_device_that_is_full_in_the_middle_leaves_nothing(tmp_path, monkeypatch):
    def replace(source, target):
        raise OSError(28, "No space left on device", str(source), None, str(target))

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match=r"A\.json' \(No space left on device\); make room"):
        saved.save(tmp_path / "A.json", CAMPAIGN, {})
    assert below(tmp_path) == set()


def test_a_folder_that_went_away_is_made_again(tmp_path):
    saved.save(tmp_path / "gone" / "A.json", CAMPAIGN, {})
    assert below(tmp_path) == {"gone", "gone/A.json", "gone/A.json.arrays"}


def test_evidence_that_went_away_is_named(tmp_path):
    lost = {"0/legacy.npz": Path("/campaign/legacy/1/0.npz")}
    with pytest.raises(OSError, match=r"No such file or directory: /campaign/legacy/1/0\.npz"):
        saved.save(tmp_path / "A.json", CAMPAIGN, lost)
    assert below(tmp_path) == set()
