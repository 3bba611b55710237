"""Tracing, simplified: every captured array is a Literal in the equation or output that uses it.

Bodies of control flow hold Literals of the arrays that they use, so their operands are the user's.
Values that cannot be Literals, typed PRNG keys and mutable references, stay constvars. A trace for
this side emits the form (`engine/tracing.py`), so `normalize` finds nothing to do but in bodies
that JAX traced before, and where the tracer is not asked.

Its pass is called *sink*: it turns constvars of arrays into Literals, and changes nothing else.
`lift` (`engine/ir/lifting.py`) is the inverse.

Source: JAX's note "Handling of closed-over constants", section "Tracing".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_not
from typing import Any, TypeVar

from engine.ir.closures import (
    UNKNOWN,
    Group,
    Key,
    Operand,
    closures_of,
    constvars_of,
    names_of,
    remember_order,
    variables_read,
    with_names,
)
from engine.ir.jaxprs import (
    Body,
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Var,
    bodies_in,
    consts_of,
    is_literalable,
)
from engine.ir.lifting import is_array
from engine.ir.rewriting import BodyRewriting
from engine.jax_internals import replaced

B = TypeVar("B", bound=Body)
Arrays = Mapping[Var, Any]  # the value of each variable that becomes a Literal


def normalize(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Sink every array that is a constvar into Literals; idempotent.

    Returns its argument where there is nothing to sink, which is the usual case.

    Example::

        closed_jaxpr = engine.make_jaxpr(lambda x: x + table, constants="legacy")(1.0)
        assert normalize(closed_jaxpr).consts == []
    """
    for body in bodies_in(closed_jaxpr):
        if any(map(_is_sinkable, consts_of(body))):
            return _Sinking().body(closed_jaxpr)
    return closed_jaxpr


def _is_sinkable(value: Any) -> bool:
    return is_array(value) and is_literalable(value)


class _Sinking(BodyRewriting):
    """One run of the pass; a body that is shared stays shared."""

    def __init__(self) -> None:
        super().__init__()
        self._without: dict[tuple[Any, ...], tuple[Any, Body]] = {}

    def body(self, body: B) -> B:
        """Return a function whose arrays are Literals; the same object if nothing changes."""
        if id(body) not in self._done and self._sunk_constvars(body):
            self._done[id(body)] = body, self._sunk(body, {})
        return super().body(body)

    def _sunk_constvars(self, body: Body) -> Arrays:
        """Return the constvars to sink: no Literal can stand for one that nothing reads."""
        pairs = [(var, const) for var, const in constvars_of(body) if _is_sinkable(const)]
        read = variables_read(body) if pairs else set()
        return {var: const for var, const in pairs if var in read}

    def _sunk(self, body: Body, of_inputs: Arrays) -> Body:
        """Return a body with its own arrays, and those of its inputs, as Literals."""
        sunk = self._sunk_constvars(body)
        arrays = {**of_inputs, **sunk}
        if not arrays:
            return self.body(body)

        def read(atom: Any) -> Any:
            if isinstance(atom, Var) and atom in arrays:
                return Literal(arrays[atom], atom.aval)
            return atom

        eqns = []
        for eqn in body.eqns:
            invars, params = self._equation_without_closures(eqn, arrays)
            invars = [read(atom) for atom in invars]
            if params is not eqn.params or any(map(is_not, invars, eqn.invars)):
                eqn = eqn.replace(invars=invars, params=params)
            eqns.append(eqn)
        new = replaced(body, eqns=eqns, outvars=[read(atom) for atom in body.outvars])
        return self._without_constvars(new, sunk) if sunk else new

    def _without_constvars(self, body: Body, sunk: Arrays) -> Body:
        own = constvars_of(body)
        kept = [(var, const) for var, const in own if var not in sunk]
        new = replaced(body, constvars=[v for v, _ in kept], consts=[c for _, c in kept])
        kept_at = {var: i for i, (var, _) in enumerate(kept)}
        remember_order(new, [kept_at.get(var, Key(id(const))) for var, const in own])
        return new

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
        read = [variables_read(body) for body in group.bodies]
        dropped = {
            i: arrays[atom]
            for i, atom in enumerate(group.operands)
            if isinstance(atom, Var)
            and atom in arrays
            and not (names and names[i])
            and any(
                body.invars[i] in variables
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
        invars = body.invars
        new = self._sunk(body, {invars[i]: value for i, value in dropped.items()})
        if not dropped:
            return new
        names = names_of(body)
        if names is None:
            names = ("",) * count + (UNKNOWN,) * (len(invars) - count)
        kept = [i for i in range(len(invars)) if i not in dropped]
        new = replaced(
            new,
            invars=[invars[i] for i in kept],
            debug_info=with_names(new, [names[i] for i in kept]),
        )
        kept_at = {i: n for n, i in enumerate(kept)}
        order = [Key(id(dropped[i])) if i in dropped else kept_at[i] for i in range(count)]
        remember_order(new, order)
        return new
