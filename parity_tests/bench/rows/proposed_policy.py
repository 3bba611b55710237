"""Row 9: calls with the policy that `constparity tune` proposes, and without a policy."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.bench.contestants import jit
from parity_tests.bench.measuring import seconds_in_turns
from parity_tests.bench.pool import Measured, Pool, Row, Size
from parity_tests.program import Mark, Program
from reports.rows.bench import BenchLine, Contestant, Target

ELEMENTS: dict[Size, int] = {"quick": 64, "default": 2**16, "full": 2**20}
SAMPLES: dict[Size, int] = {"quick": 1, "default": 5, "full": 5}
HOISTED, PROPOSED = "a decay and a table, all hoisted", "as proposed"
CALL, INLINED = "seconds of a call", "arrays that are inlined"
NOT_SLOWER = Target(bound="at most", value=1.05)
ONE = Target(bound="exactly", value=1)  # XLA gains by knowing the decay, not the table
_COMPILE_FACTOR = 10.0  # XLA takes long to fold


def measure(contestant: Contestant, size: Size) -> Iterator[Measured]:
    """Let `tune` propose a policy, and call the program with it and without it."""
    if contestant != "simplified":
        return
    from parity_tests.experiments.tune import tune
    from reports.rows.experiments import TuneQuestion

    random = np.random.default_rng(0)
    decay = jax.device_put(random.random(ELEMENTS[size], np.float32))
    table = jax.device_put(random.random(16, np.float32))

    def fun(x: Any) -> Any:
        # XLA folds the first line where the decay is inlined, and nothing of the second.
        faded = x * jnp.sin(jnp.exp(-0.1 * decay))
        return faded.at[:16].add(table)

    x = jax.device_put(np.ones(ELEMENTS[size], np.float32))
    mark = Mark(args=(x,), kwargs={}, name=None, tags=())
    program = Program("decay", "", __file__, "", fun, mark)
    question = TuneQuestion(samples=SAMPLES[size], compile_factor=_COMPILE_FACTOR)
    proposal = tune(program, question).proposal
    calls = []
    for policy in (None, proposal or None):
        calls.append(functools.partial(jit(contestant, fun, constant_policy=policy), x))
        jax.block_until_ready(calls[-1]())
    taken = seconds_in_turns(calls, blocks=9, block_seconds=0.01)
    for case, of_case in zip((HOISTED, PROPOSED), taken, strict=True):
        yield case, CALL, "seconds", of_case
    inlined = sum(answer == "inline" for answer in proposal.values())
    yield PROPOSED, INLINED, "count", inlined


def judge(pool: Pool) -> Iterable[BenchLine]:
    """Compare the proposed policy with none."""
    yield pool.between((HOISTED, PROPOSED), CALL, "simplified", NOT_SLOWER)
    yield pool.count(PROPOSED, INLINED, "simplified", ONE, note="of 2")


ROW = Row(9, "a policy that is proposed", measure, judge)
