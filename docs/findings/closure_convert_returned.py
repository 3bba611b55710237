"""After the flip, a function that Equinox has converted returns fewer arrays from a jit.

Title: What filter_closure_convert returns from a jit holds captured arrays before the flip alone

`equinox.filter_closure_convert(f, x)` traces `f` and returns a module that holds the jaxpr, and
`closed.consts` as its arrays. Where it is returned from `equinox.filter_jit`, these are results of
the jitted function:

    before the flip: 1 array of (3, 3)
    after the flip: no array

With JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1, which JAX means to make the default, the jaxpr has no
constvars: the captured array stays in it as a Literal. What is called computes the same in both.
But the tree of results has other leaves: code that unflattens results of the one form with the
structure of the other, maps over them, differentiates or serialises them sees other arrays. So it
is in Lineax: `linear_solve` with a `JacobianLinearOperator` returns a `Solution` whose state has
such an operator, so that its jitted form has three results more before the flip.

`pytest --constparity=prove` on Lineax's tests names it ("its type was ... and is ..."), and so does
`constparity prove` on `converted` below, made by a factory.

Seen with equinox 0.13.8, lineax 0.1.1 and jax 0.10.2 and 0.12.0.1 on CPU, on 2026-11-30. Prints the
arrays of each side, and exits with 1 where they differ.
"""

import os
import subprocess
import sys

FLAG = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"


def main():
    """Return a converted function from a jit, and print the arrays that it holds."""
    import equinox
    import jax
    import jax.numpy as jnp

    weights = jnp.arange(9.0).reshape(3, 3)

    @equinox.filter_jit
    def converted(x):
        return equinox.filter_closure_convert(lambda y: weights @ y, x)

    arrays = jax.tree.leaves(equinox.filter(converted(jnp.ones(3)), equinox.is_array))
    shapes = " and ".join(str(each.shape) for each in arrays)
    print(f"{len(arrays)} array of {shapes}" if arrays else "no array")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main()
        sys.exit()
    seen = []
    for when, flag in (("before", "0"), ("after", "1")):
        done = subprocess.run(
            [sys.executable, __file__, "side"],
            env={**os.environ, FLAG: flag, "JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
            check=True,
        )
        seen.append(done.stdout.splitlines()[-1])
        print(f"{when} the flip: {seen[-1]}")
    sys.exit(seen[0] != seen[1])
