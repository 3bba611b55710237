"""Two processes: an array that spans both is captured."""

import os
import subprocess
import sys

import pytest
from program_files import script_file
from relays import free_port

import engine


def run_two_processes(side):
    """Run both processes; once more if another program took their port first."""
    done = run_once(side, free_port())
    if any("initialized" not in err.splitlines() for _, err in done):
        done = run_once(side, free_port())
    return [out.strip().splitlines()[-1] if out.strip() else err[-2000:] for out, err in done]


def run_once(side, port):
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    script = script_file("array_over_two_processes")
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), str(process), str(port), side],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for process in range(2)
    ]
    try:
        return [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("side", engine.SIDES)
def test_an_array_that_spans_processes(side):
    """Simplified passes it; legacy would have to inline values that this process cannot see."""
    for line in run_two_processes(side):
        if side == "simplified":
            assert line == "[2080.0, 2080.0, 2080.0] 1"
        else:
            assert "Closing over jax.Array that spans non-addressable" in line
