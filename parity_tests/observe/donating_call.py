"""The call of a program whose captured array is a donated argument as well, as its user makes it.

All other calls are given copies of donated arguments, because a call consumes them. So none of them
passes the buffer twice, which stock simplified refuses. This call does: the program is run with one
copy in both places, so that the array itself, which other programs may use, survives.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
from jax.extend import core

from parity_tests.jax_defaults import jax_defaults
from parity_tests.jaxpr.counts import JaxprFacts
from parity_tests.jaxpr.replace_captured import replace_captured
from parity_tests.observe.jit_on_side import jitted_on
from parity_tests.observe.stages import Built, Lowered


def donated_leaves(built: Built, lowered: Lowered) -> list[int]:
    """Return the numbers of the donated arguments among the leaves that are not static."""
    if not built.own.donates:
        return []
    infos = jax.tree.leaves(lowered.traced.args_info, is_leaf=lambda node: hasattr(node, "donated"))
    return [number for number, info in enumerate(infos) if info.donated]


def types_donated(built: Built, lowered: Lowered) -> set[Any]:
    """Return the shapes and dtypes of the donated arguments."""
    leaves = [built.inputs[number] for number in donated_leaves(built, lowered)]
    return {(tuple(leaf.shape), leaf.dtype) for leaf in leaves if hasattr(leaf, "dtype")}


def is_needed(built: Built, lowered: Lowered, facts: JaxprFacts) -> bool:
    """Say whether a captured array is a donated argument too."""
    donated = {id(built.inputs[number]) for number in donated_leaves(built, lowered)}
    return any(id(each.value) in donated for each in facts.captured)


def make(built: Built, lowered: Lowered) -> None:
    """Make the call. Raises what it raises."""
    numbers = donated_leaves(built, lowered)
    with jax_defaults():
        copies = {id(built.inputs[n]): built.inputs[n].copy() for n in numbers}

    def copy_of(value: Any) -> Any:
        return copies.get(id(value), value)

    program = core.jaxpr_as_fun(replace_captured(lowered.traced.jaxpr, copy_of))
    jitted = jitted_on(functools.wraps(built.own.fun)(program), built.side, donate_argnums=numbers)
    jax.block_until_ready(jitted(*map(copy_of, built.inputs)))
