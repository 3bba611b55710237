"""The call of a program whose captured array is a donated argument as well, as its user makes it.

All other calls are given copies of donated arguments, because a call consumes them. So none of them
passes the buffer twice, which stock simplified refuses. This call does: the program is run with one
copy in both places, so that the array itself, which other programs may use, survives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend import core

from parity_tests.jax_defaults import jax_defaults
from parity_tests.jaxpr.captured_uses import captured_uses
from parity_tests.jaxpr.counts import JaxprFacts
from parity_tests.jaxpr.donating_jits import body_called_eagerly, donating_jits, is_jit
from parity_tests.jaxpr.interpreter import bind, evaluate
from parity_tests.jaxpr.replace_captured import replace_captured
from parity_tests.observe.device_buffers import Held
from parity_tests.observe.jit_on_side import jitted_on
from parity_tests.observe.stages import Built, Lowered
from reports.rows import Side

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
    """Say whether a captured array is a donated argument too, of the program or of a jit in it."""
    if built.own.is_own:
        donated = Held(built.inputs[number] for number in donated_leaves(built, lowered))
        return any(each.value in donated for each in facts.captured)
    return any(
        each.array.value in donated
        for jit in donating_jits(lowered.traced.jaxpr, built.inputs)
        for donated in [Held(jit.donated)]
        for each in captured_uses(jit.body)
    )


def make(built: Built, lowered: Lowered) -> None:
    """Make the call. Raises what it raises."""
    closed, numbers = lowered.traced.jaxpr, donated_leaves(built, lowered)
    donated = [built.inputs[number] for number in numbers]
    if not built.own.is_own:
        donated = [v for each in donating_jits(closed, built.inputs) for v in each.donated]
    with jax_defaults():
        copies = [(Held([each]), each.copy()) for each in donated if isinstance(each, _ARRAYS)]

    def copy_of(value: Any) -> Any:
        return next((copy for held, copy in copies if value in held), value)

    closed, inputs = replace_captured(closed, copy_of), [*map(copy_of, built.inputs)]
    if built.own.is_own:
        results = _jitted(closed, built.side, numbers)(*inputs)
    else:
        results = evaluate(closed, inputs, _Eagerly(built.side))
    jax.block_until_ready(results)


def _jitted(closed: Any, side: Side, donated: Sequence[int]) -> Any:
    # Without the signature of the user's function, which takes trees: this one takes their leaves.
    return jitted_on(core.jaxpr_as_fun(closed), side, donate_argnums=tuple(donated))


@dataclass(frozen=True)
class _Eagerly:
    """The domain of a call by its user: each outermost jit is called by itself, and donates."""

    side: Side

    def constant(self, value: Any, aval: Any) -> Any:
        return value

    def unbound(self, var: Any) -> Any:
        raise AssertionError(f"{var} has no value")

    def literal(self, literal: Any) -> Any:
        return literal.val

    def equation(self, equation: Any, operands: list[Any]) -> Sequence[Any]:
        params = equation.params
        if is_jit(equation):
            donated = [n for n, each in enumerate(params["donated_invars"]) if each]
            results: Sequence[Any] = _jitted(params["jaxpr"], self.side, donated)(*operands)
            return results
        body = body_called_eagerly(equation)
        return bind(equation, operands) if body is None else evaluate(body, operands, self)
