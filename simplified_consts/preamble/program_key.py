"""Hashable keys of programs and params: equal keys mean the same computation."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import jax
import numpy as np

from engine.ir.jaxprs import Body, Literal, Var, constant_key, consts_of
from engine.jax_internals import is_body


def meaning_of(body: Body) -> Hashable:
    """Return the hashable key of a program; programs that differ only in variables have equal ones.

    Functions and unhashable params count by identity, so equal keys mean equal programs, but equal
    programs may have different keys. Arrays count by identity, too: keep them alive with the key.

    Example::

        preambles.setdefault(meaning_of(closed_jaxpr), closed_jaxpr)
    """
    numbers: dict[Var, int] = {}

    def number(atom: Any) -> Hashable:
        if isinstance(atom, Literal):
            return meaning_of_param(atom.val), atom.aval
        return numbers.setdefault(atom, len(numbers)), atom.aval

    return (
        tuple(map(meaning_of_param, consts_of(body))),
        tuple(map(number, (*body.constvars, *body.invars))),
        tuple(
            (
                eqn.primitive,
                tuple(map(number, eqn.invars)),
                tuple((name, meaning_of_param(value)) for name, value in eqn.params.items()),
                tuple(map(number, eqn.outvars)),
                id(eqn.ctx),  # JAX interns contexts (jax 0.10.2)
            )
            for eqn in body.eqns
        ),
        tuple(map(number, body.outvars)),
    )


def meaning_of_param(value: Any) -> Hashable:
    """Return the hashable key of a param, or of a value in it."""
    if is_body(value):
        return meaning_of(value)
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(meaning_of_param, value))
    if isinstance(value, jax.Array) or (isinstance(value, np.ndarray) and value.ndim):
        return constant_key(value)
    if isinstance(value, (float, complex, np.generic, np.ndarray)):
        array = np.asarray(value)  # compare bits: -0.0 == 0.0, but they are different constants
        return type(value), array.dtype, array.tobytes()
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value
