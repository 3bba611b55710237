"""A store gives back what was written, bit by bit, and lists it without reading the rows."""

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections import deque
from contextlib import closing

import pytest

from reports.output import json_file
from reports.rows import FlipVerdict, TimeSamples
from reports.rows.history import KEY_METRICS, Commit, RunBegin
from reports.rows.row import spelled_out
from reports.store import columns, database, reading, writing
from reports.store.database import StoreError


def safe(campaigns, name="safe"):
    verdict = FlipVerdict(left="jax-legacy", right="jax-simplified", outcome="safe", reasons=())
    return campaigns.parity(name).model_copy(update={"flip": verdict, "digest": "ab" * 32})


def begin(campaign, **changes):
    fields = {
        "started": "2026-11-01T10:00:00+00:00",
        "environment": campaign.environment,
        "sides": campaign.sides,
        "machine": "a machine",
        "planned": tuple(row.name for row in campaign.programs),
    }
    return RunBegin(**{**fields, **changes})


def store(path, campaign, *, finished=True, **changes):
    with writing.begun(path, begin(campaign, **changes)) as writer:
        for place, row in enumerate(campaign.programs):
            writer.put(place, row)
        if finished:
            writer.finish(campaign, {row.name: n for n, row in enumerate(campaign.programs)})
        return writer.run


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


@pytest.fixture
def rich(campaigns):
    return campaigns.campaign(*campaigns.rich().programs, safe(campaigns))


def test_a_run_is_given_back_bit_by_bit(path, rich):
    store(path, rich)
    assert json_file.render(reading.load_run(path, "last")) == json_file.render(rich)


def test_a_run_is_listed_with_what_it_was_measured_with(path, rich):
    commit = Commit("c0ffee" * 6, "2026-10-31T00:00:00+01:00", is_dirty=True)
    store(path, rich, commit=commit, settings={"rounds": "5"})
    [run] = reading.list_runs(path)
    assert (run.label, run.machine, run.commit, run.programs) == ("run 1", "a machine", commit, 4)
    assert run.environment == rich.environment
    assert run.settings == {"rounds": "5"}
    assert run.answers == {"yes": 1, "not known": 1}
    assert run.answer == "not known"
    assert run.question == spelled_out(rich.headline.question)
    assert str(commit) == "c0ffeec0ff+"


def test_the_columns_of_programs_are_read_as_they_were_written(path, rich):
    store(path, rich)
    [run] = reading.list_runs(path)
    assert reading.load_programs(path, run) == [columns.program_of(row) for row in rich.programs]


def test_samples_of_rounds_are_read(path, campaigns):
    samples = (TimeSamples(side="legacy", metric="call", seconds=(0.1, 1e-7, 0.30000000000000004)),)
    row = safe(campaigns).model_copy(update={"time_samples": samples})
    store(path, campaigns.campaign(row))
    [run] = reading.list_runs(path)
    assert reading.load_programs(path, run)[0].samples == samples


def test_other_tables_have_another_version(path):
    with database.opened_for_writing(path) as connection:
        tables = connection.execute("SELECT sql FROM sqlite_schema ORDER BY name").fetchall()
    digest = hashlib.sha256(repr(tables).encode()).hexdigest()[:8]
    assert (columns.VERSION, digest) == (7, "43d4b3b1")


def test_a_side_has_the_figures_of_key_metrics(campaigns):
    figures = columns.program_of(campaigns.parity()).sides["simplified"].figures
    assert figures["const args"] == 1
    assert figures["StableHLO bytes"] == 817
    assert figures.keys() <= set(KEY_METRICS.values())


def test_pairs_that_are_apart_besides_the_flip_are_kept(campaigns):
    def of_flip(left, right):
        flip = FlipVerdict(left=left, right=right, outcome="safe", reasons=())
        row = campaigns.difference().model_copy(update={"flip": flip})
        return columns.program_of(row).reasons

    assert of_flip("legacy", "simplified") == ()
    assert of_flip("jax-legacy", "jax-simplified") == (
        ("difference", "legacy and simplified: outputs"),
    )


