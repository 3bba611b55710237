"""Calls of many threads, and calls over many devices, beside stock JAX in the same mode.

    python tests/scripts/calls_together.py threads --turns 8
    python tests/scripts/calls_together.py devices --turns 8

`threads`: 16 threads each call a program of their own, which captures 4 arrays; seconds of a call.
`devices`: one program on all devices, 8 of a CPU, captures 8 sharded arrays of 1 MiB; seconds of
a call, and the bytes that its const args hold on the devices. Each turn has a fresh process of each
side, in one order and then in the other; ratios are taken turn by turn, with intervals of 95 %.
"""

import argparse
import functools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from parity_tests.judge.timing import PairedRatio

SIDES = ("legacy", "jax-legacy", "simplified", "jax-simplified")
THREADS, DEVICES, ARRAYS, SECONDS = 16, 8, 8, 2.0


def main() -> None:
    """Measure in fresh processes, and print a line for each mode."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=MEASURED)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--in-process", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        print(*MEASURED[options.what](options.in_process))
        return
    taken: dict[str, list[list[float]]] = {side: [] for side in SIDES}
    for turn in range(options.turns):
        for side in SIDES[:: 1 if turn % 2 else -1]:
            taken[side].append(_in_a_process(options.what, side))
    for mode in ("legacy", "simplified"):
        ours, stock = (np.array(taken[side]).T for side in (mode, f"jax-{mode}"))
        ratio = PairedRatio(stock[0], ours[0])
        interval = f"{ratio.ratio:.3f}x [{ratio.low:.3f}, {ratio.high:.3f}]"
        medians = [f"{1e6 * np.median(each):.4g}" for each in (ours[0], stock[0])]
        print(f"{mode}: {interval}, {medians[0]} µs a call against {medians[1]}", end="")
        held = [f"{each[1].max() / 2**20:.4g}" for each in (ours, stock) if len(each) > 1]
        print(f"; {' against '.join(held)} MiB on all devices" if held else "")


def _in_a_process(what: str, side: str) -> list[float]:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
    done = subprocess.run(
        [sys.executable, __file__, what, "--in-process", side],
        env={
            **os.environ,
            "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": str(int(side.endswith("simplified"))),
            "XLA_FLAGS": flags,
        },
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return [float(each) for each in done.stdout.split()]


def jitted(side: str, fun: Callable[..., Any]) -> Any:
    """Return a function as a side jits it."""
    import jax

    import engine

    return jax.jit(fun) if side.startswith("jax-") else engine.jit(fun, constants=side)


def of_threads(side: str) -> Iterator[float]:
    """Yield the seconds of a call, over all calls of all threads."""
    import jax.numpy as jnp

    x = jnp.ones(64)

    def program(arrays: list[Any], x: Any) -> Any:
        for each in arrays:
            x = x * each + 1
        return x

    calls = []
    for number in range(THREADS):
        arrays = [jnp.full(64, float(4 * number + n)) for n in range(4)]
        calls.append(functools.partial(jitted(side, functools.partial(program, arrays)), x))
        calls[-1]().block_until_ready()
    counts, begin, ends = [0] * THREADS, threading.Barrier(THREADS + 1), threading.Event()

    def call(number: int) -> None:
        begin.wait()
        while not ends.is_set():
            calls[number]().block_until_ready()
            counts[number] += 1

    threads = [threading.Thread(target=call, args=(n,)) for n in range(THREADS)]
    for each in threads:
        each.start()
    begin.wait()
    start = time.perf_counter()
    time.sleep(SECONDS)
    ends.set()
    for each in threads:
        each.join()
    yield (time.perf_counter() - start) / sum(counts)


def of_devices(side: str) -> Iterator[float]:
    """Yield the seconds of a call, and the bytes that captured arrays hold on the devices."""
    import jax
    from jax.sharding import NamedSharding, PartitionSpec

    from parity_tests.observe import device_buffers

    mesh = jax.make_mesh((len(jax.devices()),), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    placed = NamedSharding(mesh, PartitionSpec("x"))
    random = np.random.default_rng(0)
    x = jax.device_put(random.random((2**18,), np.float32), placed)
    before = device_buffers.alive()
    arrays = [jax.device_put(random.random(2**18, np.float32), placed) for _ in range(ARRAYS)]

    def program(x: Any) -> Any:
        for each in arrays:
            x = x * each + 1
        return x

    function = jitted(side, program)
    result = function(x).block_until_ready()
    calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        result = function(x).block_until_ready()
        calls += 1
    yield (time.perf_counter() - start) / calls
    yield device_buffers.due_to_constants(before, [result, x], arrays)


MEASURED: dict[str, Callable[[str], Iterator[float]]] = {
    "threads": of_threads,
    "devices": of_devices,
}

if __name__ == "__main__":
    main()
