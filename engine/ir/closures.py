"""Which operands of an equation are closed-over values, and how an equation gets others.

A body has no free variables: what it closed over comes as leading operands, its *closures*, before
the operands of the user. `closures_of` finds them, primitive by primitive, and `Closures.rebuilt`
makes the equation anew with other ones. *Lift* and hoisting add arrays to them, *sink* takes arrays
away. Beside this table only the preamble knows primitives with bodies: it asks how often each runs.

Where an equation does not count its closures, the names of a body's arguments do: JAX gives a
closed-over value the empty name. Some of its functions lose the names (jax 0.10.2): `count` is None
there. So a pass that changes closures gives the bodies names from which the closures can be told.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
from jax.sharding import PartitionSpec

from engine import jax_internals
from engine.ir.jaxprs import Body, JaxprEqn, Var, consts_of
from engine.jax_internals import is_body, open_part


class Key(NamedTuple):
    """The identity of an array, told apart from an index."""

    of: Hashable


class Operand(NamedTuple):
    """A closed-over operand; `place` is where it is among the equation's own ones, None if new."""

    atom: Any
    place: int | None


@dataclass(frozen=True)
class Group:
    """Bodies that take the same closures, in the order in which JAX traced them.

    `operands` are all operands that may be closures, and the first `count` of them are; None where
    nobody knows.
    """

    bodies: tuple[Body, ...]
    operands: tuple[Any, ...]
    count: int | None


# The bodies and the closures that a group is to have.
NewGroup = tuple[Sequence[Body], Sequence[Operand]]


@dataclass(frozen=True)
class Closures:
    """The closures of an equation.

    - `groups`: in the order of their operands.
    - `rebuilt(groups)`: the operands and the changed params with these groups in place of its own.
    """

    groups: tuple[Group, ...]
    rebuilt: Callable[[Sequence[NewGroup]], tuple[list[Any], dict[str, Any]]]


def closures_of(eqn: JaxprEqn) -> Closures | None:
    """Return the closures of an equation; None for a primitive whose operands cannot change."""
    rule = _RULES.get(eqn.primitive.name)
    return None if rule is None else rule(eqn)


def _atoms(operands: Sequence[Operand]) -> list[Any]:
    return [operand.atom for operand in operands]


def constvars_of(body: Body) -> list[tuple[Var, Any]]:
    """Return the constvars of a body with their values; none for an open body."""
    consts = consts_of(body)
    return list(zip(body.constvars, consts, strict=True)) if consts else []


def variables_read(body: Body) -> set[Var]:
    """Return the variables that the equations and the outputs of a body read."""
    atoms = [*body.outvars, *(atom for eqn in body.eqns for atom in eqn.invars)]
    return {atom for atom in atoms if isinstance(atom, Var)}


def names_of(body: Body) -> tuple[str, ...] | None:
    """Return the names of the arguments of a body; None where they are unknown."""
    names = body.debug_info.arg_names
    return None if names is None or len(names) != len(body.invars) else tuple(names)


def with_names(body: Body, names: Sequence[str]) -> Any:
    """Return the debug info of a body with other names of its arguments."""
    return body.debug_info._replace(arg_names=tuple(names))


# The name of an argument whose name is lost, as JAX writes it in messages.
UNKNOWN = "unknown"


def _unnamed(body: Body) -> int | None:
    """Return the number of arguments up to the last without a name; None where all are unknown."""
    names = names_of(body)
    if names is None:
        return None
    return next((i + 1 for i in reversed(range(len(names))) if not names[i]), 0)


# The order that closures or constvars had before `sink` took some, which no program in the
# simplified form can say: indices of those that stayed, and keys of the others. JAX's own order is
# one of a trace, and differentiation and batching read the values in another one.
_orders: weakref.WeakKeyDictionary[Any, tuple[int | Key, ...]] = weakref.WeakKeyDictionary()


def remember_order(body: Body, order: Sequence[int | Key]) -> None:
    """Remember in which order a body had its closures or constvars."""
    _orders[open_part(body)] = tuple(order)


def remembered_order(body: Body) -> tuple[int | Key, ...]:
    """Return what was remembered of a body; empty where nothing was."""
    return _orders.get(open_part(body), ())


def _scan(eqn: JaxprEqn) -> Closures:
    n = jax_internals.num_scan_consts(eqn.params)

    def rebuilt(groups: Sequence[NewGroup]) -> tuple[list[Any], dict[str, Any]]:
        [([body], operands)] = groups
        more = len(operands) - n
        counted = jax_internals.with_scan_consts(eqn.params, more) if more else {}
        return [*_atoms(operands), *eqn.invars[n:]], {**counted, "jaxpr": body}

    return Closures((Group((eqn.params["jaxpr"],), tuple(eqn.invars[:n]), n),), rebuilt)


def _while(eqn: JaxprEqn) -> Closures:
    n, m = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]

    def rebuilt(groups: Sequence[NewGroup]) -> tuple[list[Any], dict[str, Any]]:
        [([cond], of_cond), ([body], of_body)] = groups
        params = {
            "cond_jaxpr": cond,
            "cond_nconsts": len(of_cond),
            "body_jaxpr": body,
            "body_nconsts": len(of_body),
        }
        return [*_atoms(of_cond), *_atoms(of_body), *eqn.invars[n + m :]], params

    groups = (
        Group((eqn.params["cond_jaxpr"],), tuple(eqn.invars[:n]), n),
        Group((eqn.params["body_jaxpr"],), tuple(eqn.invars[n : n + m]), m),
    )
    return Closures(groups, rebuilt)


