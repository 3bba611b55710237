"""The live part of a program: the equations that its outputs and effects depend on."""

from __future__ import annotations

from collections.abc import Iterable

from engine import jax_internals
from engine.ir.jaxprs import Body, ClosedJaxpr, Var, bodies_of


def live_part(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Return the same program without dead equations; all inputs stay.

    Most programs have no dead equations. A quick check finds most of these and saves JAX's pass,
    which each first call would wait for. Returns its argument where it finds none.

    Example::

        live_part(engine.make_jaxpr(f)(x))
    """
    if _is_plainly_live(closed_jaxpr, (), set()):
        return closed_jaxpr
    return jax_internals.live_part(closed_jaxpr)


def _is_plainly_live(body: Body, inputs: Iterable[Var], seen: set[int]) -> bool:
    """Say whether all inputs and all equations' results are read: a sufficient sign of liveness.

    One result of an equation must be read, or all if it has bodies or a pruning rule. Only an
    output can read the last equation, so that one is live, and so, in turn, are the equations that
    it reads. Only JAX knows which equations without results have effects, so these give False.
    """
    read = {id(atom) for eqn in body.eqns for atom in eqn.invars}
    read.update([id(atom) for atom in body.outvars])
    if not all(id(var) in read for var in inputs):
        return False
    for eqn in body.eqns:
        if not eqn.outvars:
            return False
        bodies = bodies_of(eqn) if eqn.params else []
        if len(eqn.outvars) == 1:  # the usual case, checked faster
            is_read = id(eqn.outvars[0]) in read
        else:
            is_whole = bodies or jax_internals.prunes_operands(eqn.primitive)
            is_read = (all if is_whole else any)(id(var) in read for var in eqn.outvars)
        if not is_read:
            return False
        for inner in bodies:
            if id(inner) not in seen:
                seen.add(id(inner))
                if not _is_plainly_live(inner, inner.invars, seen):
                    return False
    return True
