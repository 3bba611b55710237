"""The call of a program whose captured array is a donated argument as well, as its user makes it.

All other calls are given copies of donated arguments, because a call consumes them. So none of them
passes the buffer twice, which stock simplified refuses. This call does: the program is run with one
copy in both places, so that the array itself, which other programs may use, survives. A program
that is not one jitted function is called as it is written instead (`as_written`), and so is one
whose donated argument only shares the memory of what it captured.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.extend import core

from parity_tests.jax_defaults import jax_defaults
from parity_tests.jaxpr.counts import JaxprFacts
from parity_tests.jaxpr.rewriting import replace_captured
from parity_tests.observe.device_buffers import Held
from parity_tests.observe.jit_on_side import jitted_on
from parity_tests.observe.stages import Built, Lowered

_ARRAYS = (jax.Array, np.ndarray)


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


def shares_memory(built: Built, lowered: Lowered, facts: JaxprFacts) -> bool:
    """Say whether a donated argument is another array in the memory of a captured one.

    What XLA makes of that depends on how the two came to share it, so no copy tells.
    """
    donated = [built.inputs[number] for number in donated_leaves(built, lowered)]
    others = {id(each) for each in donated}
    held = Held(donated)
    return any(each.value in held and id(each.value) not in others for each in facts.captured)


def make(built: Built, lowered: Lowered) -> None:
    """Make the call. Raises what it raises."""
    numbers = donated_leaves(built, lowered)
    donated = [built.inputs[number] for number in numbers]
    with jax_defaults():
        copies = {id(each): each.copy() for each in donated if isinstance(each, _ARRAYS)}

    def copy_of(value: Any) -> Any:
        return copies.get(id(value), value)

    closed = replace_captured(lowered.traced.jaxpr, copy_of)
    # Without the signature of the user's function, which takes trees: this one takes their leaves.
    fun = core.jaxpr_as_fun(closed)
    jitted = jitted_on(fun, built.side, donate_argnums=tuple(numbers))
    jax.block_until_ready(jitted(*map(copy_of, built.inputs)))