def _cond(eqn: JaxprEqn) -> Closures:
    # `lax.cond` traces the branch for True first, which is the last; `lax.switch` goes in order.
    branches = eqn.params["branches"]
    in_order = -1 if branches[0].debug_info.traced_for == "cond" else 1
    known = [count for count in map(_unnamed, branches) if count is not None]

    def rebuilt(groups: Sequence[NewGroup]) -> tuple[list[Any], dict[str, Any]]:
        [(bodies, operands)] = groups
        rest = eqn.invars[1 + len(group.operands) :]
        return [eqn.invars[0], *_atoms(operands), *rest], {"branches": tuple(bodies[::in_order])}

    group = _group(branches[::in_order], eqn.invars[1:], known[0] if known else None)
    return Closures((group,), rebuilt)


def _group(bodies: Sequence[Body], operands: Sequence[Any], count: int | None) -> Group:
    return Group(tuple(bodies), tuple(operands if count is None else operands[:count]), count)


def _body(changed: Callable[..., dict[str, Any]] | None = None, *, lost: int | None = None) -> Any:
    """Make the rule of a primitive of one body, all of whose operands go to the body.

    `changed(eqn, old, new)` returns other params that change: `old` closures become `new`. `lost`
    is the number of closures where the names are lost.
    """

    def rule(eqn: JaxprEqn) -> Closures:
        # Found and not named, because JAX renames params: a composite's `jaxpr` is `call_jaxpr`.
        [param] = [name for name, value in eqn.params.items() if is_body(value)]

        def rebuilt(groups: Sequence[NewGroup]) -> tuple[list[Any], dict[str, Any]]:
            [([body], operands)] = groups
            old = len(group.operands)
            params = changed(eqn, old, operands) if changed else {}
            return [*_atoms(operands), *eqn.invars[old:]], {param: body, **params}

        count = eqn.params.get("num_consts", _unnamed(eqn.params[param]))
        group = _group([eqn.params[param]], eqn.invars, lost if count is None else count)
        return Closures((group,), rebuilt)

    return rule


def _per_operand(
    values: Sequence[Any], old: int, new: Sequence[Operand], added: Any
) -> tuple[Any, ...]:
    kept = [added if operand.place is None else values[operand.place] for operand in new]
    return (*kept, *values[old:])


def _checkpoint(eqn: JaxprEqn, old: int, new: Sequence[Operand]) -> dict[str, Any]:
    prevent_cse = eqn.params["prevent_cse"]
    if not isinstance(prevent_cse, tuple):
        return {}
    return {"prevent_cse": _per_operand(prevent_cse, old, new, False)}  # constants need no barrier


def _custom_derivative(eqn: JaxprEqn, old: int, new: Sequence[Operand]) -> dict[str, Any]:
    del eqn, old
    return {"num_consts": len(new)}


def _shard_map(eqn: JaxprEqn, old: int, new: Sequence[Operand]) -> dict[str, Any]:
    return {"in_specs": _per_operand(eqn.params["in_specs"], old, new, PartitionSpec())}


def _custom_vmap(eqn: JaxprEqn, old: int, new: Sequence[Operand]) -> dict[str, Any]:
    # The rule for batching is called with a list of the closures and the user's arguments.
    del old
    _, *arguments = jax.tree.unflatten(eqn.params["in_tree"], eqn.invars)
    return {"in_tree": jax.tree.structure(([0] * len(new), *arguments))}


def _jit(eqn: JaxprEqn, old: int, new: Sequence[Operand]) -> dict[str, Any]:
    return {
        name: _per_operand(eqn.params[name], old, new, added)
        for name, added in (
            ("in_shardings", jax_internals.UNSPECIFIED),
            ("in_layouts", None),
            ("donated_invars", False),
        )
    }


def _linear_solve(eqn: JaxprEqn) -> Closures:
    lengths, jaxprs = eqn.params["const_lengths"], eqn.params["jaxprs"]
    present = [i for i, body in enumerate(jaxprs) if body is not None]
    starts = [sum(lengths[:i]) for i in range(len(lengths))]

    def rebuilt(groups: Sequence[NewGroup]) -> tuple[list[Any], dict[str, Any]]:
        bodies: list[Any] = [None] * len(jaxprs)
        new_lengths, invars = [0] * len(jaxprs), []
        for i, ([body], operands) in zip(present, groups, strict=True):
            bodies[i], new_lengths[i] = body, len(operands)
            invars += _atoms(operands)
        params = {
            "const_lengths": type(lengths)(*new_lengths),
            "jaxprs": type(jaxprs)(*bodies),
        }
        return [*invars, *eqn.invars[sum(lengths) :]], params

    groups = tuple(
        Group((jaxprs[i],), tuple(eqn.invars[starts[i] : starts[i] + lengths[i]]), lengths[i])
        for i in present
    )
    return Closures(groups, rebuilt)


_RULES: dict[str, Callable[[JaxprEqn], Closures]] = {
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "remat2": _body(_checkpoint),
    "checkpoint": _body(_checkpoint),
    "custom_jvp_call": _body(_custom_derivative),
    "custom_vjp_call": _body(_custom_derivative),
    "custom_linear_solve": _linear_solve,
    "jit": _body(_jit, lost=0),
    "closed_call": _body(lost=0),
    "call": _body(lost=0),
    "eval_jaxpr": _body(lost=0),  # the calls of one body have this name since jax 0.11.1
    "composite": _body(),
    "custom_vmap_call": _body(_custom_vmap),
    "shard_map": _body(_shard_map),
}

# The primitives whose bodies close over values.
CLOSING = _RULES.keys()
