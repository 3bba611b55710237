"""Tracing, legacy: every captured array is a constvar.

Bodies of control flow take the arrays that they use as leading operands. JAX's tracer emits this
form, with one exception: where `JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS` was set when JAX was imported,
0-d `jax.Array`s stay Literals for the life of the process (`array.py` latches the flag, jax
0.10.2). So `normalize` lifts every array that is a Literal.

Source: JAX's note "Handling of closed-over constants", section "Previous implementation".
"""

from __future__ import annotations

from engine.ir.jaxprs import ClosedJaxpr
from engine.ir.lifting import lift


def normalize(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Lift every array that is a Literal into a constvar; idempotent.

    Returns its argument where there is nothing to lift, which is the usual case.
    """
    return lift(closed_jaxpr)
