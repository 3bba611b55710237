"""Limits of time and memory, crashes and lost processes of a side."""

import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from program_files import program_file
from waiting import alive, await_

import parity_tests
from parity_tests.processes import listing, one_question, side_runs, worker_process
from parity_tests.processes.options import Limits, RunOptions
from parity_tests.processes.protocol import Job, ListPrograms
from parity_tests.processes.side_environment import (
    CACHE_OFF,
    JAX_CACHE,
    JAX_FLAG,
    OUR_FLAG,
    environment_of,
    with_our_packages,
)
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from parity_tests.targets import TargetError
from reports.rows import SIDES

pytestmark = pytest.mark.fresh_workers

ROOT = Path(parity_tests.__file__).parent.parent


def test_a_side_is_its_environment():
    flags = {side: environment_of(side, {"A": "b"})[JAX_FLAG] for side in SIDES}
    assert flags == {"legacy": "0", "simplified": "0", "jax-legacy": "0", "jax-simplified": "1"}


def test_what_the_user_has_set_does_not_reach_a_side():
    inherited = {
        OUR_FLAG: "1",
        JAX_FLAG: "1",
        "PYTHONPATH": "/somewhere",
        "A": "b",
    }
    environment = with_our_packages(environment_of("legacy", inherited))
    assert OUR_FLAG not in environment
    assert environment[JAX_FLAG] == "0"
    assert environment["A"] == "b"
    assert environment["PYTHONPATH"].split(os.pathsep)[1:] == ["/somewhere"]


@pytest.mark.parametrize(
    ("of_user", "handed_on"), [("0", True), ("False", True), ("1", False), (None, False)]
)
def test_the_cache_is_off_and_a_side_knows_whether_its_user_wants_that(of_user, handed_on):
    environment = environment_of("jax-legacy", {JAX_CACHE: of_user} if of_user else {})
    assert (environment[JAX_CACHE], CACHE_OFF in environment) == ("0", handed_on)


def test_a_program_that_walks_over_a_set_of_strings_is_the_same_on_every_side():
    file = program_file("walks_over_a_set")
    options = CampaignOptions(sides=("jax-legacy", "jax-simplified"), steady_calls=0)
    result = run.run([str(file)], options)
    [row] = result.programs
    assert (row.verdict, row.reasons) == ("parity", ())
    assert environment_of("legacy", {"PYTHONHASHSEED": "7"})["PYTHONHASHSEED"] == "7"


def test_a_process_that_cannot_start_is_given_up_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_process.sys, "executable", "/bin/false")
    jobs = [Job(number=n, name=f"p{n}", target="m:p") for n in range(3)]
    recorded = side_runs.run_sides(jobs, ["jax-legacy"], tmp_path, RunOptions(timeout=5))
    failures = [record.observation.failure for record in recorded.values()]
    assert [failure.stage for failure in failures] == ["start of the process"] * 3
    assert {failure.type for failure in failures} == {"exit status 1"}


def test_a_listing_that_dies_says_what_it_printed(tmp_path):
    file = tmp_path / "dies.py"
    file.write_text("import os\nprint('farewell', flush=True)\nos._exit(3)\n")
    with pytest.raises(TargetError, match=r"(?s)dies.py: exit status 3\nfarewell"):
        run.run([str(file)])


