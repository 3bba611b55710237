"""Row 13: a program over several devices that captures sharded arrays."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from parity_tests.bench.contestants import SAME_MODE, bind
from parity_tests.bench.measuring import seconds_per_call
from parity_tests.bench.pool import Measured, Pool, Row, Size
from parity_tests.bench.rows.threads import multiply_all
from parity_tests.observe import device_buffers
from reports.rows.bench import BenchLine, Contestant, Target

DEVICES, ARRAYS = 8, 8  # of a CPU; an accelerator has the devices that it has
LENGTH: dict[Size, int] = {"quick": 2**10, "default": 2**18, "full": 2**18}
BLOCKS: dict[Size, int] = {"quick": 1, "default": 41, "full": 41}
BLOCK_SECONDS = 0.02
CALL, BYTES = "seconds of a call", "bytes of constants on all devices"
UNIQUE = "bytes of the unique arrays"
WITHIN = Target(bound="at most", value=1.05)


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Time a call, and count the bytes that its const args hold on all devices together."""
    devices = jax.devices()
    mesh = jax.make_mesh((len(devices),), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    placed = NamedSharding(mesh, PartitionSpec("x"))
    random, length = np.random.default_rng(0), LENGTH[size] // len(devices) * len(devices)
    x = jax.device_put(random.random(length, np.float32), placed)
    before = device_buffers.alive()
    arrays = [jax.device_put(random.random(length, np.float32), placed) for _ in range(ARRAYS)]
    bound = bind(contestant, multiply_all, arrays, (x,))
    call = functools.partial(bound.jitted, *bound.args)
    result = jax.block_until_ready(call())
    taken = seconds_per_call(call, blocks=BLOCKS[size], block_seconds=BLOCK_SECONDS)
    case = f"{ARRAYS} sharded arrays"
    yield case, CALL, "seconds", taken
    held = device_buffers.due_to_constants(before, [result, x], arrays)
    yield case, BYTES, "bytes", held
    yield case, UNIQUE, "bytes", sum(each.nbytes for each in arrays)


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare with stock JAX in the same mode; each shard is on its device once."""
    for case in pool.cases(CALL):
        for ours, stock in SAME_MODE:
            yield pool.ratio(case, CALL, ours, stock, WITHIN)
        once = Target(bound="exactly", value=pool.of(case, UNIQUE, "simplified").max())
        yield pool.count(case, BYTES, "simplified", once)


ROW = Row(13, "sharded arrays over devices", measure, judge, process="all cores", devices=DEVICES)