def test_a_program_is_there_as_soon_as_it_is_put(path, rich):
    with writing.begun(path, begin(rich)) as writer:
        writer.put(3, rich.programs[3])
        writer.put(1, rich.programs[1])
        found = reading.load_run(path, "last")  # by another connection
    assert [row.name for row in found.programs] == ["overwritten_numpy", "safe"]
    assert found.not_run == ("matmul", rich.programs[2].name)
    [run] = reading.list_runs(path)
    assert (run.finished, run.programs, run.planned) == ("", 2, 4)
    assert not any(each.is_final for each in reading.load_programs(path, run))


def test_the_end_of_a_run_replaces_what_was_put(path, rich, campaigns):
    with writing.begun(path, begin(rich)) as writer:
        writer.put(3, campaigns.difference("safe"))
        writer.put(3, campaigns.difference("safe"))
        assert len(reading.load_run(path, "last").programs) == 1
        writer.put(9, campaigns.parity("not in the end"))
        writer.finish(rich, {row.name: n for n, row in enumerate(rich.programs)})
    [run] = reading.list_runs(path)
    programs = reading.load_programs(path, run)
    assert [each.verdict for each in programs][3] == "parity"
    assert all(each.is_final for each in programs)


def test_runs_are_found_by_number_and_from_the_last(path, rich):
    for _ in range(3):
        store(path, rich)
    assert [reading.find_run(path, each).id for each in ("2", "last", "last~2")] == [2, 3, 1]
    for unknown in ("4", "last~3", "first"):
        with pytest.raises(StoreError, match=r"has no run .*runs 1 to 3"):
            reading.find_run(path, unknown)


def execute(path, statement):
    """Change a store by hand."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


# -- versions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 6, 9])
def test_a_store_of_another_version_is_refused_and_stays_as_it_is(path, rich, version):
    store(path, rich)
    execute(path, f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    for use in (reading.list_runs, writing.check_store):
        with pytest.raises(StoreError, match=f"runs.db': it has version {version}, .*; use the co"):
            use(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["runs.db"]


@pytest.mark.parametrize(
    ("version", "what"),
    [
        (0, "it has version 0, which no constparity writes"),
        (-1, "it has version -1, which no constparity writes"),
    ],
)
def test_a_store_whose_version_is_not_of_its_tables_is_refused(path, rich, version, what):
    store(path, rich)
    execute(path, f"PRAGMA user_version = {version}")
    for use in (reading.list_runs, lambda path: writing.begun(path, begin(rich)).__enter__()):
        with pytest.raises(StoreError, match=f"{what}.*; something else has written to it"):
            use(path)
    with closing(sqlite3.connect(path)) as connection:
        assert database.version_of(connection) == version


def test_a_writer_stops_when_another_constparity_has_changed_its_store(path, rich):
    with writing.begun(path, begin(rich)) as writer:
        execute(path, "PRAGMA user_version = 9")
        with pytest.raises(StoreError, match="has made it version 9 in the meantime"):
            writer.put(0, rich.programs[0])


def test_rows_of_another_schema_are_refused(path, rich):
    store(path, rich)
    execute(path, "UPDATE runs SET schema_version = 5")
    with pytest.raises(StoreError, match=r"run 1 has rows of schema 5, and this .* reads 4"):
        reading.load_run(path, "1")


# -- faults ----------------------------------------------------------------------------------------


def test_a_file_that_is_no_database_is_named_and_stays(path):
    path.write_text("a text that is long enough to be looked at\n" * 50)
    before = path.read_bytes()
    for use in (reading.list_runs, writing.check_store):
        with pytest.raises(StoreError, match=r"runs.db': it is no SQLite database"):
            use(path)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_named_and_stays(path):
    execute(path, "CREATE TABLE theirs (a INTEGER)")
    before = path.read_bytes()
    for use in (reading.list_runs, writing.check_store):
        with pytest.raises(StoreError, match="it is a database of another program"):
            use(path)
    assert path.read_bytes() == before


def test_a_missing_store_is_not_made_by_a_reader(path):
    with pytest.raises(StoreError, match=r"there is no such file; keep runs in one with"):
        reading.list_runs(path)
    assert not path.exists()
    with pytest.raises(StoreError, match="it is a folder"):
        reading.list_runs(path.parent)


def test_an_empty_file_becomes_a_store(path, rich):
    path.touch()
    store(path, rich)
    assert len(reading.list_runs(path)) == 1


def test_a_damaged_page_is_told_and_other_runs_are_loaded(path, rich):
    store(path, rich)
    execute(path, "UPDATE rows SET row = substr(row, 1, 40) WHERE place = 2")
    with pytest.raises(StoreError, match=r"run 1 is damaged in it \(.*incomplete.*\); load"):
        reading.load_run(path, "1")
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"\xff" * 4096  # the page of the table of runs, or near it
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"runs.db': it is damaged .*move it away"):
        reading.list_runs(path)


def test_a_full_disk_is_told_and_what_was_committed_stays(path, rich):
    with writing.begun(path, begin(rich)) as writer:
        writer.put(0, rich.programs[0])
        [pages] = writer.connection.execute("PRAGMA page_count").fetchone()
        writer.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match=r"runs.db': the disk is full .*; make room"):
            deque(writer.put(place, rich.programs[2]) for place in range(1, 200))
        kept = len(reading.load_run(path, "last").programs)
        assert 1 <= kept < 200
        writer.connection.execute("PRAGMA max_page_count = 100000")
        writer.finish(rich, {row.name: n for n, row in enumerate(rich.programs)})
    assert json_file.render(reading.load_run(path, "last")) == json_file.render(rich)


# -- several processes -----------------------------------------------------------------------------

WRITER = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from reports.output import json_file
    from reports.rows.history import RunBegin
    from reports.store import writing

    path, source, mark = map(Path, sys.argv[1:4])
    campaign = json_file.load(source)
    [row] = campaign.programs
    begin = RunBegin("2026", campaign.environment, campaign.sides, planned=(row.name,))
    with writing.begun(path, begin) as writer:
        for place in range(int(sys.argv[4])):
            writer.put(place, row.model_copy(update={"name": f"program {place}"}))
            with mark.open("a") as told:
                told.write("x")
    """
)


