"""Stock JAX after the flip transposes a captured operand of a product at every call.

Title: With simplified constants, XLA transposes a captured operand of dot_general at each call

A function that captures `kernel`, float32[257,128,255], and computes `einsum("tlm,tm->lm")` with it
batches over the last axis, so XLA needs the kernel as [255,257,128]. With
JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=0 the kernel is a literal, and XLA transposes it once, when it
compiles. With 1 it is an argument in a given layout, and every call transposes it anew:

    before the flip: 4.0 ms of the processors a call, temporaries of 0.4 MB
    after the flip: 41.5 ms of the processors a call, temporaries of 33.9 MB

(jax 0.10.2, CPU; 3.9 and 41.0 ms on 0.12.0.1; 2026-11-27.) s2fft's `forward_transform_jax` has
this line. It also converts the kernel to complex64, which is not the cause: a kernel that is
captured as complex64 costs as much. No jaxpr shows the transposition, for the equation is the same
in both modes; the optimised HLO has a `transpose` of a parameter that is a `constant` before.

For users: capture the array in the order that the product wants, batch axes first and contracted
axes side by side; `einsum("mtl,tm->lm")` of `moveaxis(kernel, 2, 0)` takes 5.1 ms after the flip.
For JAX: a const arg is the same array at each call, so its layout could be left to the compiler,
and the array be copied into it once. XLA's CPU backend returns the default layout where
`Layout.AUTO` is asked for (47 ms), so it would have to choose one.

Prints both figures on each side, and exits with 1 where the temporaries differ by the array.
"""

import os
import statistics
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

FLAG = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"
SHAPE = (257, 128, 255)
KERNEL = jnp.asarray(np.random.default_rng(0).normal(size=SHAPE), jnp.float32)


def program(x):
    """Multiply each column of `x` with its matrix."""
    return jnp.einsum("tlm,tm->lm", KERNEL, x)


def main():
    """Print what a call takes of the processors, and its temporaries, on the side at hand."""
    x = jnp.ones((SHAPE[0], SHAPE[2]))
    compiled = jax.jit(program).lower(x).compile()
    seconds = []
    for _ in range(10):
        start = time.process_time()
        compiled(x).block_until_ready()
        seconds.append(time.process_time() - start)
    print(statistics.median(seconds) * 1e3, compiled.memory_analysis().temp_size_in_bytes)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main()
        sys.exit()
    temporaries = []
    for when, flag in (("before", "0"), ("after", "1")):
        done = subprocess.run(
            [sys.executable, __file__, "side"],
            env={**os.environ, FLAG: flag},
            capture_output=True,
            text=True,
            check=True,
        )
        milliseconds, size = done.stdout.split()
        temporaries.append(int(size))
        print(
            f"{when} the flip: {float(milliseconds):.1f} ms of the processors a call, "
            f"temporaries of {int(size) / 1e6:.1f} MB"
        )
    sys.exit(temporaries[1] - temporaries[0] >= KERNEL.nbytes)
