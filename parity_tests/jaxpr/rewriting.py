"""Rewritten programs: without their dead code, or over other captured values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jax.interpreters import partial_eval

from parity_tests.jax_defaults import jax_defaults, with_64_bits
from parity_tests.jax_internals import is_reference
from parity_tests.jaxpr.captured import unwrapped

# Takes a captured value and returns the one to put in its place, of the same type.
Replace = Callable[[Any], Any]


def replace_captured(closed: Any, replace: Replace) -> Any:
    """Return a closed_jaxpr in which `replace` has replaced each captured value, in all bodies.

    Python functions among the parameters, such as the derivatives of `jax.custom_vjp`, stay.
    """
    return _Rewriting(replace).closed(closed)


@jax_defaults()
def with_other_elements(value: Any) -> Any:
    """Return an array of the same type and placement as a captured one, with other elements.

    Scalars, keys, references and arrays without elements are returned unchanged.
    """
    dtype = getattr(value, "dtype", None)
    if dtype is None or not getattr(value, "shape", ()) or not value.size:
        return value
    if is_reference(value) or jax.dtypes.issubdtype(dtype, jax.dtypes.extended):
        return value
    if isinstance(value, np.ndarray):
        other = value.copy(order="K")  # of JAX's own class of arrays, which keeps 64 bits
        other[...] = value == 0
        return other
    inside = unwrapped(value)
    if inside is not value:
        return type(value)(with_other_elements(inside), value.weak_type)
    with with_64_bits():
        changed = jnp.equal(value, 0).astype(dtype)
    return jax.device_put(changed, value.sharding) if value.committed else changed


class _Rewriting:
    """Keeps its results by the identity of what they replace, so shared bodies stay shared."""

    def __init__(self, replace: Replace) -> None:
        self._replace = replace
        self._made: dict[int, tuple[Any, Any]] = {}  # id: (replaced, result)

    def closed(self, closed: Any) -> Any:
        return self._once(closed, self._closed)

    def _closed(self, closed: Any) -> Any:
        consts = [self._once(const, self._replace) for const in closed.consts]
        return closed.replace(jaxpr=self._once(closed.jaxpr, self._jaxpr), consts=consts)

    def _jaxpr(self, jaxpr: Any) -> Any:
        equations = [
            eqn.replace(
                invars=[self._atom(atom) for atom in eqn.invars],
                params={name: self._param(value) for name, value in eqn.params.items()},
            )
            for eqn in jaxpr.eqns
        ]
        outvars = [self._atom(atom) for atom in jaxpr.outvars]
        return jaxpr.replace(eqns=equations, outvars=outvars, debug_info=jaxpr.debug_info)

    def _once(self, thing: Any, make: Callable[[Any], Any]) -> Any:
        if id(thing) not in self._made:
            self._made[id(thing)] = (thing, make(thing))
        return self._made[id(thing)][1]

    def _atom(self, atom: Any) -> Any:
        if not isinstance(atom, core.Literal):
            return atom
        value = self._once(atom.val, self._replace)
        return atom if value is atom.val else core.Literal(value, atom.aval)

    def _param(self, value: Any) -> Any:
        if isinstance(value, core.ClosedJaxpr):
            return self._once(value, self._closed)
        if isinstance(value, core.Jaxpr):
            return self._once(value, self._jaxpr)
        if type(value) in (tuple, list):
            return type(value)(self._param(each) for each in value)
        if type(value) is dict:
            return {name: self._param(each) for name, each in value.items()}
        return value


def live_part(closed: Any) -> Any:
    """Return a closed_jaxpr without its dead code and without the constvars that only that read."""
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
