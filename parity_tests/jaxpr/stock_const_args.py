"""The const args of stock JAX: one for each Literal, in the order in which JAX passes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from jax.extend import core

from parity_tests.jaxpr.bodies import bodies_of, inner


def stock_const_args(jaxpr: Any, *, embed_threshold: int) -> tuple[Any, ...]:
    """Return the values that stock JAX passes as const args, in order; some are there twice.

    Within one jaxpr each Literal is a const arg of its own; the bodies of one equation need each
    array once. That is `core.jaxpr_const_args` of jax 0.10.2, which is private, and empty in a
    process that was not started with the flag. Arrays of more than `embed_threshold` bytes are
    hoisted.
    `jaxpr` has no dead code, as `live_part` leaves it.

    Example::

        len(stock_const_args(live_part(traced.jaxpr).jaxpr, embed_threshold=32))
    """
    return tuple(_Scan(embed_threshold).of(jaxpr))


class _Scan:
    def __init__(self, embed_threshold: int) -> None:
        self.embed_threshold = embed_threshold
        self._bodies: dict[int, list[Any]] = {}

    def of(self, jaxpr: Any) -> list[Any]:
        if id(jaxpr) not in self._bodies:
            self._bodies[id(jaxpr)] = self._scan(jaxpr)
        return self._bodies[id(jaxpr)]

    def _scan(self, jaxpr: Any) -> list[Any]:
        found: dict[int, Any] = {}
        for atom in jaxpr.outvars:
            self._literal(atom, found)
        for equation in jaxpr.eqns:
            for atom in equation.invars:
                self._literal(atom, found)
            inside: dict[int, Any] = {}
            for body in bodies_of(equation):
                inside.update((id(value), value) for value in self.of(inner(body.jaxpr)))
            found.update(inside)
        return list(found.values())

    def _literal(self, atom: Any, found: dict[int, Any]) -> None:
        if (
            isinstance(atom, core.Literal)
            and np.ndim(atom.val) > 0
            and getattr(atom.val, "nbytes", 4) > self.embed_threshold
        ):
            found[id(atom)] = atom.val
