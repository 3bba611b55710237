"""Tracing, legacy: every captured array is a constvar.

Bodies of control flow take the arrays that they use as leading operands. A trace for this side
emits the form (`engine/tracing.py`), so `normalize` finds nothing to do but in bodies that JAX
traced before, and where the tracer is not asked. The pass is the engine's, because inlining begins
with it.

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
