"""A report is written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from reports import ReportPathError, check_writable, write_atomically


def everything_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def full_disk(monkeypatch):
    """Every replace fails as on a full disk, after the temporary file was written."""

    def replace(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", replace)


@pytest.fixture
def closed_folder(monkeypatch):
    """No file can be created anywhere. Permissions would not do: root passes them by."""

    def refuse(self, *arguments, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)


def test_check_creates_the_parent_folder_and_leaves_no_file(tmp_path):
    check_writable(tmp_path / "a" / "b" / "report.html")
    assert everything_below(tmp_path) == {"a", "a/b"}


def test_check_does_not_touch_an_existing_report(tmp_path):
    report = tmp_path / "report.html"
    report.write_text("from last time")
    before = (report.stat().st_mtime_ns, report.stat().st_ino)
    check_writable(report)
    assert report.read_text() == "from last time"
    assert (report.stat().st_mtime_ns, report.stat().st_ino) == before


@pytest.mark.parametrize("function", [check_writable, lambda path: write_atomically(path, "x")])
class TestRefusals:
    def message(self, function, path) -> str:
        with pytest.raises(ReportPathError) as raised:
            function(path)
        return str(raised.value)

    def test_a_folder(self, function, tmp_path):
        assert self.message(function, tmp_path) == (
            f"cannot write the report to '{tmp_path}': it is a folder; "
            f"name a file in it, such as '{tmp_path}/report.html'"
        )

    def test_a_parent_that_is_a_file(self, function, tmp_path):
        (tmp_path / "file").write_text("")
        path = tmp_path / "file" / "deeper" / "report.html"
        assert self.message(function, path) == (
            f"cannot write the report to '{path}': '{tmp_path}/file' is a file, not a folder; "
            "name a path below a folder"
        )
        assert everything_below(tmp_path) == {"file"}

    def test_a_device_is_not_replaced(self, function, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        assert "is not a regular file; name a file" in self.message(function, pipe)
        assert stat.S_ISFIFO(pipe.stat().st_mode)

    def test_a_name_that_is_too_long(self, function, tmp_path):
        assert "too long" in self.message(function, tmp_path / ("x" * 300))

    def test_a_closed_folder_keeps_no_new_folders(self, function, tmp_path, closed_folder):
        path = tmp_path / "a" / "b" / "report.html"
        assert self.message(function, path) == (
            f"cannot write the report to '{path}': the folder '{tmp_path}/a/b' does not take it "
            "(Permission denied); make room or permission there, or name a path in another folder"
        )
        assert everything_below(tmp_path) == set()

    def test_a_folder_that_cannot_be_created(self, function, tmp_path, monkeypatch):
        def refuse(self, *arguments, **options):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "mkdir", refuse)
        message = self.message(function, tmp_path / "a" / "report.html")
        assert f"the folder '{tmp_path}/a' cannot be created (Permission denied)" in message

    def test_a_file_without_write_permission(self, function, tmp_path, monkeypatch):
        report = tmp_path / "report.html"
        report.write_text("kept")
        # os.access grants root everything; the question is what becomes of a refusal.
        monkeypatch.setattr(os, "access", lambda path, mode: False)
        assert "the file exists and may not be written" in self.message(function, report)
        assert report.read_text() == "kept"


def test_write_makes_folders_and_leaves_only_the_report(tmp_path):
    write_atomically(tmp_path / "a" / "report.md", "≠ difference\n")
    assert everything_below(tmp_path) == {"a", "a/report.md"}
    assert (tmp_path / "a" / "report.md").read_bytes() == "≠ difference\n".encode()


def test_write_replaces_the_report_of_last_time(tmp_path):
    report = tmp_path / "report.md"
    write_atomically(report, "a long first report")
    write_atomically(report, "second")
    assert report.read_text() == "second"


def test_a_failed_write_keeps_the_last_report_and_nothing_else(tmp_path, full_disk):
    report = tmp_path / "report.md"
    report.write_text("from last time")
    with pytest.raises(ReportPathError, match="No space left on device"):
        write_atomically(report, "new")
    assert everything_below(tmp_path) == {"report.md"}
    assert report.read_text() == "from last time"


def test_a_failed_write_leaves_no_folder(tmp_path, full_disk):
    with pytest.raises(ReportPathError):
        write_atomically(tmp_path / "a" / "b" / "report.md", "new")
    assert everything_below(tmp_path) == set()


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "report.md", "new")
    assert everything_below(tmp_path) == set()


def test_a_link_keeps_pointing_at_the_report(tmp_path):
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "real.md").write_text("first")
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "reports" / "real.md")
    write_atomically(link, "second")
    assert link.is_symlink()
    assert (tmp_path / "reports" / "real.md").read_text() == "second"


def test_a_report_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    write_atomically(tmp_path / "report.md", "x")
    assert (tmp_path / "report.md").stat().st_mode == (tmp_path / "plain").stat().st_mode
