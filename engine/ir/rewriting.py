"""Rewrite the equations and constants of a program in all its bodies.

A shared body stays shared, and an unchanged body stays the same object: JAX, and libraries that
read jaxprs, tell bodies apart by identity.
"""

from __future__ import annotations

from operator import is_
from typing import Any, TypeVar, cast

from engine.ir.jaxprs import Body, JaxprEqn, bodies_of, consts_of
from engine.jax_internals import closed_over, is_body, open_part, replaced

B = TypeVar("B", bound=Body)


class BodyRewriting:
    """One run over a program; a subclass overrides `constant`, `atom` or `params`.

    Example::

        class Doubling(BodyRewriting):
            def constant(self, value):
                return 2 * value

        Doubling().body(closed_jaxpr)
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
        if is_body(value):
            return self.body(value)
        if isinstance(value, (tuple, list)):
            items = [self.param(item) for item in value]
            if not _are_same(items, value):
                return getattr(type(value), "_make", type(value))(items)  # named tuples, too
        return value

    def body(self, body: B) -> B:
        """Return the rewritten program or body; the same object if nothing changes."""
        if id(body) not in self._done:
            jaxpr = open_part(body)
            new = self._with_new_equations(body) if jaxpr is body else self.body(jaxpr)
            consts = [self.constant(const) for const in consts_of(body)]
            if not _are_same(consts, consts_of(body)):
                new = closed_over(new, consts)
            elif jaxpr is not body:
                new = body if new is jaxpr else closed_over(new, consts)
            self._done[id(body)] = body, new  # holding the body prevents reuse of its id
        return cast(B, self._done[id(body)][1])

    def _with_new_equations(self, body: Body) -> Body:
        eqns = [self._equation(eqn) for eqn in body.eqns]
        outvars = [self.atom(atom) for atom in body.outvars]
        if _are_same(eqns, body.eqns) and _are_same(outvars, body.outvars):
            return body
        return replaced(body, eqns=eqns, outvars=outvars)

    def _equation(self, eqn: JaxprEqn) -> JaxprEqn:
        invars = [self.atom(atom) for atom in eqn.invars]
        params = self.params(eqn)
        if params is eqn.params and _are_same(invars, eqn.invars):
            return eqn
        eqn = eqn.replace(invars=invars, params=params)
        return eqn


def _are_same(values: Any, others: Any) -> bool:
    return len(values) == len(others) and all(map(is_, values, others))
