"""A campaign with a store: programs are in it as soon as they are finished."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from program_files import program_file

from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.output import json_file
from reports.store import reading, writing
from reports.store.database import StoreError

STOCK = ("jax-legacy", "jax-simplified")


def options(path, **changes):
    fields = {"sides": STOCK, "steady_calls": 0, "timeout": 60, "store": path, "machine": "here"}
    return CampaignOptions(**{**fields, **changes})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs.db"


def test_programs_are_in_the_store_while_the_campaign_goes_on(path):
    seen = []

    def look(done, total, text):
        [found] = reading.list_runs(path)
        seen.append((found.programs, found.planned, bool(found.finished)))

    file = program_file("tagged_programs")
    result = run.run([str(file)], options(path), progress=look)
    total = len(result.programs)
    assert total > 1
    assert seen[0] == (0, total, False)
    assert any(0 < programs < total for programs, _, _ in seen)
    assert not any(finished for _, _, finished in seen)
    [found] = reading.list_runs(path)
    assert (found.programs, found.machine, bool(found.finished)) == (total, "here", True)
    assert found.settings["steady_calls"] == "0"
    assert found.question == result.headline.question
    assert json_file.render(reading.load_run(path, "1")) == json_file.render(result)


PROGRAMS = textwrap.dedent(
    """
    import time
    import jax.numpy as jnp
    import numpy as np
    from parity_tests.program import program

    WEIGHTS = np.arange(64.0, dtype=np.float32)

    @program(args=(jnp.ones(64),))
    def first(x):
        return x * WEIGHTS

    @program(args=(jnp.ones(64),))
    def second(x):
        time.sleep(600)
        return x
    """
)


def test_a_killed_campaign_loses_no_program_that_was_finished(path, tmp_path):
    file = tmp_path / "model.py"
    file.write_text(PROGRAMS)
    command = [sys.executable, "-m", "parity_tests.cli", "run", str(file), "--store", str(path)]
    command += ["--sides", ",".join(STOCK), "--timeout", "600"]
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with process:
        try:
            while not (path.exists() and path.stat().st_size and programs_in(path)):
                assert process.poll() is None
                time.sleep(0.1)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    found = reading.load_run(path, "last")
    assert ([row.name for row in found.programs], found.not_run) == (["first"], ("second",))
    assert found.programs[0].flip.outcome == "safe"


def programs_in(path):
    try:
        return sum(each.programs for each in reading.list_runs(path))
    except StoreError:  # it is being made
        return 0


def test_a_store_that_fails_leaves_the_campaign_and_is_told(path, good_file, monkeypatch, caplog):
    def full(*_):
        raise StoreError("the store 'runs.db': the disk is full")

    monkeypatch.setattr(writing.RunWriter, "put", full)
    result = run.run([str(good_file)], options(path))
    assert len(reading.load_run(path, "1").programs) == len(result.programs)  # at the end
    assert [each.message for each in caplog.records] == [
        "constparity: the store 'runs.db': the disk is full; the end of the run tries once more"
    ]
    monkeypatch.setattr(writing.RunWriter, "finish", full)
    save = path.with_name("A.json")
    with pytest.raises(run.NotSavedError, match="the disk is full") as raised:
        run.run([str(good_file)], options(path, save=save))
    assert raised.value.has_file
    assert len(raised.value.campaign.programs) == len(result.programs)
    assert save.exists()


def test_with_x_the_programs_that_were_judged_are_kept(path, tmp_path):
    file = tmp_path / "quick_and_endless.py"
    file.write_text(
        "import time\n"
        "from parity_tests import program\n"
        "@program(args=(1.0,))\n"
        "def quick(x):\n"
        "    return x + 1\n"
        "@program(args=(1.0,))\n"
        "def endless(x):\n"
        "    time.sleep(3600)\n"
    )
    result = run.run([str(file)], options(path), stops_after=lambda row: True)
    found = reading.load_run(path, "last")
    assert json_file.render(found) == json_file.render(result)
    assert [row.name for row in found.programs] == ["quick"]
    assert found.not_run == ("endless",)


def test_nothing_is_run_with_a_store_that_cannot_be_used(path, good_file):
    path.write_text("a text, and no database, that is long enough to be looked at" * 20)
    with pytest.raises(StoreError, match="it is no SQLite database"):
        run.run([str(good_file)], options(path), progress=lambda *step: pytest.fail("it ran"))
