"""Tracing, simplified: every captured array is a Literal in the equation or output that uses it.

Bodies hold the Literals of the arrays that they use, so the operands of control flow are those that
the user passed. JAX's tracer emits this form when it is asked to (`engine.config.tracing_for`), and
says itself what cannot be a Literal: typed PRNG keys and mutable references stay constvars.
`normalize` therefore has nothing to change on jax 0.10.2.

Source: the constants note (seed 000), "Tracing".
"""

from __future__ import annotations

from engine.ir.jaxprs import ClosedJaxpr


def normalize(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Return the program as JAX's tracer emitted it."""
    return closed_jaxpr
