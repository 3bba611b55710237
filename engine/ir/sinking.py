"""Sinking: turn constvars of arrays into Literals, and change nothing else.

The simplified form of a program, made from any form. An array stands as a Literal in each equation
and output that uses it, inside bodies too, which lose the operand that passed it to them. Values
that cannot be Literals stay constvars. `lift` is the inverse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_not
from typing import Any, cast

from jax.extend.core import Literal

from engine.ir.closures import (
    UNKNOWN,
    Body,
    Group,
    Key,
    Operand,
    closures_of,
    names_of,
    open_part,
    remember_order,
    with_names,
)
from engine.ir.jaxprs import (
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Var,
    bodies_in,
    is_literalable,
)
from engine.ir.lifting import is_array
from engine.ir.rewriting import BodyRewriting

Arrays = Mapping[Var, Any]  # the value of each variable that becomes a Literal


def is_sinkable(value: Any) -> bool:
    """Say whether a captured value is an array that may be a Literal."""
    return is_array(value) and is_literalable(value)


def sink(closed_jaxpr: ClosedJaxpr, wanted: Callable[[Any], bool] = is_sinkable) -> ClosedJaxpr:
    """Turn constvars of arrays into Literals, all of them or the `wanted` ones; idempotent.

    Returns its argument if there is nothing to sink, the usual case.

    Example::

        closed_jaxpr = engine.make_jaxpr(lambda x: x + table, constants="legacy")(1.0)
        assert sink(closed_jaxpr).consts == []
    """
    for body in bodies_in(closed_jaxpr):
        if isinstance(body, ClosedJaxpr) and any(map(wanted, body.consts)):
            return _Sinking(wanted).closed(closed_jaxpr)
    return closed_jaxpr


def _read_in(jaxpr: Jaxpr) -> set[Var]:
    atoms = [*jaxpr.outvars, *(atom for eqn in jaxpr.eqns for atom in eqn.invars)]
    return {atom for atom in atoms if isinstance(atom, Var)}


class _Sinking(BodyRewriting):
    """One run of `sink`; a body that is shared stays shared."""

    def __init__(self, wanted: Callable[[Any], bool]) -> None:
        super().__init__()
        self._wanted = wanted
        self._without: dict[tuple, tuple[Any, Body]] = {}

    def closed(self, closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
        """Return a function whose arrays are Literals; the same object if nothing changes."""
        if id(closed_jaxpr) not in self._done:
            self._remember(closed_jaxpr, self._body(closed_jaxpr, {}))
        return cast(ClosedJaxpr, self._done[id(closed_jaxpr)][1])

    def _body(self, body: Body, arrays: Arrays) -> Body:
        """Return a body with its own arrays, and the `arrays` of its inputs, as Literals."""
        jaxpr = open_part(body)
        if not isinstance(body, ClosedJaxpr):
            return self._sunk(jaxpr, arrays)
        own = list(zip(jaxpr.constvars, body.consts, strict=True))
        read = _read_in(jaxpr)  # no Literal can say that there is an array which nothing reads
        sunk = {var: const for var, const in own if var in read and self._wanted(const)}
        new = self._sunk(jaxpr, {**arrays, **sunk})
        if new is jaxpr:
            return body
        kept = [(var, const) for var, const in own if var not in sunk]
        if sunk:
            constvars = [var for var, _ in kept]
            new = new.replace(constvars=constvars, debug_info=new.debug_info)
            kept_at = {var: i for i, var in enumerate(constvars)}
            remember_order(new, [kept_at.get(v, Key(id(c))) for v, c in own])
        return ClosedJaxpr(new, [const for _, const in kept])

    def _sunk(self, jaxpr: Jaxpr, arrays: Arrays) -> Jaxpr:
        if not arrays:
            return self.jaxpr(jaxpr)

        def read(atom: Any) -> Any:
            if isinstance(atom, Var) and atom in arrays:
                return Literal(arrays[atom], atom.aval)
            return atom

        eqns = []
        for eqn in jaxpr.eqns:
            invars, params = self._equation_without_closures(eqn, arrays)
            invars = [read(atom) for atom in invars]
            if params is not eqn.params or any(map(is_not, invars, eqn.invars)):
                eqn = eqn.replace(invars=invars, params=params)
            eqns.append(eqn)
        outvars = [read(atom) for atom in jaxpr.outvars]
        return jaxpr.replace(eqns=eqns, outvars=outvars, debug_info=jaxpr.debug_info)

    def _equation_without_closures(
        self, eqn: JaxprEqn, arrays: Arrays
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """Return the operands and params of an equation, without operands that are arrays."""
        if not eqn.params:
            return eqn.invars, eqn.params
        closures = closures_of(eqn)
        if closures is None or not any(
            isinstance(atom, Var) and atom in arrays
            for group in closures.groups
            for atom in group.operands
        ):
            return eqn.invars, self.params(eqn)
        invars, changed = closures.rebuilt([self._open_group(g, arrays) for g in closures.groups])
        return invars, {**eqn.params, **changed}

    def _open_group(self, group: Group, arrays: Arrays) -> tuple[list[Body], list[Operand]]:
        """Return the bodies without the arrays among their inputs, and the operands that stay."""
        names = names_of(group.bodies[0])
        read = [_read_in(open_part(body)) for body in group.bodies]
        dropped = {
            i: arrays[atom]
            for i, atom in enumerate(group.operands)
            if isinstance(atom, Var)
            and atom in arrays
            and not (names and names[i])
            and any(
                open_part(body).invars[i] in variables
                for body, variables in zip(group.bodies, read, strict=True)
            )
        }
        operands = [Operand(a, i) for i, a in enumerate(group.operands) if i not in dropped]
        count = group.count
        if count is None:  # closures come before the user's operands
            count = max(dropped, default=-1) + 1
        return [self._without_inputs(body, dropped, count) for body in group.bodies], operands

    def _without_inputs(self, body: Body, dropped: Mapping[int, Any], count: int) -> Body:
        memo_key = id(body), tuple((i, id(value)) for i, value in dropped.items())
        if memo_key not in self._without:
            self._without[memo_key] = (
                (body, dropped),
                self._without_inputs_anew(body, dropped, count),
            )
        return self._without[memo_key][1]

    def _without_inputs_anew(self, body: Body, dropped: Mapping[int, Any], count: int) -> Body:
        invars = open_part(body).invars
        new = self._body(body, {invars[i]: value for i, value in dropped.items()})
        if not dropped:
            return new
        names = names_of(body)
        if names is None:
            names = ("",) * count + (UNKNOWN,) * (len(invars) - count)
        kept = [i for i in range(len(invars)) if i not in dropped]
        jaxpr = open_part(new)
        jaxpr = jaxpr.replace(
            invars=[invars[i] for i in kept],
            debug_info=with_names(jaxpr, [names[i] for i in kept]),
        )
        kept_at = {i: n for n, i in enumerate(kept)}
        order = [Key(id(dropped[i])) if i in dropped else kept_at[i] for i in range(count)]
        remember_order(jaxpr, order)
        return ClosedJaxpr(jaxpr, new.consts) if isinstance(new, ClosedJaxpr) else jaxpr
