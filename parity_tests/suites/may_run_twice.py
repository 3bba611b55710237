"""Which programs may run twice: those whose second run nobody notices."""

from __future__ import annotations

from typing import Any

from engine.ir.jaxprs import bodies_in

# Primitives whose second run gives other results, although no effect tells.
_STATEFUL = frozenset({"rng_uniform", "infeed", "outfeed"})


def why_only_once(closed_jaxpr: Any) -> str:
    """Return why a program must not run a second time, in words; "" if it may.

    `jax.pure_callback` may be called any number of times, as JAX says of it. Effects tell all other
    callbacks, mutable references, and foreign calls with side effects.

    Example::

        why_only_once(jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(1.0))
        # "it has effects: Debug"
    """
    effects = sorted({_named(effect) for effect in closed_jaxpr.effects})
    if effects:
        return f"it has effects: {', '.join(effects)}"
    stateful = sorted(_primitives(closed_jaxpr) & _STATEFUL)
    return f"its results differ from run to run: {', '.join(stateful)}" if stateful else ""


def _named(effect: Any) -> str:
    return type(effect).__name__.removesuffix("Effect") or str(effect)


def _primitives(closed_jaxpr: Any) -> set[str]:
    bodies = bodies_in(closed_jaxpr)
    return {equation.primitive.name for body in bodies for equation in body.eqns}
