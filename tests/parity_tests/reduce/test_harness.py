"""The harness of a written file finds in outputs what the judge finds, with NumPy alone."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from parity_tests.evidence import tolerance_ladder
from parity_tests.reduce import harness

INF, NAN = float("inf"), float("nan")

OUTPUTS = [
    ("float32", [1.0, 0.0], [1.0, 5e-7]),
    ("float32", [1.0, 1.0], [1.0, 1.00001]),
    ("float32", [1e-7], [2e-7]),
    ("float32", [1e-7, 1.0], [2e-7, 1.0]),
    ("float32", [NAN, INF], [NAN, INF]),
    ("float32", [NAN, 1.0], [1.0, 1.0]),
    ("float32", [INF, 1.0], [-INF, 1.0]),
    ("float32", [INF, 1.0], [INF, 1.0000008]),
    ("float32", [INF, 1e-7], [INF, 2e-7]),
    ("float64", [1.0], [1.0 + 1e-14]),
    ("bfloat16", [1.0], [1.0078125]),
    ("bfloat16", [1.0], [1.0625]),
    ("int32", [1_000_000_000], [1_000_000_001]),
    ("int64", [2**62], [2**62 + 1]),
    ("bool", [True], [False]),
    ("complex64", [1e3 + 0j], [1e3 + 0.0005j]),
    ("complex64", [1 + 1j], [1 + 2j]),
    ("complex64", [complex(-INF, 1)], [complex(-INF, 2)]),
    ("complex64", [complex(NAN, 1e3)], [complex(NAN, 1e3 + 0.0005)]),
    ("complex64", [complex(NAN, 1)], [complex(1, NAN)]),
]


def outputs(dtypes, arrays):
    """The facts and the raw outputs of a side, as a file has them."""
    raw = [np.frombuffer(each.tobytes(), np.uint8) for each in arrays]
    return {"output dtypes": dtypes}, raw


@pytest.mark.parametrize(("name", "left", "right"), OUTPUTS)
def test_a_file_finds_what_the_judge_finds(name, left, right):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    a, b = (np.array(each).astype(dtype) for each in (left, right))
    sides = [outputs([name], [each]) for each in (a, b)]
    tolerances = {name: tolerance_ladder.tolerance(dtype), "bfloat16": 1e-2}
    mismatch = tolerance_ladder.compare("", a, b).rung == "mismatch"
    assert bool(harness.compared(*sides, tolerances)) == mismatch
    assert bool(harness.compared(*sides, {})) == (a.tobytes() != b.tobytes())


def test_each_output_is_held_to_the_tolerance_of_its_own_dtype():
    names = ["bfloat16", "float32", "key<fry>"]
    halves, key = np.ones(3, ml_dtypes.bfloat16), np.arange(2, dtype=np.uint32)
    left = outputs(names, [halves, np.float32([1, 1]), key])
    right = outputs(names, [halves, np.float32([1, 1.001]), key * np.uint32(2)])
    found = harness.compared(left, right, {"bfloat16": 1e-2, "float32": 1e-6, "key<fry>": 0.0})
    assert found == [
        "output 1: 1 of 2 elements differ, by up to 0.000999 relative",
        "output 2: 1 of 8 elements differ, by up to 0.5 relative",
    ]


class UnreadableError(Exception):
    def __str__(self):
        raise LookupError


def test_an_exception_whose_text_cannot_be_read_is_named(tmp_path, monkeypatch):
    def program():
        raise UnreadableError

    monkeypatch.setattr(harness, "program", program)
    harness.observe("jax-legacy", tmp_path)
    facts = json.loads((tmp_path / "facts.json").read_text())
    assert facts["raised"] == (
        "UnreadableError: its text could not be read: __str__ raised LookupError"
    )


def test_a_file_that_constparity_judges_becomes_the_command(tmp_path):
    """Whoever kills the file kills the command: it is no child, which would live on."""
    (tmp_path / "parity_tests").mkdir()
    (tmp_path / "parity_tests" / "__init__.py").touch()
    # Stands for the command line: it says which process it is, and waits.
    (tmp_path / "parity_tests" / "cli.py").write_text(
        "import os, sys, time\nprint(os.getpid(), *sys.argv[1:], flush=True)\ntime.sleep(60)\n"
    )
    text = Path(harness.__file__).read_text("utf-8")
    file = tmp_path / "reduced.py"
    file.write_text(text.replace("SHOWS: dict[str, Any] = {}", f"SHOWS = {SHOWS!r}"))
    running = subprocess.Popen(
        [sys.executable, str(file)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        said = running.stdout.readline().split()
    finally:
        running.send_signal(signal.SIGKILL)
        running.communicate()
    assert said[0] == str(running.pid)
    assert said[1:] == ["run", f"{file}:program", "--sides", "jax-legacy,jax-simplified"]


SHOWS = {"metric": "judged by constparity"}
