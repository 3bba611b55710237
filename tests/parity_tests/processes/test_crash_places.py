"""The user's line of a crash is read from the text of Python's fault handler."""

import sys

import pytest

from parity_tests.processes.side_environment import FOLDER
from parity_tests.processes.worker_process import crashed_at

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
