"""`constparity watch` as a process: it answers each save, outlives an error, and leaves nothing."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from doc_blocks import excerpt, says
from waiting import alive, await_

from parity_tests.cli import app

NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
COMMAND = [sys.executable, "-m", "parity_tests.cli", "watch"]
PROGRAM = """
import numpy as np

import helper_of_watched
from parity_tests import program

WEIGHTS = np.arange(7, dtype=np.float32)


@program(args=(np.float32(2.0),))
def {name}(x):
    return x * WEIGHTS
"""


class Server:
    """A server that watches one file, and what it has printed."""

    def __init__(self, folder: Path) -> None:
        self.file, self._printed = folder / "my_model.py", folder / "printed"
        self._saves = 0
        (folder / "helper_of_watched.py").touch()
        self.save(PROGRAM.format(name="step"))
        with open(self._printed, "wb") as printed:
            self.process = subprocess.Popen(
                [*COMMAND, self.file.name, "--sides", "jax-legacy,jax-simplified"],
                stdout=printed,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={name: value for name, value in os.environ.items() if name != NO_BYTECODE},
            )

    def save(self, text: str) -> None:
        """Save a text in the second of the save before: a compiled file of that one would do."""
        part = self.file.with_suffix(".part")
        part.write_text(text)
        self._saves += 1
        os.utime(part, ns=(0, 10**18 + self._saves))
        part.rename(self.file)

    def answer(self, number: int) -> str:
        """Return what was printed for one answer after the other, the first being 0."""
        end = "Ctrl-C ends it\n"

        def found() -> str:
            if self.process.poll() is not None:
                raise AssertionError(self._printed.read_text())
            *whole, _ = self._printed.read_text().split(end)
            return whole[number] + end if len(whole) > number else ""

        return await_(found)


@pytest.fixture
def server(tmp_path, interruptible):
    server = Server(tmp_path)
    yield server
    server.process.kill()
    server.process.wait()


def test_it_answers_each_save_until_it_is_interrupted(server):
    assert says(excerpt("guide-questions.md", "step (my_model"), server.answer(0))
    server.save("def (")
    assert "SyntaxError" in server.answer(1)
    server.save(PROGRAM.format(name="other"))
    assert "other (" in server.answer(2)
    (server.file.parent / "helper_of_watched.py").unlink()
    assert "No module named 'helper_of_watched'" in server.answer(3)
    server.file.unlink()
    assert "no file 'my_model.py'" in server.answer(4)
    assert "watching 0 files" in server.answer(4)
    (server.file.parent / "helper_of_watched.py").touch()
    assert "no file 'my_model.py'" in server.answer(5)
    server.save(PROGRAM.format(name="back"))
    assert "back (" in server.answer(6)
    children = psutil.Process(server.process.pid).children(recursive=True)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(60) == 130
    await_(lambda: not any(alive(each.pid) for each in children))


def test_a_target_that_names_nothing_is_a_wrong_use(capsys):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(NO_BYTECODE, "1")  # which the command sets
        assert app.main(["watch", "no_such_file.py"]) == 4
    assert "no file 'no_such_file.py'" in capsys.readouterr().err
