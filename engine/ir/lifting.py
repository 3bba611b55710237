"""Lifting: turn Literals of arrays into constvars, and change nothing else.

The legacy form of a program, made from any form. Bodies of control flow receive the arrays as
leading operands; the body of a jit has constvars of its own. `sink` is the inverse.

JAX's tracer numbers constants in the order in which it meets them, values of an enclosing trace
among them, and so does this pass: a lifted program prints as the one that JAX traces in this form.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_not
from typing import Any, NamedTuple, TypeVar, cast

import jax
import numpy as np

from engine import jax_internals
from engine.ir.closures import (
    CLOSING,
    UNKNOWN,
    Group,
    Key,
    Operand,
    closures_of,
    constvars_of,
    names_of,
    remembered_order,
    with_names,
)
from engine.ir.jaxprs import (
    Body,
    ClosedJaxpr,
    JaxprEqn,
    Literal,
    Var,
    bodies_of,
    constant_key,
    contents_of,
)
from engine.ir.rewriting import BodyRewriting
from engine.jax_internals import is_body, replaced

B = TypeVar("B", bound=Body)


def is_array(value: Any) -> bool:
    """Say whether a captured value is an array of any shape; `lift` leaves Python scalars alone."""
    return isinstance(value, jax.Array) or np.ndim(value) > 0


def lift(
    closed_jaxpr: ClosedJaxpr,
    wanted: Callable[[Any], bool] = is_array,
    *,
    each_function_its_own: bool = False,
) -> ClosedJaxpr:
    """Turn Literals of arrays into constvars, all of them or the `wanted` ones; idempotent.

    Returns its argument if there is nothing to lift, the usual case. A jit that closes over values
    of an enclosing trace gets its arrays as operands, too, as from JAX's tracer; constvars of its
    own with `each_function_its_own`, so that a lowering inlines them there.

    Example::

        closed_jaxpr = engine.make_jaxpr(lambda x: x + table, constants="simplified")(1.0)
        assert lift(closed_jaxpr).consts[0] is table
    """
    if not _holds(closed_jaxpr, wanted, True):
        return closed_jaxpr
    return _Lifting(wanted, each_function_its_own).function(closed_jaxpr)


# Their bodies are functions of the lowered module that may have constvars. JAX's tracer gives them
# to the first of these alone, and passes the others what they close over.
_FUNCTIONS = ("jit", "closed_call", "eval_jaxpr", "composite", "custom_vmap_call")
_WITH_CONSTVARS = _FUNCTIONS[:3]


def _holds(body: Body, wanted: Callable[[Any], bool], is_reached: bool) -> bool:
    """Say whether there is a Literal to lift in a body.

    A body of a primitive that cannot get operands is not reached, but functions within it are.
    """
    literals, nested, _ = contents_of(body)
    if is_reached and any(wanted(literal.val) for literal in literals):
        return True
    for eqn, bodies in nested:
        name = eqn.primitive.name
        reaches = name in _FUNCTIONS or (is_reached and name in CLOSING)
        if any(_holds(inner, wanted, reaches) for inner in bodies):
            return True
    return False


class _Constant(NamedTuple):
    """An array that a body needs as a closure, in place of an atom."""

    key: Hashable
    value: Any


@dataclass(frozen=True)
class _Lifted:
    """A body whose arrays are `variables`; `met` numbers variables and keys as they are met."""

    body: Body
    variables: Mapping[Hashable, tuple[Var, Any]]
    met: Mapping[Hashable, int]


class _Lifting(BodyRewriting):
    """One run of `lift`; a body that is shared stays shared."""

    def __init__(self, wanted: Callable[[Any], bool], each_function_its_own: bool) -> None:
        super().__init__()
        self._wanted = wanted
        self._own = _FUNCTIONS if each_function_its_own else _WITH_CONSTVARS
        self._each_function_its_own = each_function_its_own
        # JAX's tracer tells constants apart as objects; a lowering tells memory apart.
        self._key: Callable[[Any], Hashable] = constant_key if each_function_its_own else id
        self._functions: dict[int, tuple[Body, Body]] = {}
        self._lifted: dict[int, tuple[Body, _Lifted]] = {}
        self._closed: dict[tuple[Any, ...], tuple[Body, Body]] = {}

    def function(self, function: B) -> B:
        """Return a function whose arrays are constvars of its own."""
        if id(function) not in self._functions:
            self._functions[id(function)] = function, self._with_constvars(function)
        return cast(B, self._functions[id(function)][1])

    def _with_constvars(self, function: Body) -> Body:
        if not _holds(function, self._wanted, True):
            return function
        lifted, own = self._lift(function), constvars_of(function)
        order = _order([(lifted, [var for var, _ in own])], remembered_order(function))
        pairs = [own[o] if isinstance(o, int) else lifted.variables[o.key] for o in order]
        constvars, consts = [var for var, _ in pairs], [const for _, const in pairs]
        return replaced(lifted.body, constvars=constvars, consts=consts)

    def params(self, eqn: JaxprEqn) -> dict[str, Any]:
        """Return the params of an equation that cannot get operands, or needs none."""
        if eqn.primitive.name not in self._own:
            return super().params(eqn)
        changed = {
            name: self.function(value) for name, value in eqn.params.items() if is_body(value)
        }
        same = all(changed[name] is eqn.params[name] for name in changed)
        return eqn.params if same else {**eqn.params, **changed}

    def _lift(self, body: Body) -> _Lifted:
        """Turn the arrays of a body into variables, which nothing binds yet."""
        if id(body) not in self._lifted:
            self._lifted[id(body)] = body, self._lift_anew(body)  # holding it prevents id reuse
        return self._lifted[id(body)][1]

    def _lift_anew(self, body: Body) -> _Lifted:
        own = {self._key(const): var for var, const in constvars_of(body) if self._wanted(const)}
        variables: dict[Hashable, tuple[Var, Any]] = {}
        met: dict[Hashable, int] = {}

        def read(atom: Any) -> Any:
            if isinstance(atom, Literal) and self._wanted(atom.val):
                atom = _Constant(self._key(atom.val), atom.val)
            if isinstance(atom, _Constant):
                if atom.key not in own:
                    if atom.key not in variables:
                        var = jax_internals.new_var(jax_internals.typeof(atom.value))
                        variables[atom.key] = var, atom.value
                    met.setdefault(atom.key, len(met))
                    return variables[atom.key][0]
                atom = own[atom.key]
            if isinstance(atom, Var):
                met.setdefault(atom, len(met))
            return atom

        eqns = []
        for eqn in body.eqns:
            invars, params = self._equation_with_closures(eqn)
            invars = [read(atom) for atom in invars]
            if params is not eqn.params or any(map(is_not, invars, eqn.invars)):
                eqn = eqn.replace(invars=invars, params=params)
            eqns.append(eqn)
        outvars = [read(atom) for atom in body.outvars]
        return _Lifted(replaced(body, eqns=eqns, outvars=outvars), variables, met)

    def _equation_with_closures(self, eqn: JaxprEqn) -> tuple[Sequence[Any], dict[str, Any]]:
        """Return the operands and params of an equation, with `_Constant`s for new operands."""
        if not eqn.params:
            return eqn.invars, eqn.params
        if (closures := closures_of(eqn)) is None:
            return eqn.invars, self.params(eqn)
        arrays = (self._is_wanted(atom) for group in closures.groups for atom in group.operands)
        bodies = (_holds(body, self._wanted, True) for body in bodies_of(eqn))
        if not any(arrays) and not any(bodies):
            return eqn.invars, eqn.params
        if eqn.primitive.name in self._own:
            [group] = closures.groups
            if self._each_function_its_own or not group.count:
                return eqn.invars, self.params(eqn)
        invars, changed = closures.rebuilt([self._closed_group(g) for g in closures.groups])
        return invars, {**eqn.params, **changed}

    def _closed_group(self, group: Group) -> tuple[list[Body], list[Operand]]:
        """Return the bodies with their arrays among the leading inputs, and the operands."""
        lifted = [(self._lift(body), body.invars[: len(group.operands)]) for body in group.bodies]
        count = _met_in_order(lifted) if group.count is None else group.count
        remembered = remembered_order(group.bodies[0])
        order = _order([(one, invars[:count]) for one, invars in lifted], remembered)
        # An operand that is an array already keeps its place: it was not closed over.
        arrays = {i for i, atom in enumerate(group.operands) if self._is_wanted(atom)}
        bodies = [
            self._with_leading(body, order, count, frozenset(arrays)) for body in group.bodies
        ]
        operands = [
            Operand(group.operands[o], o) if isinstance(o, int) else Operand(o, None) for o in order
        ]
        rest = [Operand(group.operands[i], i) for i in range(count, len(group.operands))]
        return bodies, [*operands, *rest]

    def _is_wanted(self, atom: Any) -> bool:
        return isinstance(atom, Literal) and self._wanted(atom.val)

    def _with_leading(
        self, body: Body, order: Sequence[int | _Constant], count: int, arrays: frozenset[int]
    ) -> Body:
        memo_key = id(body), tuple(o if isinstance(o, int) else o.key for o in order), arrays
        if memo_key not in self._closed:
            self._closed[memo_key] = body, self._with_leading_anew(body, order, count, arrays)
        return self._closed[memo_key][1]

    def _with_leading_anew(
        self, body: Body, order: Sequence[int | _Constant], count: int, arrays: frozenset[int]
    ) -> Body:
        lifted = self._lift(body)
        leading = [
            body.invars[o]
            if isinstance(o, int)
            else lifted.variables[o.key][0]
            if o.key in lifted.variables
            else jax_internals.new_var(jax_internals.typeof(o.value))
            for o in order
        ]
        old = names_of(body) or (("",) * count + (UNKNOWN,) * (len(body.invars) - count))
        names = ["" if not isinstance(o, int) or o not in arrays else UNKNOWN for o in order]
        return replaced(
            lifted.body,
            invars=[*leading, *body.invars[count:]],
            debug_info=with_names(body, (*names, *old[count:])),
        )


def _order(
    bodies: Sequence[tuple[_Lifted, Sequence[Var]]], remembered: Sequence[int | Key]
) -> list[int | _Constant]:
    """Return the order of closures in JAX's tracer: indices of those that there are, and new ones.

    `bodies` are the bodies of a group, each with its variables of the closures that there are,
    which stay in their order. An order that is `remembered` of just these closures is theirs.
    """
    met = _as_met(bodies)
    entries = {o if isinstance(o, int) else Key(o.key): o for o in met}
    if len(remembered) == len(entries) and all(o in entries for o in remembered):
        return [entries[o] for o in remembered]
    indices = iter(range(len(bodies[0][1])))
    return [next(indices) if isinstance(o, int) else o for o in met]


def _met_in_order(bodies: Sequence[tuple[_Lifted, Sequence[Var]]]) -> int:
    """Guess how many operands are closures: those that the tracer met in the order of operands."""
    operands = [o for o in _as_met(bodies) if isinstance(o, int)]
    return next((n for n, i in enumerate(operands) if n != i), len(operands))


def _as_met(bodies: Sequence[tuple[_Lifted, Sequence[Var]]]) -> list[int | _Constant]:
    """Return closures as the first body meets them, then those that only the next one meets."""
    order: dict[Hashable, int | _Constant] = {}
    for lifted, own in bodies:
        met: list[tuple[int, int | _Constant]] = [
            (lifted.met[var], i) for i, var in enumerate(own) if var in lifted.met
        ]
        for key, (_, value) in lifted.variables.items():
            met.append((lifted.met[key], _Constant(key, value)))
        for _, one in sorted(met, key=lambda numbered: numbered[0]):
            order.setdefault(one if isinstance(one, int) else ("array", one.key), one)
    for i in range(len(bodies[0][1])):
        order.setdefault(i, i)  # nothing reads it
    return list(order.values())
