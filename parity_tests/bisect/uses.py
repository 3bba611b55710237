"""Const args as stock JAX passes them: an array once for each use, and not once for a program."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from engine import jax_internals
from engine.ir.closures import with_names
from engine.ir.jaxprs import Var
from engine.pipeline import LoweringPlan


def one_for_each_use(plan: LoweringPlan) -> LoweringPlan:
    """Return a plan with a const arg for each operand and output of the program that is one.

    JAX takes each Literal for a constant of its own; bodies of one equation share theirs. The
    module has as many arguments, and the memory of arguments counts each.

    Source: `core.jaxpr_const_args` (jax 0.10.2).
    """
    body, count = plan.closed_jaxpr, plan.num_const_args
    values = dict(zip(body.invars[:count], plan.const_args, strict=True))
    used: set[Var] = set()
    added: dict[Var, Any] = {}

    def read(atoms: Sequence[Any]) -> list[Any]:
        found = []
        for atom in atoms:
            if isinstance(atom, Var) and atom in values:
                if atom in used:
                    again = jax_internals.new_var(atom.aval)
                    added[again], atom = values[atom], again
                used.add(atom)
            found.append(atom)
        return found

    outvars = read(body.outvars)
    eqns = [eqn.replace(invars=read(eqn.invars)) for eqn in body.eqns]
    if not added:
        return plan
    names = body.debug_info.arg_names
    if names is not None:
        names = (*names[:count], *("" for _ in added), *names[count:])
    changed = jax_internals.replaced(
        body,
        invars=[*body.invars[:count], *added, *body.invars[count:]],
        outvars=outvars,
        eqns=eqns,
        debug_info=body.debug_info if names is None else with_names(body, names),
    )
    const_args = (*plan.const_args, *added.values())
    return dataclasses.replace(plan, closed_jaxpr=changed, const_args=const_args)
