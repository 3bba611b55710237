"""The live part of a program: what its outputs and its effects depend on."""

from __future__ import annotations

from collections.abc import Iterable

from engine import jax_internals
from engine.ir.jaxprs import ClosedJaxpr, Jaxpr, Var, bodies_of


def live_part(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The same program without the equations that nothing depends on; all inputs stay.

    Where it is plain that there are none, as in most programs, JAX's pass is left out: it would
    find so too, and each first call waits for it. What is returned is never the argument itself,
    for which a plan of it could not be remembered.

        live_part(engine.make_jaxpr(f)(x))
    """
    if _is_plainly_live(closed_jaxpr.jaxpr, (), set()):
        return ClosedJaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts)
    return jax_internals.live_part(closed_jaxpr)


def _is_plainly_live(jaxpr: Jaxpr, inputs: Iterable[Var], seen: set[int]) -> bool:
    """Whether these inputs are read, and a result of each equation: all of one that has bodies.

    Only an output can read what the last equation gives, so that is live, and so is what it reads.
    Of equations that give nothing, JAX alone knows which have effects for which they stay.
    """
    read = {id(atom) for eqn in jaxpr.eqns for atom in eqn.invars}
    read.update([id(atom) for atom in jaxpr.outvars])
    if not all(id(var) in read for var in inputs):
        return False
    for eqn in jaxpr.eqns:
        if not eqn.outvars:
            return False
        bodies = bodies_of(eqn) if eqn.params else []
        if len(eqn.outvars) == 1:  # as most have: then all of them are any of them
            is_read = id(eqn.outvars[0]) in read
        else:
            is_whole = bodies or jax_internals.prunes_operands(eqn.primitive)
            is_read = (all if is_whole else any)(id(var) in read for var in eqn.outvars)
        if not is_read:
            return False
        for body in bodies:
            inner = body.jaxpr if isinstance(body, ClosedJaxpr) else body
            if id(inner) not in seen:
                seen.add(id(inner))
                if not _is_plainly_live(inner, inner.invars, seen):
                    return False
    return True
