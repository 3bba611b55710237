"""What of a body is live: what the outputs that are used need, and what has an effect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

Used: TypeAlias = tuple[bool, ...]


@dataclass(frozen=True)
class Live:
    """The equations that are needed, with which of their results are used, and the inputs."""

    equations: tuple[tuple[Any, Used], ...]
    inputs: Used


def live(jaxpr: Any, used: Used) -> Live:
    """Return what of a jaxpr is needed for the outputs that are used, and for its effects.

    Example::

        live(jaxpr, (True, False)).inputs == (True, True, False)
    """
    needed = {id(atom) for atom, is_used in zip(jaxpr.outvars, used, strict=True) if is_used}
    kept = []
    for equation in reversed(jaxpr.eqns):
        outs = tuple(id(var) in needed for var in equation.outvars)
        if any(outs) or is_effectful(equation):
            kept.append((equation, outs))
            needed.update(map(id, equation.invars))
    return Live(tuple(reversed(kept)), tuple(id(var) in needed for var in jaxpr.invars))


def is_effectful(equation: Any) -> bool:
    """Say whether an equation does more than compute; to name an axis is no effect."""
    if equation.primitive.name == "rng_uniform":  # each time another number, which JAX calls pure
        return True
    return any(type(effect).__name__ != "NamedAxisEffect" for effect in equation.effects)


def live_in_loop(live_of: Callable[[Used], Live], consts: int, carry: int, used: Used) -> Used:
    """Return which outputs of the body of a loop are needed in some turn.

    `used` says which results are used after the loop; `consts` inputs of the body come before the
    carry.
    """
    while True:
        inputs = live_of(used).inputs[consts : consts + carry]
        needed = (*(a or b for a, b in zip(used, inputs, strict=False)), *used[carry:])
        if needed == used:
            return used
        used = needed
