"""Tracing, simplified: every captured array is a Literal in the equation or output that uses it.

Bodies of control flow hold Literals of the arrays that they use, so their operands are the user's.
Values that cannot be Literals, typed PRNG keys and mutable references, stay constvars. A trace for
this side emits the form (`trace_side.tracing_for` in `engine/configuration/`), so `normalize` finds
nothing to do but in bodies that JAX traced before, and where the tracer is not asked.

Source: JAX's note "Handling of closed-over constants", section "Tracing".
"""

from __future__ import annotations

from engine.ir.jaxprs import ClosedJaxpr
from engine.ir.sinking import sink


def normalize(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Sink every array that is a constvar into Literals; idempotent.

    Returns its argument where there is nothing to sink, which is the usual case.
    """
    return sink(closed_jaxpr)
