"""The constant preamble on `cumsum, sort, c.T @ c`: what compiling and calling costs on each side.

    python benchmarks/preamble.py --columns 1024 --rounds 3
    python benchmarks/preamble.py --columns 192 --rounds 3 --sides jax-legacy,jax-simplified,auto

Each side of a round is a fresh process that compiles once and then calls for a while; the rounds go
forth and back through the sides. jax-legacy compiles for minutes with the 4 MiB of 1024 columns.
Prints a table and, with `--json FILE`, writes what was measured.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SIDES = ("jax-legacy", "jax-simplified", "legacy", "simplified", "auto")
# The metric, the sides that are compared, and what the ratio of the first to the second must reach.
TARGETS = (("compile", "auto", "jax-simplified", 1.5), ("call", "auto", "jax-legacy", 1.2))
CALLING_SECONDS = 1.0


def main() -> None:
    """Measure, print, and write what was measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--columns", type=int, default=128, help="the constant is square, float32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sides", default=",".join(SIDES))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--measure", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured(options.measure, options.columns)))
        return
    sides = options.sides.split(",")
    if unknown := set(sides) - set(SIDES):
        parser.error(f"--sides takes {', '.join(SIDES)}; got {', '.join(sorted(unknown))}")
    rows: list[dict[str, Any]] = []
    for number in range(options.rounds):
        for side in sides if number % 2 == 0 else sides[::-1]:
            rows.append(in_a_process(side, options.columns))
    print(table(rows, sides, options.columns))
    if options.json:
        temporary = options.json.with_suffix(".partial")
        temporary.write_text(json.dumps(rows, indent=1))
        temporary.replace(options.json)


def in_a_process(side: str, columns: int) -> dict[str, Any]:
    """Measure one side in a process that has JAX's flag as the side wants it."""
    flag = "1" if side == "jax-simplified" else "0"
    environment = os.environ | {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": flag}
    command = [sys.executable, __file__, "--measure", side, "--columns", str(columns)]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def measured(side: str, columns: int) -> dict[str, Any]:
    """Seconds to lower and compile, the median seconds of a call, and a sum of what it returns."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import engine

    captured = jnp.asarray(np.random.default_rng(0).normal(size=(columns, columns)), jnp.float32)

    def fun(x: Any) -> Any:
        c = jnp.sort(jnp.cumsum(captured, axis=0), axis=1)
        return x @ (c.T @ c)

    jit: dict[str, Any] = {
        "jax-legacy": jax.jit,
        "jax-simplified": jax.jit,
        "legacy": engine.jit(constants="legacy"),
        "simplified": engine.jit(constants="simplified"),
        "auto": engine.jit(constants="simplified", precompute_constants="auto"),
    }
    x = jnp.ones((1, columns), jnp.float32)
    jax.block_until_ready(jit[side](lambda x: x + 1)(x))  # what is started up once is no side's
    start = time.perf_counter()
    compiled = jit[side](fun).lower(x).compile()
    compile_seconds = time.perf_counter() - start
    start = time.perf_counter()
    result = jax.block_until_ready(compiled(x))
    first_call = time.perf_counter() - start
    calls = []
    while sum(calls) < CALLING_SECONDS or len(calls) < 3:
        start = time.perf_counter()
        jax.block_until_ready(compiled(x))
        calls.append(time.perf_counter() - start)
    return {
        "side": side,
        "compile": compile_seconds,
        "first call": first_call,
        "call": statistics.median(calls),
        "sum": float(np.asarray(result, np.float64).sum()),
    }


def table(rows: list[dict[str, Any]], sides: list[str], columns: int) -> str:
    """Medians by side, and the ratios that have a target, over the rounds: median, least, most."""
    metrics = ("compile", "first call", "call")
    by_side = {side: [row for row in rows if row["side"] == side] for side in sides}
    lines = [
        f"one captured array, float32[{columns},{columns}], {columns**2 * 4 / 2**20:.2f} MiB",
        f"{'':16}" + "".join(f"{metric + ' ms':>16}" for metric in metrics) + f"{'sum':>16}",
    ]
    for side, measurements in by_side.items():
        medians = [1000 * statistics.median(m[metric] for m in measurements) for metric in metrics]
        numbers = "".join(f"{median:16.3f}" for median in medians)
        lines.append(f"{side:16}{numbers}{measurements[0]['sum']:16.7g}")
    for metric, side, of, target in TARGETS:
        if side in by_side and of in by_side:
            pairs = zip(by_side[side], by_side[of], strict=True)
            ratios = sorted(left[metric] / right[metric] for left, right in pairs)
            lines.append(
                f"{metric} of {side} / {of}: {statistics.median(ratios):.3f} "
                f"[{ratios[0]:.3f}, {ratios[-1]:.3f}], to be at most {target}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