def test_a_process_that_ended_is_signalled_at_once_and_never_again(tmp_path, monkeypatch):
    signalled = []

    def killpg(pid, how):
        signalled.append(pid)
        (tmp_path / "go").touch()
        return os_killpg(pid, how)

    os_killpg = os.killpg
    monkeypatch.setattr(os, "killpg", killpg)
    python = tmp_path / "python"  # "waits" ends when what "ends" had started has been signalled
    python.write_text(
        '#!/bin/sh\ncd "$(dirname "$3")"\n'
        "while [ ${PWD##*/} = waits ] && [ ! -e ../go ]; do sleep 0.05; done\n"
    )
    python.chmod(0o755)
    monkeypatch.setattr(worker_process.sys, "executable", str(python))
    monkeypatch.setattr(worker_process, "START_SECONDS", 0)
    questions = []
    for name in ("ends", "waits"):
        (tmp_path / name).mkdir()
        questions.append(one_question.Asking(ListPrograms(), "legacy", tmp_path / name, Limits(60)))
    answers = one_question.ask_all(questions)
    assert [each.ending for each in answers] == ["exit status 0"] * 2
    assert len(signalled) == len(set(signalled)) == 2


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("how", "status"), [(signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_no_worker_outlives_its_parent(tmp_path, how, status):
    file = shutil.copy(program_file("sleeper"), tmp_path)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    command = [sys.executable, "-m", "parity_tests.cli", "run", str(file), "--sides"]
    parent = subprocess.Popen(
        [*command, "jax-legacy,jax-simplified"],
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        pid_file = tmp_path / "pid"
        text = await_(lambda: pid_file.exists() and pid_file.read_text())
        worker = int(text.rstrip("."))
        assert alive(worker)
        parent.send_signal(how)
        parent.communicate(timeout=180)
    finally:
        parent.kill()
        parent.communicate()
    assert parent.returncode == status
    await_(lambda: not alive(worker))
    if how != signal.SIGKILL:
        assert list(temporary.iterdir()) == []


def test_a_module_that_hangs_at_import_meets_a_limit(tmp_path, monkeypatch):
    def idle_seconds(worker):
        return math.inf if "godot" in worker.log_tail() else 0.0

    monkeypatch.setattr(worker_process.Worker, "idle_seconds", idle_seconds)
    module = tmp_path / "hanging_import.py"
    module.write_text("import time\nprint('waiting for godot', flush=True)\ntime.sleep(600)\n")
    with pytest.raises(
        listing.ListingError, match=r"hanging_import.py: no end in 61 seconds"
    ) as error:
        listing.list_programs([str(module)], tmp_path, Limits(1.0))
    assert "waiting for godot" in str(error.value)


def test_a_thread_that_does_not_end_keeps_no_answer_back():
    """The processes that list programs, run them and detect their hazards never end here."""
    file = program_file("endless_thread")
    started = time.monotonic()
    result = run.run([str(file)], CampaignOptions(sides=("jax-legacy",), steady_calls=0))
    assert time.monotonic() - started < worker_process.START_SECONDS
    works, ends = result.programs
    assert [each.observations[0].failure is None for each in (works, ends)] == [True, False]
    assert len(works.hazards) == len(ends.hazards) == 1


def test_a_program_that_takes_too_much_memory_is_given_up_and_the_next_one_runs(tmp_path):
    file = program_file("takes_memory")
    jobs = [
        Job(number=n, name=name, target=f"{file}:{name}")
        for n, name in enumerate(("hungry", "modest"))
    ]
    options = RunOptions(timeout=60, steady_calls=0, memory_limit=900 * 2**20)
    recorded = side_runs.run_sides(jobs, ["jax-legacy"], tmp_path, options)
    hungry, modest = (recorded[each.number, "jax-legacy"].observation.failure for each in jobs)
    assert (hungry.kind, hungry.stage) == ("memory", "trace")
    assert hungry.message.endswith("and the limit is 943,718,400")
    assert modest is None


def test_a_program_is_not_charged_for_those_before_it(tmp_path):
    """Memory that one keeps, and a crash in its background, befall the next one only once."""
    file = shutil.copy(program_file("leaves_something_behind"), tmp_path)
    names = ["keeps", "modest", "leaves_a_thread", "waits", "crashes"]
    jobs = [Job(number=n, name=each, target=f"{file}:{each}") for n, each in enumerate(names)]
    recorded = side_runs.run_sides(
        jobs,
        ["jax-legacy"],
        tmp_path,
        RunOptions(timeout=60, steady_calls=0, memory_limit=1000 * 2**20),
    )
    failures = [recorded[job.number, "jax-legacy"].observation.failure for job in jobs]
    assert failures[:-1] == [None] * 4
    assert (failures[-1].kind, failures[-1].type) == ("crash", "exit status 4")
    assert (tmp_path / "crashes").read_text() == "once once "
