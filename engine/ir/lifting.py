"""Lifting: turn Literals of arrays into constvars, and change nothing else.

Bodies of control flow receive the arrays as leading operands; the body of a jit is a ClosedJaxpr
with constvars of its own. This is the legacy form of a program, in which JAX inlines each array
once per function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

from engine.ir.closure_conversion import CONTROL_FLOW, FUNCTIONS, Conversion
from engine.ir.jaxprs import Body, ClosedJaxpr, Literal, bodies_of, constant_key
from engine.jax_internals import is_body, replaced

B = TypeVar("B", bound=Body)

# Functions whose bodies JAX keeps open: it passes them all that they read, and never constvars.
OPEN = frozenset({"core_call", "shard_map"})


def is_array(value: Any) -> bool:
    """Say whether a captured value is an array of any shape; `lift` leaves Python scalars alone."""
    return isinstance(value, jax.Array) or np.ndim(value) > 0


def lift(closed_jaxpr: ClosedJaxpr, wanted: Callable[[Any], bool] = is_array) -> ClosedJaxpr:
    """Turn Literals of arrays into constvars, all of them or the `wanted` ones; idempotent.

    Returns its argument if there is nothing to lift, the usual case.

    Example::

        closed_jaxpr = engine.make_jaxpr(lambda x: x + table, constants="simplified")(1.0)
        assert lift(closed_jaxpr).consts[0] is table
    """
    if not _holds_literals(closed_jaxpr, wanted):
        return closed_jaxpr
    return _lift(closed_jaxpr, wanted)


def _holds_literals(jaxpr: Body, wanted: Callable[[Any], bool]) -> bool:
    # Loops, because `any` runs a slower generator: each first call of legacy waits for this.
    for atoms in (jaxpr.outvars, *[eqn.invars for eqn in jaxpr.eqns]):
        for atom in atoms:
            if isinstance(atom, Literal) and wanted(atom.val):
                return True
    for eqn in jaxpr.eqns:
        for body in bodies_of(eqn) if eqn.params else ():
            if _holds_literals(body, wanted):
                return True
    return False


def _lift(closed_jaxpr: ClosedJaxpr, wanted: Callable[[Any], bool]) -> ClosedJaxpr:
    body = _lift_functions(closed_jaxpr, wanted)
    conversion = Conversion(CONTROL_FLOW, lambda v: constant_key(v) if wanted(v) else None)
    constants = conversion.needs(body)
    converted = conversion.body(body, constants)
    n = len(constants)
    return replaced(
        converted,
        constvars=[*converted.constvars, *converted.invars[:n]],
        consts=[*converted.consts, *constants.values()],
        invars=converted.invars[n:],
        debug_info=closed_jaxpr.debug_info,
    )


def _lift_functions(body: B, wanted: Callable[[Any], bool]) -> B:
    """Give the body of each jit, at any depth, constvars of its own."""

    def lift_bodies(value: Any, has_constvars: bool) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(lift_bodies(item, has_constvars) for item in value)
        if not is_body(value):
            return value
        return lift(value, wanted) if has_constvars else _lift_functions(value, wanted)

    eqns = []
    for eqn in body.eqns:
        if bodies_of(eqn):
            names = {name for name, value in eqn.params.items() if _has_body(value)}
            has_constvars = eqn.primitive.name in FUNCTIONS.keys() - OPEN
            changed = {n: lift_bodies(eqn.params[n], has_constvars) for n in names}
            eqn = eqn.replace(params={**eqn.params, **changed})
        eqns.append(eqn)
    return replaced(body, eqns=eqns)


def _has_body(value: Any) -> bool:
    if type(value) in (tuple, list):
        return any(map(is_body, value))
    return is_body(value)
