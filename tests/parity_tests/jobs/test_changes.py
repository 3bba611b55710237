"""Diffs that git applies, and files that are written whole."""

from pathlib import Path

import pytest

from parity_tests.jobs.changes import Change, apply, diff_of


@pytest.mark.parametrize(
    "change",
    [
        Change(Path("new/file.yml"), None, "a\nb\n"),
        Change(Path("there.toml"), "a\nlast", "a\nlast\nb\n"),
        Change(Path("crlf.toml"), "a\r\n", "a\r\nb\r\n"),
    ],
    ids=lambda change: change.path.name,
)
def test_git_applies_the_diff_as_we_do(plant, git, change, tmp_path):
    files = {} if change.before is None else {str(change.path): change.before}
    by_git, by_us = plant(files, name="by_git"), plant(files, name="by_us")
    patch = tmp_path / "patch"
    patch.write_bytes(diff_of([change]).encode())
    git(by_git, "apply", str(patch))
    apply(by_us, [change])
    for folder in (by_git, by_us):
        assert (folder / change.path).read_bytes() == change.after.encode()


def test_a_file_that_changed_in_the_meantime_is_not_written_over(plant):
    folder = plant({"a": "of the user\n"})
    with pytest.raises(OSError, match="changed in the meantime"):
        apply(folder, [Change(Path("b"), None, "b"), Change(Path("a"), None, "ours")])
    assert [each.name for each in folder.iterdir()] == ["a"]
