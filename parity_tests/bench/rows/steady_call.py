"""Row 1: the time of a steady call, with few and many constants, and its Python frames: none."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from parity_tests.bench.contestants import SAME_MODE, bind, jit
from parity_tests.bench.measuring import python_frames, seconds_per_call
from parity_tests.bench.pool import Measured, Pool, Row, Size
from reports.rows.bench import BenchLine, Contestant, Target

CONSTANTS: dict[Size, Sequence[int]] = {
    "quick": (0, 3),
    "default": (0, 1, 10, 100, 500),
    "full": (0, 1, 10, 100, 500),
}
BLOCKS: dict[Size, int] = {"quick": 2, "default": 41, "full": 41}
BLOCK_SECONDS = 0.005
CALL, FRAMES = "seconds of a call", "Python frames"
WITHIN = Target(bound="at most", value=1.05)
NONE = Target(bound="exactly", value=0)


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Time calls by the number of constants, and count the frames of a second call."""
    for count in CONSTANTS[size]:
        bound = bind(contestant, _add_all, constants(count), (_argument(),))
        call = functools.partial(bound.jitted, *bound.args)
        jax.block_until_ready(call())
        taken = seconds_per_call(call, blocks=BLOCKS[size], block_seconds=BLOCK_SECONDS)
        yield f"{count} const args", CALL, "seconds", taken
    if contestant != "manual":
        for case, frames in _frames(contestant):
            yield case, FRAMES, "count", frames


def constants(count: int) -> list[jax.Array]:
    """Make different arrays above the embed threshold, 64 bytes each."""
    random = np.random.default_rng(0)
    return [jax.device_put(random.random(16, np.float32)) for _ in range(count)]


def _add_all(constants: Sequence[Any], x: Any) -> Any:
    """Read each constant once."""
    for each in constants:
        x = x + each
    return x * 2


def _argument(length: int = 16) -> jax.Array:
    """Make an argument of the programs of this row."""
    argument: jax.Array = jax.device_put(np.ones(length, np.float32))
    return argument


class _Model:
    """A class whose method is jitted with `self` static, as in JAX's FAQ."""

    def __init__(self) -> None:
        [self.weights] = constants(1)

    def apply(self, x: Any) -> Any:
        return x * self.weights


def _frames(contestant: Contestant) -> Iterator[tuple[str, int]]:
    """Call a function in each of four ways, and count the frames of the second call."""
    [table] = constants(1)
    x, matrix = _argument(), jax.device_put(np.ones((3, 16), np.float32))
    function = jit(contestant, lambda x: x + table)
    yield "jitted function", _second(functools.partial(function, x))

    # The class is made here: its attribute becomes a method, as by a decorator in the class body.
    model = type("Jitted", (_Model,), {"apply": jit(contestant, _Model.apply, static_argnums=0)})()
    yield "jitted method", _second(functools.partial(model.apply, x))

    several = jit(contestant, lambda x: x * table)
    calls = [functools.partial(several, each) for each in (x, matrix)]
    for call in calls:
        jax.block_until_ready(call())
    yield "several signatures", sum(python_frames(call) for call in calls)

    compiled = jit(contestant, lambda x: x - table).lower(x).compile()
    yield "Compiled", _second(functools.partial(compiled, x))


def _second(call: functools.partial[Any]) -> int:
    jax.block_until_ready(call())
    return python_frames(call)


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare each side with stock JAX in the same mode, and with the manual way."""
    for case in pool.cases(CALL):
        for ours, stock in SAME_MODE:
            yield pool.ratio(case, CALL, ours, stock, WITHIN)
        yield pool.ratio(case, CALL, "simplified", "manual")
    for case in pool.cases(FRAMES):
        for ours, stock in SAME_MODE:
            of_stock = pool.of(case, FRAMES, stock).max()
            note = f"{stock}: {of_stock:g}"
            yield pool.count(case, FRAMES, ours, NONE, note)


ROW = Row(1, "steady call", measure, judge)