def told_by(mark):
    """The number of programs that a writer says it has kept."""
    return len(mark.read_text()) if mark.exists() else 0


def start_writer(path, source, mark, count):
    command = [sys.executable, "-c", WRITER, *map(str, (path, source, mark, count))]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.getcwd()})


@pytest.fixture
def source(tmp_path, campaigns):
    file = tmp_path / "one.json"
    file.write_text(json_file.render(campaigns.campaign(safe(campaigns))), "utf-8")
    return file


def test_two_writers_at_once_lose_nothing(path, source, tmp_path):
    writers = [start_writer(path, source, tmp_path / f"mark {n}", 100) for n in range(2)]
    assert [each.wait(60) for each in writers] == [0, 0]
    runs = reading.list_runs(path)
    assert [run.programs for run in runs] == [100, 100]
    assert [len(reading.load_run(path, str(run.id)).programs) for run in runs] == [100, 100]


def test_a_killed_writer_loses_nothing_that_was_finished(path, source, tmp_path):
    mark = tmp_path / "mark"
    with start_writer(path, source, mark, 100_000) as writer:
        try:
            while told_by(mark) < 20:
                assert writer.poll() is None
                time.sleep(0.01)
        finally:
            writer.send_signal(signal.SIGKILL)
    told = told_by(mark)
    programs = reading.load_run(path, "last").programs
    assert len(programs) >= told >= 20
    assert [row.name for row in programs] == [f"program {n}" for n in range(len(programs))]


def test_a_reader_is_not_kept_waiting_by_a_writer(path, rich):
    store(path, rich)
    with database.opened_for_writing(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DELETE FROM runs")
        assert len(reading.list_runs(path)) == 1
        connection.execute("ROLLBACK")
