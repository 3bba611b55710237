"""What a closure of a known program takes from the second on, beside its trace and the manual way.

    python tests/scripts/closure_parts.py [CLOSURES]

For each program of row 5 of `constparity bench`: the median time of jitting and calling a closure
in simplified, of stock JAX's trace of such a closure alone, and of a call of one function that
takes the arrays as arguments. All three take turns, closure by closure, in one process.
"""

import functools
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import engine
from parity_tests.bench.rows import closures


def main() -> None:
    """Print a line for each program."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    x = jax.device_put(np.ones((8, closures.WIDTH), np.float32))
    for name, (fun, make) in closures.PROGRAMS.items():
        manual = jax.jit(fun)
        taken: dict[str, list[float]] = {}
        for number in range(count + 1):
            values = make(np.random.default_rng(number))
            # One for each, since JAX keeps the trace of a function.
            ours, stock = (functools.partial(fun, values) for _ in range(2))
            parts: dict[str, Callable[[], Any]] = {
                "closure": lambda fun=ours: engine.jit(fun, constants="simplified")(x),
                "trace": lambda fun=stock: jax.jit(fun).trace(x),
                "manual": functools.partial(manual, values, x),
            }
            for part, work in parts.items():
                start = time.perf_counter()
                done = work()
                if part != "trace":
                    jax.block_until_ready(done)
                taken.setdefault(part, []).append(time.perf_counter() - start)
        medians = {part: statistics.median(each[1:]) for part, each in taken.items()}
        found = [
            f"{part} {1e3 * each:.3f} ms, {each / medians['manual']:.1f}x of manual"
            for part, each in medians.items()
        ]
        print(f"{name}: {'; '.join(found)}")


if __name__ == "__main__":
    main()
