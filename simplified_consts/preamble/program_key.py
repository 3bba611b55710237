"""What a program, or a param of an equation, computes with, as a key of tables."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import jax
import numpy as np

from engine.ir.jaxprs import ClosedJaxpr, Jaxpr, Literal, Var, constant_key


def meaning_of(body: Jaxpr | ClosedJaxpr) -> Hashable:
    """What a program computes, as a key: equal for programs that differ in their variables alone.

    Functions and what has no hash count by identity, so equal keys mean equal programs and not the
    other way around.
    """
    jaxpr = body.jaxpr if isinstance(body, ClosedJaxpr) else body
    numbers: dict[Var, int] = {}

    def number(atom: Any) -> Hashable:
        if isinstance(atom, Literal):
            return meaning_of_param(atom.val), atom.aval
        return numbers.setdefault(atom, len(numbers)), atom.aval

    consts = tuple(map(meaning_of_param, body.consts)) if isinstance(body, ClosedJaxpr) else ()
    return (
        consts,
        tuple(map(number, (*jaxpr.constvars, *jaxpr.invars))),
        tuple(
            (
                eqn.primitive,
                tuple(map(number, eqn.invars)),
                tuple((name, meaning_of_param(value)) for name, value in eqn.params.items()),
                tuple(map(number, eqn.outvars)),
                id(eqn.ctx),  # JAX makes one object of equal ones (jax 0.10.2)
            )
            for eqn in jaxpr.eqns
        ),
        tuple(map(number, jaxpr.outvars)),
    )


def meaning_of_param(value: Any) -> Hashable:
    """What a param, or a value in it, is to an equation, as a key."""
    if isinstance(value, (Jaxpr, ClosedJaxpr)):
        return meaning_of(value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(meaning_of_param, value))
    if isinstance(value, jax.Array) or (isinstance(value, np.ndarray) and value.ndim):
        return constant_key(value)
    if isinstance(value, (float, complex, np.generic, np.ndarray)):
        bits = np.asarray(value)  # -0.0 and 0.0 are equal, and differ
        return type(value), bits.dtype, bits.tobytes()
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value
