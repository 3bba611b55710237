"""Meshes: the devices that a program states by itself, and what takes over a sharding from others.

A `shard_map` over a mesh, or a constraint on a sharding, decides on which devices the whole program
runs, and its results have the sharding that it states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax
from jax.extend import core

from parity_tests.jaxpr.bodies import bodies_of, inner

_MESH_OF = {"shard_map": "mesh", "sharding_constraint": "sharding"}


def stated_devices(body: Any) -> Iterator[tuple[str, set[Any]]]:
    """Yield the devices of each `shard_map` and each constraint, those in bodies included.

    An abstract mesh has none: it takes the devices of the arguments.
    """
    for equation in inner(body).eqns:
        name = equation.primitive.name
        if name in _MESH_OF:
            stated = equation.params[_MESH_OF[name]]
            mesh = getattr(stated, "mesh", stated)
            if isinstance(mesh, jax.sharding.Mesh):
                yield name, set(mesh.devices.flat)
        for each in bodies_of(equation):
            yield from stated_devices(each.jaxpr)


def may_shard_outputs(body: Any, value: Any) -> bool:
    """Say whether an output may take over the sharding of a captured array.

    None does where each use of the array ends in a `shard_map` or a constraint, which state the
    shardings of their results.
    """
    return any(_sharded_outputs(inner(body), value, ()))


def _sharded_outputs(body: Any, value: Any, given: Sequence[bool]) -> list[bool]:
    """Say for each output of a body whether it may take over the sharding; `given` is of inputs."""
    reached = {var for var, is_reached in zip(body.invars, given, strict=False) if is_reached}

    def is_reached(atom: Any) -> bool:
        return atom.val is value if isinstance(atom, core.Literal) else atom in reached

    for equation in body.eqns:
        if equation.primitive.name in _MESH_OF:
            continue
        operands = [is_reached(atom) for atom in equation.invars]
        bodies = [inner(each.jaxpr) for each in bodies_of(equation)]
        if len(bodies) == 1 and len(bodies[0].invars) == len(operands):
            results = _sharded_outputs(bodies[0], value, operands)
        else:  # a branch, whose first operand is an index; any result may depend on any operand
            found = any(operands) or any(_mentions(each, value) for each in bodies)
            results = [found] * len(equation.outvars)
        if len(results) != len(equation.outvars) or equation.primitive.name in ("scan", "while"):
            results = [any(results)] * len(equation.outvars)
        reached.update(var for var, is_so in zip(equation.outvars, results, strict=True) if is_so)
    return [is_reached(atom) for atom in body.outvars]


def _mentions(body: Any, value: Any) -> bool:
    """Say whether a body uses a captured array anywhere but in what states its shardings."""
    return any(
        equation.primitive.name not in _MESH_OF
        and (
            any(isinstance(atom, core.Literal) and atom.val is value for atom in equation.invars)
            or any(_mentions(inner(each.jaxpr), value) for each in bodies_of(equation))
        )
        for equation in body.eqns
    ) or any(isinstance(atom, core.Literal) and atom.val is value for atom in body.outvars)
