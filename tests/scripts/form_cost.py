"""What a first call costs where the tracer emits the other form, and a pass makes the side's own.

    python tests/scripts/form_cost.py

One process. In each turn one program is called for the first time twice: as it is, and with a
tracer that emits the other form, so that `lift` or `sink` runs. Printed are the median of the
ratios of the turns, and the two medians in milliseconds of processor time; the target is 1.05.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import jax
import numpy as np
from jax import lax

import engine
from engine import jax_internals
from engine.runtime import executable_cache
from parity_tests.bench.rows.first_call import chain
from parity_tests.bench.rows.steady_call import constants

TURNS = 40


@contextlib.contextmanager
def other_form() -> Iterator[None]:
    """Let JAX's tracer emit the form of the other side within a block."""
    stock = jax_internals.form_of_jaxprs
    jax_internals.form_of_jaxprs = lambda simplified: stock(not simplified)
    try:
        yield
    finally:
        jax_internals.form_of_jaxprs = stock


def chained(equations: int, arrays: int) -> Callable[..., Any]:
    """Return a new function of equations on arrays in turns."""
    captured, program = constants(arrays), chain(equations)
    return lambda x: program(captured, x)


def in_bodies() -> Callable[..., Any]:
    """Return a new function that captures arrays in the bodies of scan, cond and jit."""
    a, b, c = constants(3)

    def program(x: Any) -> Any:
        x, _ = lax.scan(lambda carry, _: (carry * a + b, None), x, None, length=3)
        x = lax.cond(x[0] > 0, lambda v: v + a, lambda v: v * c, x)
        return jax.jit(lambda v: v + c)(x)

    return program


def seconds_of_first_call(fun: Callable[..., Any], side: Literal["legacy", "simplified"]) -> float:
    """Trace, lower, compile and run a function that was never seen."""
    executable_cache.forget()
    x = np.ones(16, np.float32)
    start = time.process_time()
    jax.block_until_ready(engine.jit(fun, constants=side)(x))
    return time.process_time() - start


def main() -> None:
    """Measure and print a line for each program and side."""
    programs: dict[str, Callable[[], Callable[..., Any]]] = {
        "10 equations, 10 arrays": lambda: chained(10, 10),
        "100 equations, 10 arrays": lambda: chained(100, 10),
        "100 equations, 100 arrays": lambda: chained(100, 100),
        "scan, cond and jit, 3 arrays": in_bodies,
    }
    for name, new in programs.items():
        for side in engine.SIDES:
            ratios, plain, passed = [], [], []
            for turn in range(TURNS):
                order = (0, 1) if turn % 2 else (1, 0)
                taken = [0.0, 0.0]
                for other in order:
                    with other_form() if other else contextlib.nullcontext():
                        taken[other] = seconds_of_first_call(new(), side)
                plain.append(taken[0])
                passed.append(taken[1])
                ratios.append(taken[1] / taken[0])
            quarters = statistics.quantiles(ratios, n=4)
            print(
                f"{name}, {side}: {statistics.median(ratios):.3f}x "
                f"(half of the turns within {quarters[0]:.3f} to {quarters[2]:.3f}), "
                f"{1e3 * statistics.median(passed):.2f} ms against "
                f"{1e3 * statistics.median(plain):.2f} ms"
            )


if __name__ == "__main__":
    main()
