"""XLA:CPU reads memory that nothing wrote: stock JAX before the flip gives other numbers each run.

A product with a captured matrix of equal elements, on 16 rows or more, then `tanh` and `sum`: with
the flag off the result is 4.1, 4096 or NaN, from run to run, with it on 1026.255. On 8 rows both
give 513.127. Seen on CPU with jax 0.10.2 and 0.12.0.1. The script runs itself on each side, prints
what each gives, and exits with 1 where they differ.
"""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp

FLAG = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"
V = jnp.full((256, 256), 1e-3)


def program(x):
    """Sum the products."""
    return jnp.tanh(x @ V).sum()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(float(jax.jit(program)(jnp.ones((16, 256)))))
        sys.exit()
    said = [
        subprocess.run(
            [sys.executable, __file__, "side"],
            env={**os.environ, FLAG: flag},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for flag in "01"
    ]
    print(f"before the flip {said[0]}, after it {said[1]}")
    sys.exit(said[0] != said[1])
