"""Two processes: an array that spans both is captured."""

import os
import socket
import subprocess
import sys

import pytest

import engine

SCRIPT = """
import sys
import jax
process, port, side = int(sys.argv[1]), sys.argv[2], sys.argv[3]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", 2, process, initialization_timeout=60)
print("initialized", file=sys.stderr)
import engine
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

mesh = jax.make_mesh((4,), ("i",), axis_types=(AxisType.Auto,))
sharding = NamedSharding(mesh, PartitionSpec("i"))
values = np.arange(64, dtype=np.float32)
captured = jax.make_array_from_callback((64,), sharding, lambda i: values[i])
x = jax.make_array_from_callback((64,), sharding, lambda i: np.ones(64, np.float32)[i])
f = engine.jit(lambda x: (x + captured).sum(), constants=side)
try:
    print([float(f(x)), float(f(x)), float(f.lower(x).compile()(x))], len(f.lower(x).const_args))
except RuntimeError as error:
    print(error)
jax.distributed.shutdown()
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_two_processes(side):
    """Run both processes; once more if another program took their port first."""
    done = run_once(side, free_port())
    if any("initialized" not in err.splitlines() for _, err in done):
        done = run_once(side, free_port())
    return [out.strip().splitlines()[-1] if out.strip() else err[-2000:] for out, err in done]


def run_once(side, port):
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(process), str(port), side],
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
