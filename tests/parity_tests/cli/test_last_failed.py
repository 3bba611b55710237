"""`--last-failed`: what failed is kept until it passes, and a damaged file is not used."""

import json

import pytest

from parity_tests.cli import last_failed


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


def row(rows, name, **changes):
    return rows["good"].model_copy(update={"name": name, "target": f"m.py:{name}", **changes})


def test_what_failed_is_kept_until_it_passes(rows, folder):
    f, g = row(rows, "f"), row(rows, "g")
    last_failed.remember([f, g], ["f", "g"], folder)
    assert last_failed.read(folder) == ("m.py:f", "m.py:g")
    last_failed.remember([f], [], folder)
    assert last_failed.read(folder) == ("m.py:g",)
    last_failed.remember([row(rows, "g", observations=())], [], folder)
    assert last_failed.read(folder) == ("m.py:g",)  # it was not run
    last_failed.remember([g], [], folder)
    assert last_failed.read(folder) == ()


def test_the_folder_is_a_cache_and_is_made_when_something_fails(rows, folder):
    last_failed.remember([row(rows, "f")], [], folder)
    assert not folder.exists()
    last_failed.remember([row(rows, "f")], ["f"], folder)
    assert sorted(each.name for each in folder.iterdir()) == [
        ".gitignore",
        "CACHEDIR.TAG",
        "last_failed.json",
    ]
    tag = (folder / "CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert "*" in (folder / ".gitignore").read_text().splitlines()


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1}', "\udcff"])
def test_a_damaged_file_is_named_and_not_used(folder, text, capsys):
    folder.mkdir()
    (folder / "last_failed.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert last_failed.read(folder) == ()
    assert "last" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_said(rows, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    last_failed.remember([row(rows, "f")], ["f"], tmp_path / "file")
    assert "cannot keep which programs failed" in capsys.readouterr().err


def test_what_is_kept_can_be_read_by_others(rows, folder):
    last_failed.remember([row(rows, "f")], ["f"], folder)
    assert json.loads((folder / "last_failed.json").read_text()) == ["m.py:f"]
