"""The memory of a process that has compiled many programs, beside stock JAX in the same mode.

    python tests/scripts/resident_memory.py --programs 1000

Each contestant compiles the programs in a process of its own, and keeps them. Each program captures
two arrays. Prints what is resident at the end, and the ratios.
"""

import argparse
import gc
import os
import resource
import subprocess
import sys
from pathlib import Path

MODES = ("legacy", "simplified")


def main() -> None:
    """Measure in fresh processes, and print a line for each mode."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--in-process", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        print(resident(options.in_process, options.programs))
        return
    for mode in MODES:
        stock, ours = (_measured(each, options.programs) for each in (f"jax-{mode}", mode))
        print(f"{mode}: {ours / 2**20:,.0f} MiB, stock {stock / 2**20:,.0f}: {ours / stock:.3f}x")


def _measured(side: str, programs: int) -> int:
    done = subprocess.run(
        [sys.executable, __file__, "--programs", str(programs), "--in-process", side],
        env={
            **os.environ,
            "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": str(int(side.endswith("simplified"))),
        },
        check=True,
        stdout=subprocess.PIPE,
    )
    return int(done.stdout)


def resident(side: str, programs: int) -> int:
    """Compile so many programs on a side, and return the bytes that are resident then."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import engine

    jit = jax.jit if side.startswith("jax-") else engine.jit
    options = {} if side.startswith("jax-") else {"constants": side}
    x, kept = jnp.ones(8), []
    for number in range(programs):
        weights = jnp.full((8, 8), float(number))
        table = np.full(300, number, np.float32)

        def program(x, number=number, weights=weights, table=table):
            return jnp.tanh(x @ weights + number).sum() + table.sum() * x[0]

        kept.append(jit(program, **options))
        kept[-1](x).block_until_ready()
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    main()
