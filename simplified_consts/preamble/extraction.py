"""Split a program into a preamble and a rest, which has a stand-in for each result of the preamble.

The rest has a Literal wherever it reads a value that the preamble computes, in bodies, too. A
result is then a constant like a captured one, and the same pass hoists both
(`simplified_consts/hoisting/closure_conversion.py`). The alternative, to pass results down as
operands, would be that pass written again.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import jax
import numpy as np

from engine import jax_internals
from engine.ir.closures import Group, NewGroup, Operand, closures_of, variables_read, with_names
from engine.ir.jaxprs import Body, ClosedJaxpr, JaxprEqn, Literal, Var
from engine.jax_internals import replaced
from simplified_consts.hoisting.liveness import live_part
from simplified_consts.preamble.constant_graph import (
    Computed,
    Known,
    ProgramConstant,
    Scope,
)
from simplified_consts.preamble.constant_search import constant_graph
from simplified_consts.preamble.profitability import (
    LIMITS,
    Limits,
    choose_results,
    operations_below,
)
from simplified_consts.preamble.program_key import meaning_of


@dataclass(frozen=True, eq=False)
class Result:
    """Stand-in for result number `index` of a preamble, until the preamble has run."""

    index: int
    aval: Any


@dataclass(frozen=True, eq=False)
class Preamble:
    """A program without arguments, and its results by key (`results`), filled by `once`."""

    closed_jaxpr: ClosedJaxpr
    results: dict[Hashable, Any] = field(default_factory=dict)
    # Reentrant: a finalizer of the user's may call programs.
    _computing: threading.RLock = field(default_factory=threading.RLock)

    def once(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Compute the result for a key at most once; return it. A re-entrant call recomputes."""
        with self._computing:
            if key not in self.results:
                computed = compute()
                self.results.setdefault(key, computed)
            return self.results[key]


@dataclass(frozen=True, eq=False)
class Extraction:
    """A preamble, and the rest of its program with Literals of `Result`s."""

    preamble: Preamble
    rest: ClosedJaxpr


def extract(
    closed_jaxpr: ClosedJaxpr,
    embed_threshold: int,
    is_constant: Callable[[Any], bool] = lambda value: True,
    limits: Limits | None = None,
    representative: Callable[[Any], Any] = lambda value: value,
) -> Extraction | None:
    """Take the preamble out of a live program; None if no part of it is worth a preamble.

    `embed_threshold` is in bytes, `is_constant` may leave captured arrays out, and `limits`
    defaults to `profitability.LIMITS`. `representative` says which array stands for an equal one.

    Example::

        extract(closed_jaxpr, 32).preamble.closed_jaxpr
    """
    graph = constant_graph(closed_jaxpr, is_constant, representative)
    try:
        chosen = choose_results(graph, embed_threshold, limits or LIMITS)
        if not chosen:
            return None
        jax_internals.give_type_to(Result)  # here and not at import, which changes nothing in JAX
        stand_ins = {value: Result(i, value.aval) for i, value in enumerate(chosen)}
        rest = cast(ClosedJaxpr, _Rest(stand_ins).body(graph.program))
        operations = operations_below(chosen)
        in_order = [operation for operation in graph.operations if operation in operations]
        return Extraction(_shared(_program_of(in_order, chosen, closed_jaxpr)), rest)
    finally:
        graph.let_go()


# -- the rest ------------------------------------------------------------------------------------


class _Rest:
    """Rewrites each scope once; an unchanged body stays the same object."""

    def __init__(self, stand_ins: Mapping[Computed, Result]) -> None:
        self._literals = {value: Literal(r, r.aval) for value, r in stand_ins.items()}
        self._bodies: dict[int, Body] = {}

    def body(self, scope: Scope) -> Body:
        if id(scope) not in self._bodies:
            self._bodies[id(scope)] = self._rewritten(scope)
        return self._bodies[id(scope)]

    def _rewritten(self, scope: Scope) -> Body:
        def read(atom: Any) -> Any:
            known = None if isinstance(atom, Literal) else scope.known.get(atom)
            return self._literals.get(known, atom) if isinstance(known, Computed) else atom

        body = scope.body
        outvars = [read(atom) for atom in body.outvars]
        needed = {atom for atom in outvars if isinstance(atom, Var)}
        eqns: list[JaxprEqn] = []
        for index, eqn in reversed(list(enumerate(body.eqns))):
            if index in scope.constant and needed.isdisjoint(eqn.outvars):
                continue
            eqn = self._equation(scope, index, eqn, [read(atom) for atom in eqn.invars])
            needed.update(atom for atom in eqn.invars if isinstance(atom, Var))
            eqns.append(eqn)
        eqns.reverse()
        unchanged = len(eqns) == len(body.eqns) and all(
            a is b for a, b in zip(eqns, body.eqns, strict=True)
        )
        if unchanged and all(a is b for a, b in zip(outvars, body.outvars, strict=True)):
            return body
        return replaced(body, eqns=eqns, outvars=outvars)

    def _equation(self, scope: Scope, index: int, eqn: JaxprEqn, invars: list[Any]) -> JaxprEqn:
        changed: dict[int, Any] = {}
        for inner in scope.within.get(index, ()):
            body = self.body(inner)
            if body is not inner.body:
                changed[id(inner.body)] = body
        if changed:
            eqn = eqn.replace(params=_with_bodies(eqn.params, changed))
        if any(a is not b for a, b in zip(invars, eqn.invars, strict=True)):
            eqn = eqn.replace(invars=invars)
        return _without_unread_operands(eqn, are_changed=bool(changed))


