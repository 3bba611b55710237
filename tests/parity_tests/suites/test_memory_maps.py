"""A process of tests that dies for want of memory maps: they are counted, and it is said."""

import os
import subprocess
import sys
import threading

import pytest

from parity_tests.suites import last_words
from parity_tests.suites.last_words import allowed, count_of, why_it_died


def test_memory_maps_of_a_process_are_counted_where_the_system_limits_them():
    limit = allowed()  # Linux says both
    assert (10 < count_of(os.getpid()) < limit) if limit else count_of(os.getpid()) == 0


def test_the_listener_starts_beside_a_module_of_the_users(tmp_path, monkeypatch):
    (tmp_path / "reports.py").touch()
    monkeypatch.chdir(tmp_path)
    with open(tmp_path / "said", "wb") as said:
        listener = last_words.Listener.start(tmp_path, "both", "legacy", said.fileno(), ())
        listener.dismiss()
    assert (listener.process.returncode, (tmp_path / "said").read_text()) == (0, "")


def test_the_listener_imports_no_records_where_nobody_dies(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    with open(tmp_path / "said", "wb") as said:
        last_words.Listener.start(tmp_path, "both", "legacy", said.fileno(), ()).dismiss()
    lines = (tmp_path / "said").read_text().splitlines()
    imported = {line.rpartition("|")[2].strip() for line in lines}
    assert "parity_tests.program" in imported
    assert imported.isdisjoint({"reports.rows", "pydantic"})


def test_the_last_words_of_a_process_name_its_memory_maps(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(last_words, "wait_for_end", lambda pipe, process: (b"", 64_900))
    monkeypatch.setattr("parity_tests.suites.last_words.allowed", lambda: 65_530)
    (tmp_path / "journals").mkdir()
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        last_words.main(tmp_path / "journals", "both", "legacy", ())
    said = capsys.readouterr().err
    assert "the process of the tests died before it could report" in said
    assert "not shadowed: it had 64,900 of the 65,530 memory maps" in said


def test_a_process_that_has_ended_has_none():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert count_of(child.pid) == 0


@pytest.mark.parametrize("word", [b"ends", b""])
def test_they_are_counted_until_the_process_ends(monkeypatch, word):
    counts, twice = iter((3, 7)), threading.Event()

    def count(process):
        found = next(counts, None)
        if found is None:
            twice.set()
        return found or 0

    monkeypatch.setattr("parity_tests.suites.last_words.count_of", count)
    ours, theirs = os.pipe()

    def end():
        twice.wait(60)
        os.write(theirs, word)
        os.close(theirs)

    process = threading.Thread(target=end)
    process.start()
    assert last_words.wait_for_end(ours, os.getpid(), seconds=0.001) == (word, 7)
    process.join()
    os.close(ours)


@pytest.mark.parametrize(
    ("most", "limit", "said"),
    [
        (64_900, 65_530, "it had 64,900 of the 65,530 memory maps that the system allows"),
        (58_977, 65_530, "it had 58,977"),
        (58_976, 65_530, ""),
        (64_900, 262_144, ""),
        (64_900, None, ""),
    ],
)
def test_it_is_said_where_nearly_all_were_taken(most, limit, said):
    why = why_it_died(most, limit)
    assert why.startswith(said)
    assert bool(why) is bool(said)
