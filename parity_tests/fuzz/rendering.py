"""Rendering: writes recipes as the source of a Python module that stands alone."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from parity_tests.fuzz.catalogue import CATALOGUE
from parity_tests.fuzz.construct import PRELUDE, ArrayText, Site
from parity_tests.fuzz.recipe import Block, Recipe, uses, walk

_IMPORTS = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
"""

_OUTSIDE = {
    "nothing": "fun",
    "grad": "jax.grad(lambda v: jnp.sum(jit(fun)(v)[0]))",
    "vmap": "lambda v: jax.vmap(jit(fun))(jnp.stack([v, -v]))",
    "jvp": "lambda v: jax.jvp(lambda u: jit(fun)(u)[0], (v,), (jnp.ones_like(v),))",
    "vjp": "lambda v: jax.vjp(lambda u: jit(fun)(u)[0], v)[1](jnp.ones_like(v))",
    "linearize": "lambda v: jax.linearize(lambda u: jit(fun)(u)[0], v)[1](jnp.ones_like(v))",
    "checkpoint": "jax.grad(lambda v: jnp.sum(jax.checkpoint(jit(fun))(v)[0]))",
}


def module(programs: Mapping[str, Recipe], header: str = "A generated program.") -> str:
    """Write a module with a factory for each program, under its name.

    A factory can be called without arguments and returns `(fun, args)`, as targets of
    `constparity run` do. Its `jit` is the jit around the program, within it and under its outer
    transformation.

    Example::

        file.write_text(module({"program": recipe}))    # constparity run FILE:program
    """
    parts = [f'"""{header}"""\n\n{_IMPORTS}\n{PRELUDE}']
    parts += [_program(name, recipe) for name, recipe in programs.items()]
    return "\n\n".join(parts)


def summary(recipe: Recipe) -> str:
    """List the constructs of a recipe, those with bodies first."""
    counted = Counter(piece.construct for piece in walk(recipe.pieces))
    names = sorted(counted, key=lambda name: (CATALOGUE[name].bodies == 0, name))
    around = "" if recipe.outside == "nothing" else f"; {recipe.outside} outside"
    return ", ".join(names or ["nothing"]) + around


def _program(name: str, recipe: Recipe) -> str:
    needed = uses(recipe)
    arrays = tuple(ArrayText(recipe, index) for index in range(len(recipe.captured)))
    made = [line for index in sorted(needed) for line in arrays[index].definition().splitlines()]
    returned = "".join(f", {arrays[index].name}" for index in recipe.returned)
    body = [
        *_block(recipe.pieces, arrays, recipe.size, 2, count(1)),
        f"return (x{returned or ','})",
    ]
    result = f"return jit({_OUTSIDE[recipe.outside]}), (draw(1000, {recipe.size}, {recipe.size}),)"
    docstring = textwrap.wrap(f'"""{summary(recipe)}."""', 92)
    inner = [*docstring, *made, "", "def fun(x):", *_indented(body), "", result]
    return "\n".join([f"def {name}(jit=jax.jit):", *_indented(inner)]) + "\n"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def _block(
    block: Block, arrays: tuple[ArrayText, ...], size: int, rank: int, numbers: Iterator[int]
) -> list[str]:
    """Write the statements of a block; the bodies of a piece are functions right before it."""
    lines = []
    for piece in block:
        construct = CATALOGUE[piece.construct]
        names = []
        for body in piece.bodies:
            names.append(f"f{next(numbers)}")
            inner = _block(body, arrays, size, 1 if construct.by_row else rank, numbers)
            lines += ["", f"def {names[-1]}(x):", *_indented([*inner, "return x"]), ""]
        site = Site(piece, arrays, rank, size, tuple(names), next(numbers))
        lines += construct.written(site).splitlines()
    return lines
