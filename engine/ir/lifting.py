"""Lifting: turn Literals of arrays into constvars, and change nothing else.

Bodies of control flow receive the arrays as leading operands; the body of a jit is a ClosedJaxpr
with constvars of its own. This is the legacy form of a program, in which JAX inlines each array
once per function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from engine.ir.closure_conversion import CONTROL_FLOW, FUNCTIONS, Conversion
from engine.ir.jaxprs import ClosedJaxpr, Jaxpr, Literal, bodies_of, constant_key


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
    if not _holds_literals(closed_jaxpr.jaxpr, wanted):
        return closed_jaxpr
    return _lift(closed_jaxpr, wanted)


def _holds_literals(jaxpr: Jaxpr, wanted: Callable[[Any], bool]) -> bool:
    # Loops, because `any` runs a slower generator: each first call of legacy waits for this.
    for atoms in (jaxpr.outvars, *[eqn.invars for eqn in jaxpr.eqns]):
        for atom in atoms:
            if isinstance(atom, Literal) and wanted(atom.val):
                return True
    for eqn in jaxpr.eqns:
        for body in bodies_of(eqn) if eqn.params else ():
            if _holds_literals(body.jaxpr if isinstance(body, ClosedJaxpr) else body, wanted):
                return True
    return False


def _lift(closed_jaxpr: ClosedJaxpr, wanted: Callable[[Any], bool]) -> ClosedJaxpr:
    debug_info = closed_jaxpr.jaxpr.debug_info
    body = ClosedJaxpr(_lift_functions(closed_jaxpr.jaxpr, wanted), closed_jaxpr.consts)
    conversion = Conversion(CONTROL_FLOW, lambda v: constant_key(v) if wanted(v) else None)
    constants = conversion.needs(body)
    converted = conversion.body(body, constants)
    n, jaxpr = len(constants), converted.jaxpr
    lifted = jaxpr.replace(
        constvars=[*jaxpr.constvars, *jaxpr.invars[:n]],
        invars=jaxpr.invars[n:],
        debug_info=debug_info,
    )
    return ClosedJaxpr(lifted, [*converted.consts, *constants.values()])


def _lift_functions(jaxpr: Jaxpr, wanted: Callable[[Any], bool]) -> Jaxpr:
    """Give the body of each jit, at any depth, constvars of its own."""

    def lift_bodies(value: Any, is_function: bool) -> Any:
        if isinstance(value, (tuple, list)):
            return type(value)(lift_bodies(item, is_function) for item in value)
        if isinstance(value, ClosedJaxpr):
            if is_function:
                return lift(value, wanted)
            return ClosedJaxpr(_lift_functions(value.jaxpr, wanted), value.consts)
        return _lift_functions(value, wanted) if isinstance(value, Jaxpr) else value

    eqns = []
    for eqn in jaxpr.eqns:
        if bodies_of(eqn):
            names = {name for name, value in eqn.params.items() if _has_body(value)}
            changed = {
                n: lift_bodies(eqn.params[n], eqn.primitive.name in FUNCTIONS) for n in names
            }
            eqn = eqn.replace(params={**eqn.params, **changed})
        eqns.append(eqn)
    return jaxpr.replace(eqns=eqns, debug_info=jaxpr.debug_info)


def _has_body(value: Any) -> bool:
    if type(value) in (tuple, list):
        return any(isinstance(item, (Jaxpr, ClosedJaxpr)) for item in value)
    return isinstance(value, (Jaxpr, ClosedJaxpr))
