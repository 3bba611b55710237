"""Tracing, legacy: every captured array is a constvar.

JAX's tracer emits this form by itself, with one exception that depends on the environment: where
`JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS` was set when JAX was imported, 0-d `jax.Array`s stay Literals
for the life of the process (jax 0.10.2, `array.py` latches them). `normalize` lifts those, and any
other array that stands as a Literal.

Source: the constants note (seed 000), "Previous implementation".
"""

from __future__ import annotations

from engine.ir.jaxprs import ClosedJaxpr
from engine.ir.lifting import lift


def normalize(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Lift every array that stands as a Literal into a constvar; idempotent.

    Returns its argument where there is nothing to lift, which is the rule.
    """
    return lift(closed_jaxpr)
