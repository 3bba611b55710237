"""Refuse programs that neither pipeline can lower, with a clear error before JAX fails.

XLA's reducers compute on scalars and have no other inputs, so a reducer that captured an array
cannot be lowered. Stock JAX ends in a bare AssertionError in one mode and in an MLIR verifier error
in the other (jax 0.10.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from engine import jax_internals
from engine.ir.jaxprs import (
    Body,
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    bodies_in,
    bodies_of,
    consts_of,
    contents_of,
)

REDUCERS = frozenset({"reduce", "reduce_window"})


def refuse_unsupported(closed_jaxpr: ClosedJaxpr, is_hoisted: Callable[[Any], bool]) -> None:
    """Raise NotImplementedError if a reducer captured an array that would be passed to it.

    `is_hoisted` says which arrays are passed; all others are inlined into the reducer.
    """
    if not contents_of(closed_jaxpr).nested:
        return
    for outer in bodies_in(closed_jaxpr):
        for eqn, bodies in contents_of(outer).nested:
            if eqn.primitive.name in REDUCERS:
                for body in bodies:
                    _check_reducer(eqn, body, is_hoisted)


def _check_reducer(eqn: JaxprEqn, body: Body, is_hoisted: Callable[[Any], bool]) -> None:
    for value in _arrays(body, is_hoisted):
        frames = jax_internals.user_frames(eqn.source_info, 1)
        where = f" at {frames[0][0]}:{frames[0][1]} ({frames[0][2]})" if frames else ""
        raise NotImplementedError(
            f"the computation of `{eqn.primitive.name}`{where} captured an array, "
            f"{jax_internals.typeof(value).str_short()}; a reducer computes on scalars alone. "
            "Compute the values it needs before the reduction, or write it with lax.scan."
        )


def _arrays(body: Body, is_hoisted: Callable[[Any], bool]) -> Iterator[Any]:
    yield from consts_of(body)
    for eqn in body.eqns:
        for atom in eqn.invars:
            if isinstance(atom, Literal) and is_hoisted(atom.val):
                yield atom.val
        for inner in bodies_of(eqn):
            yield from _arrays(inner, is_hoisted)
