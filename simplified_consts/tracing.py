"""Tracing, simplified: every captured array is a Literal in the equation or output that uses it.

Bodies of control flow hold Literals of the arrays that they use, so their operands are the user's.
JAX's tracer emits this form on request (`trace_side.tracing_for` in `engine/configuration/`), with
one exception: values that cannot be Literals, typed PRNG keys and mutable references, stay
constvars. So `normalize` changes nothing (jax 0.10.2).

Source: JAX's note "Handling of closed-over constants", section "Tracing".
"""

from __future__ import annotations

from engine.ir.jaxprs import ClosedJaxpr


def normalize(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program unchanged: it has the form already; idempotent."""
    return closed_jaxpr
