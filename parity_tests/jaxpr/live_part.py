"""The live part of a closed_jaxpr: the program without its dead code."""

from __future__ import annotations

from typing import Any

from jax.interpreters import partial_eval


def live_part(closed: Any) -> Any:
    """Return a closed_jaxpr without its dead code and without the constvars that only that read.

    Example::

        live_part(jax.make_jaxpr(f)(x)).consts
    """
    live, _ = partial_eval.dce_jaxpr(
        closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True
    )
    atoms = {id(atom) for eqn in live.eqns for atom in eqn.invars} | set(map(id, live.outvars))
    kept = [
        (var, const)
        for var, const in zip(live.constvars, closed.consts, strict=True)
        if id(var) in atoms
    ]
    read = live.replace(constvars=[var for var, _ in kept], debug_info=live.debug_info)
    return closed.replace(jaxpr=read, consts=[const for _, const in kept])
