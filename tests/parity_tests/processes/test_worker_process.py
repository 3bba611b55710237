"""The supervision loop on work that is made up: how much at once, and what is killed when."""

import os
import signal
import subprocess
import sys
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from parity_tests.evidence.folder_layout import (
    ProcessFiles,
    ProgramFiles,
    finished_programs,
    next_free,
)
from parity_tests.processes import worker_process
from parity_tests.processes.protocol import Step
from parity_tests.processes.side_environment import FOLDER
from parity_tests.processes.worker_process import Lost, Worker, crashed_at, supervise
from parity_tests.worker.handling import Desk, events

pytestmark = pytest.mark.fresh_workers


class Work:
    """Work that takes a number of polls; the `raises`-th is interrupted."""

    def __init__(self, polls, raises=0):
        self.left, self.raises = polls, raises
        self.polled, self.killed = 0, False

    @property
    def finished(self):
        return self.left == 0

    def poll(self):
        self.polled += 1
        if self.polled == self.raises:
            raise KeyboardInterrupt
        self.left -= 1

    def kill(self):
        self.killed = True


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(worker_process, "POLL_SECONDS", 0)


def test_work_is_polled_until_it_is_finished_and_no_more():
    work = [Work(3), Work(1), Work(2)]
    supervise(work)
    assert [each.polled for each in work] == [3, 1, 2]
    assert not any(each.killed for each in work)


def test_no_more_is_begun_than_may_be_at_once():
    long, short, waiting = Work(4, raises=3), Work(9), Work(1)
    with pytest.raises(KeyboardInterrupt):
        supervise([long, short, waiting], at_once=2)
    assert waiting.polled == 0


def test_an_interruption_kills_what_is_not_finished():
    finished, interrupted, begun, waiting = Work(1), Work(5, raises=2), Work(5), Work(1)
    with pytest.raises(KeyboardInterrupt):
        supervise([finished, interrupted, begun, waiting], at_once=3)
    assert [each.killed for each in (finished, interrupted, begun)] == [False, True, True]


@pytest.mark.parametrize(
    ("lost", "type_", "message", "last_words"),
    [
        (Lost("crash", "signal SIGSEGV", "run", "ouch"), "signal SIGSEGV", "ended", "ouch"),
        (Lost("timeout", "no result in 3 seconds", "run", "ouch"), "TimeLimit", "in 3 s", ""),
        (Lost("memory", "9 bytes resident", "run", "ouch"), "MemoryLimit", "9 bytes", ""),
    ],
)
def test_a_lost_process_is_the_failure_of_its_program(lost, type_, message, last_words):
    failure = lost.failure()
    assert (failure.kind, failure.stage, failure.traceback) == (lost.kind, "run", "ouch")
    assert failure.type == type_
    assert message in failure.message
    assert lost.last_words == last_words


def test_an_error_of_ours_that_ended_a_process_is_told():
    last = "parity_tests.jax_internals.PrivateNameError: jax 0.99.0 has no planted"
    lost = Lost("crash", "exit status 1", "import", f"Traceback (most recent call last):\n{last}\n")
    assert lost.failure().message == last


def test_a_lock_that_a_signal_left_taken_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(worker_process, "_REAP_SECONDS", 0.1)
    sleeps = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(sleeps, start_new_session=True) as process:
        process._waitpid_lock.acquire()  # as `poll` leaves it where a signal handler raises
        Worker(process, ProcessFiles(tmp_path)).kill()
        process._waitpid_lock.release()
    assert process.returncode == -signal.SIGKILL


def test_what_a_process_says_is_heard_once_in_whatever_letters(tmp_path):
    """Lines come in parts, and what a file is called may hold line ends of Unicode."""
    worker = Worker(SimpleNamespace(poll=lambda: None), ProcessFiles(tmp_path))
    step = Step(done=1, total=2, text="модель.py\u2028: größer 🙂")
    parts = [
        b"started 0\nstage \xd0", "модель.py\n".encode()[1:],
        f"step {step.model_dump_json()}\ndone 0\n".encode(), b"done 1\n",
    ]  # fmt: skip
    heard = []
    for part in parts:
        with open(worker.files.events, "ab") as events:
            events.write(part)
        heard.append((worker.stage, worker.listen()))
    assert [done for _, done in heard] == [[], [], [0], [1]]
    assert heard[2][0] == "модель.py"
    assert worker.step == step
    assert worker.listen() == []


def test_a_name_that_is_no_text_is_said_all_the_same(tmp_path):
    desk = Desk(ProcessFiles(tmp_path), SimpleQueue())
    with events(desk) as say:
        say("stage " + os.fsdecode(b"mod\xe8le.py"))
    worker = Worker(SimpleNamespace(poll=lambda: None), desk.files)
    worker.listen()
    assert worker.stage == "mod\\udce8le.py"


def test_a_process_gets_a_folder_of_its_own_and_its_programs_are_found(tmp_path):
    folders = [next_free(tmp_path / "legacy") for _ in range(2)]
    folders.append(next_free(tmp_path / "legacy", "serve-"))
    assert [each.name for each in folders] == ["1", "2", "serve-1"]
    for number, folder in enumerate(folders):
        files = ProgramFiles(folder, number)
        files.observation.touch()
        files.hazards.touch()
        (folder / "request.json").touch()
    assert sorted(each.number for each in finished_programs(tmp_path)) == [0, 1, 2]


HEAD = "Fatal Python error: Aborted\n\n"
MODEL = '  File "/home/user/model.py", line 12 in step\n'
JAX = f'  File "{sys.prefix}/lib/python3.11/site-packages/jax/_src/core.py", line 3 in bind\n'
OURS = f'  File "{FOLDER}/parity_tests/observe/stages.py", line 7 in build\n'


def thread(*frames, current=True):
    name = "Current thread 0x01" if current else "Thread 0x02"
    return f"{name} (most recent call first):\n{''.join(frames)}\n"


@pytest.mark.parametrize(
    ("log", "where"),
    [
        (HEAD + thread(MODEL), "/home/user/model.py:12"),
        (HEAD + thread(JAX, MODEL, OURS), "/home/user/model.py:12"),
        (HEAD + thread(MODEL, current=False) + thread(JAX, MODEL), "/home/user/model.py:12"),
        (HEAD + thread(JAX, OURS) + thread(MODEL, current=False), ""),
        ("printed\n" + thread(MODEL), ""),
        ("Fatal Python error", ""),
        ("", ""),
    ],
)
def test_the_innermost_line_of_the_user_is_named(log, where):
    assert crashed_at(log) == where
