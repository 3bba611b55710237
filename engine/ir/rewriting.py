"""Rewrite the equations and constants of a program in all its bodies.

A shared body stays shared, and an unchanged body stays the same object: JAX, and libraries that
read jaxprs, tell bodies apart by identity.
"""

from __future__ import annotations

from typing import Any, cast

from engine.ir.jaxprs import ClosedJaxpr, Jaxpr, JaxprEqn, bodies_of


class BodyRewriting:
    """One run over a program; a subclass overrides `constant`, `atom` or `params`.

    Example::

        class Doubling(BodyRewriting):
            def constant(self, value):
                return 2 * value

        Doubling().closed(closed_jaxpr)
    """

    def __init__(self) -> None:
        self._done: dict[int, tuple[Any, Any]] = {}

    def constant(self, value: Any) -> Any:
        """Return the new value of a constvar."""
        return value

    def atom(self, atom: Any) -> Any:
        """Return the new Var or Literal for one that an equation or a body reads."""
        return atom

    def params(self, eqn: JaxprEqn) -> dict[str, Any]:
        """Return the new params of an equation; the same object if nothing changes."""
        if not bodies_of(eqn):
            return eqn.params
        params = {name: self.param(value) for name, value in eqn.params.items()}
        return eqn.params if _are_same(params.values(), eqn.params.values()) else params

    def param(self, value: Any) -> Any:
        """Return a param with its bodies rewritten."""
        if isinstance(value, ClosedJaxpr):
            return self.closed(value)
        if isinstance(value, Jaxpr):
            return self.jaxpr(value)
        if isinstance(value, (tuple, list)):
            items = [self.param(item) for item in value]
            if not _are_same(items, value):
                return getattr(type(value), "_make", type(value))(items)  # named tuples, too
        return value

    def closed(self, closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
        """Return the rewritten program; the same object if nothing changes."""
        if id(closed_jaxpr) not in self._done:
            jaxpr = self.jaxpr(closed_jaxpr.jaxpr)
            consts = [self.constant(const) for const in closed_jaxpr.consts]
            if jaxpr is not closed_jaxpr.jaxpr or not _are_same(consts, closed_jaxpr.consts):
                self._remember(closed_jaxpr, ClosedJaxpr(jaxpr, consts))
            else:
                self._remember(closed_jaxpr, closed_jaxpr)
        return cast(ClosedJaxpr, self._done[id(closed_jaxpr)][1])

    def jaxpr(self, jaxpr: Jaxpr) -> Jaxpr:
        """Return the rewritten body; the same object if nothing changes."""
        if id(jaxpr) not in self._done:
            eqns = [self._equation(eqn) for eqn in jaxpr.eqns]
            outvars = [self.atom(atom) for atom in jaxpr.outvars]
            if _are_same(eqns, jaxpr.eqns) and _are_same(outvars, jaxpr.outvars):
                self._remember(jaxpr, jaxpr)
            else:
                debug_info = jaxpr.debug_info  # without it, JAX drops names
                new = jaxpr.replace(eqns=eqns, outvars=outvars, debug_info=debug_info)
                self._remember(jaxpr, new)
        return cast(Jaxpr, self._done[id(jaxpr)][1])

    def _remember(self, body: Any, rewritten: Any) -> None:
        self._done[id(body)] = body, rewritten  # holding the body prevents reuse of its id

    def _equation(self, eqn: JaxprEqn) -> JaxprEqn:
        invars = [self.atom(atom) for atom in eqn.invars]
        params = self.params(eqn)
        if params is eqn.params and _are_same(invars, eqn.invars):
            return eqn
        return eqn.replace(invars=invars, params=params)


def _are_same(values: Any, others: Any) -> bool:
    return all(value is other for value, other in zip(values, others, strict=True))