def _with_bodies(params: Mapping[str, Any], changed: Mapping[int, Any]) -> dict[str, Any]:
    def replace(value: Any) -> Any:
        if isinstance(value, tuple) and any(id(item) in changed for item in value):
            return tuple(changed.get(id(item), item) for item in value)
        return changed.get(id(value), value)

    return {name: replace(value) for name, value in params.items()}


def _without_unread_operands(eqn: JaxprEqn, are_changed: bool) -> JaxprEqn:
    """Cut dead code from the bodies of an equation, and operands that these then do not read.

    JAX does this for other primitives when it removes dead code (jax 0.10.2). An unread operand
    would keep alive all that it is computed from. Derivative rules may want all operands, but
    nothing is derived from a program that is being lowered. A traced loop reads all its operands,
    so only loops whose bodies `are_changed` need this.
    """
    if eqn.primitive.name == "while":
        closures = closures_of(eqn)
        if closures is None or not are_changed:
            return eqn
        invars, params = closures.rebuilt(list(map(_with_read_operands, closures.groups)))
        eqn = eqn.replace(invars=invars, params={**eqn.params, **params})
    elif eqn.primitive.name in ("custom_jvp_call", "custom_vjp_call"):
        body, keep = _without_unread_inputs(eqn.params["call_jaxpr"], len(eqn.invars))
        if all(keep):
            return eqn
        num_consts = sum(keep[: eqn.params["num_consts"]])
        invars = [atom for atom, kept in zip(eqn.invars, keep, strict=True) if kept]
        params = {**eqn.params, "call_jaxpr": body, "num_consts": num_consts}
        eqn = eqn.replace(invars=invars, params=params)
    return eqn


def _with_read_operands(group: Group) -> NewGroup:
    body, keep = _without_unread_inputs(group.bodies[0], len(group.operands))
    operands = [Operand(atom, i) for i, atom in enumerate(group.operands) if keep[i]]
    return [body], operands


def _without_unread_inputs(body: Body, count: int) -> tuple[Body, list[bool]]:
    """Cut unread inputs from the first `count` of a body; return it, and a flag for each: kept?"""
    live = live_part(cast(ClosedJaxpr, body))
    if live.effects:  # effects on references name their input by its index
        return live, [True] * count
    read = variables_read(live)
    keep = [var in read for var in live.invars[:count]]
    gone = {i for i, kept in enumerate(keep) if not kept}
    debug_info = live.debug_info
    if (names := debug_info.arg_names) is not None:
        debug_info = with_names(live, [name for i, name in enumerate(names) if i not in gone])
    invars = [var for i, var in enumerate(live.invars) if i not in gone]
    return replaced(live, invars=invars, debug_info=debug_info), keep


# -- the preamble --------------------------------------------------------------------------------


def _program_of(
    operations: Sequence[Any], results: Sequence[Computed], closed_jaxpr: ClosedJaxpr
) -> ClosedJaxpr:
    """Make a program of the operations in order: captured arrays as constvars, no inputs."""
    constvars: dict[ProgramConstant, Var] = {}
    variables: dict[Computed, Var] = {}

    def atom_of(known: Known) -> Any:
        if isinstance(known, Computed):
            return variables[known]
        if not isinstance(known.value, (jax.Array, np.ndarray)):
            return known.atom  # the scalar's own Literal, which has its type
        if known not in constvars:
            constvars[known] = jax_internals.new_var(jax_internals.typeof(known.value))
        return constvars[known]

    eqns = []
    for operation in operations:
        invars = [atom_of(known) for known in operation.inputs]
        outvars = [jax_internals.new_var(value.aval) for value in operation.outputs]
        variables.update(zip(operation.outputs, outvars, strict=True))
        eqn = operation.eqn.replace(invars=invars, outvars=outvars)
        eqns.append(jax_internals.named_within(operation.scope, eqn))
    return replaced(
        closed_jaxpr,
        constvars=list(constvars.values()),
        consts=[constant.value for constant in constvars],
        invars=[],
        outvars=[variables[value] for value in results],
        eqns=eqns,
        effects=frozenset(),
        debug_info=closed_jaxpr.debug_info._replace(arg_names=(), result_paths=None),
    )


# Each signature of a function has its own trace and preamble; equal preambles over the same arrays
# are shared. A preamble holds its arrays, which prevents reuse of the ids in its key.
_preambles: weakref.WeakValueDictionary[Hashable, Preamble] = weakref.WeakValueDictionary()


def _shared(closed_jaxpr: ClosedJaxpr) -> Preamble:
    return _preambles.setdefault(meaning_of(closed_jaxpr), Preamble(closed_jaxpr))
