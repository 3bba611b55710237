"""Decide whether two programs lower to the same module.

Two programs are equal if all that lowering reads of a jaxpr is equal: equations with their params,
types, effects and contexts, embedded values, names and source locations. Equal programs lower to
the same module, byte for byte.

Cached programs are copied (`kept`) if they hold the user's arrays: these may be deleted, donated or
written to after the lowering, and the cache must not keep them alive.

JAX (0.10.2) interns types and contexts, so they are compared by identity. Params are compared by
value if their type is known to be a value type. A program with any other param (a callback, a
policy, an exported program) equals no other program: at worst a program is lowered anew. An
`outline`, which is cheap, finds the few candidates to compare. Hashing the whole program instead
would slow down every program that is lowered once, as most are.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, cast

import jax
import numpy as np

from engine import jax_internals
from engine.configuration.settings import embedded_constants_max_bytes
from engine.ir.array_snapshots import without_repeats
from engine.ir.jaxprs import Body, ClosedJaxpr, JaxprEqn, Literal, consts_of
from engine.ir.rewriting import BodyRewriting
from engine.jax_internals import is_body, open_part

# Largest embedded array, in bytes, that is compared: each comparison reads all of it.
MOST_BYTES = 4096

# Params that lowering does not read: functions of the user, which may hold arrays.
UNREAD = {
    "custom_jvp_call": {"jvp_jaxpr_fun"},
    "custom_vjp_call": {"fwd_jaxpr_thunk", "bwd", "out_trees"},
    "remat2": {"policy"},
    "checkpoint": {"policy"},
}
_ALL_READ: set[str] = set()

COMPARED_BY_EQUALITY = (
    *(bool, int, str, bytes, type(None), np.dtype, enum.Enum, frozenset),
    *jax_internals.COMPARED_BY_EQUALITY,
)


@dataclass(frozen=True)
class Outline:
    """A hash that equal programs share, and whether a program must be copied to be cached."""

    number: int
    to_be_copied: bool = field(compare=False)


def outline(closed_jaxpr: ClosedJaxpr) -> Outline | None:
    """Return the outline of a program; None for a program that equals no other one.

    Example::

        candidates = lowered_before.get(outline(closed_jaxpr), ())
    """
    if closed_jaxpr.effects:
        return None
    embed_threshold = embedded_constants_max_bytes.value
    found = [closed_jaxpr.debug_info.func_src_info, *closed_jaxpr.in_avals]
    to_be_copied = False
    pending, seen = [cast(Body, closed_jaxpr)], set()
    while pending:
        body = pending.pop()
        if id(body) in seen:
            continue
        seen.add(id(body))
        embedded = list(consts_of(body))
        for eqn in body.eqns:
            found.append(eqn.primitive)
            if eqn.outvars:
                found.append(eqn.outvars[0].aval)
            for atom in eqn.invars:
                if isinstance(atom, Literal):
                    embedded.append(atom.val)
            if not eqn.params:  # as of most equations
                continue
            unread = UNREAD.get(eqn.primitive.name, _ALL_READ)
            to_be_copied = to_be_copied or bool(unread)
            for name, value in eqn.params.items():
                if name not in unread and not _is_param(value, pending):
                    return None
        embedded += [atom.val for atom in body.outvars if isinstance(atom, Literal)]
        if not all(_is_embedded_value(value, embed_threshold) for value in embedded):
            return None
        to_be_copied = to_be_copied or any(map(_is_array, embedded))
    return Outline(hash(tuple(found)), to_be_copied)


def _is_param(param: Any, bodies: list[Body]) -> bool:
    """Say whether a param can be compared; add its bodies, the same as `bodies_of`, to `bodies`."""
    several = isinstance(param, (tuple, list)) and not isinstance(param, COMPARED_BY_EQUALITY)
    for each in param if several else (param,):
        if is_body(each):
            bodies.append(each)
        elif not _is_value(each):
            return False
    return True


def _is_value(value: Any) -> bool:
    if isinstance(value, jax_internals.ProgramName):
        return value.choices.policy is None  # the user's function, which may hold arrays
    if jax_internals.is_flat_tree(value):
        return jax_internals.is_shape_alone(value)
    if isinstance(value, COMPARED_BY_EQUALITY) or _is_number(value):
        return True
    return isinstance(value, (tuple, list)) and all(map(_is_value, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (float, complex, np.generic))


def _is_embedded_value(value: Any, embed_threshold: int) -> bool:
    """Say whether a value can be compared: a number, or an array within the embed threshold.

    JAX tells larger arrays, which only a policy embeds, apart by placement and identity.
    """
    if isinstance(value, jax.Array):
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
            return False
        if not value.is_fully_addressable:
            return False
    if _is_array(value):
        return bool(value.ndim == 0 or value.nbytes <= min(embed_threshold, MOST_BYTES))
    return isinstance(value, (bool, int)) or _is_number(value)


def kept(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Copy a program, to be lowered and cached: the copy holds none of the user's objects.

    Embedded arrays are copied; params that lowering does not read become stand-ins.

    Example::

        assert are_equal(kept(closed_jaxpr), closed_jaxpr)
    """
    return _PrivateCopy().body(closed_jaxpr)


class _PrivateCopy(BodyRewriting):
    """One run of `kept`."""

    def constant(self, value: Any) -> Any:
        return _private_copy(value) if _is_array(value) else value

    def atom(self, atom: Any) -> Any:
        if isinstance(atom, Literal) and _is_array(atom.val):
            return jax_internals.literal(_private_copy(atom.val), atom.aval)
        return atom

    def params(self, eqn: JaxprEqn) -> dict[str, Any]:
        params = super().params(eqn)
        unread = UNREAD.get(eqn.primitive.name, _ALL_READ) & params.keys()
        stand_ins = {name: jax_internals.stand_in_for(params[name]) for name in unread}
        return params | stand_ins if stand_ins else params


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray))


def _private_copy(value: Any) -> np.ndarray:
    """Copy an array with its repeats (zero strides): JAX inlines them as a broadcast."""
    array = np.asarray(value)
    small = without_repeats(array).copy()
    strides = [
        0 if stride == 0 else own for stride, own in zip(array.strides, small.strides, strict=True)
    ]
    # Not `as_strided`: it hands on the dtype as text, and NumPy cannot parse float8_e5m2's ("<f1").
    return np.ndarray(array.shape, array.dtype, small.tobytes(), strides=strides)


def are_equal(one: ClosedJaxpr, other: ClosedJaxpr) -> bool:
    """Say whether two programs with equal outlines are equal.

    Example::

        assert are_equal(plan_of_closure_1.closed_jaxpr, plan_of_closure_2.closed_jaxpr)
    """
    return one is other or _Comparison().same_body(one, other)


@dataclass
class _Comparison:
    """One comparison: pairs the variables and bodies of one program with those of the other.

    A body that is shared in one program must be shared in the other, too: JAX lowers a shared body
    to one function.
    """

    other_variable: dict[int, Any] = field(default_factory=dict)
    other_body: dict[int, Body] = field(default_factory=dict)
    one_body: dict[int, Body] = field(default_factory=dict)

    def same_body(self, one: Body, other: Body) -> bool:
        if id(one) in self.other_body or id(other) in self.one_body:
            return self.other_body.get(id(one)) is other and self.one_body.get(id(other)) is one
        self.other_body[id(one)], self.one_body[id(other)] = other, one
        consts, other_consts = consts_of(one), consts_of(other)
        if type(one) is not type(other) or len(consts) != len(other_consts):
            return False
        if not all(map(_are_equal_embedded, consts, other_consts)):
            return False
        # Never `same_body` of a body itself: it would find the pair above, and answer True.
        if open_part(one) is not one:
            return self.same_body(open_part(one), open_part(other))
        return (
            len(one.eqns) == len(other.eqns)
            and one.effects == other.effects
            and one.debug_info == other.debug_info
            and self.bind(one.constvars, other.constvars)
            and self.bind(one.invars, other.invars)
            and all(map(self.same_equation, one.eqns, other.eqns))
            and self.same_atoms(one.outvars, other.outvars)
        )

    def same_equation(self, one: JaxprEqn, other: JaxprEqn) -> bool:
        return (
            one.primitive is other.primitive
            and one.ctx is other.ctx
            and one.effects == other.effects
            and jax_internals.are_of_one_place(one.source_info, other.source_info)
            and self.same_atoms(one.invars, other.invars)
            and self.same_params(one, other)
            and self.bind(one.outvars, other.outvars)
        )

    def same_params(self, one: JaxprEqn, other: JaxprEqn) -> bool:
        unread = UNREAD.get(one.primitive.name, _ALL_READ)
        return one.params.keys() == other.params.keys() and all(
            name in unread or self.same_value(value, other.params[name])
            for name, value in one.params.items()
        )

    def same_value(self, one: Any, other: Any) -> bool:
        if is_body(one):
            return is_body(other) and self.same_body(one, other)
        if one is other:
            return True
        if type(one) is not type(other):
            return False
        if isinstance(one, COMPARED_BY_EQUALITY) or jax_internals.is_flat_tree(one):
            return bool(one == other)
        if isinstance(one, (tuple, list)):
            return len(one) == len(other) and all(map(self.same_value, one, other))
        return _are_equal_embedded(one, other)

    def bind(self, one: list[Any], other: list[Any]) -> bool:
        """Pair the variables of two binders; False if their number, kinds or types differ."""
        if len(one) != len(other):
            return False
        for var, partner in zip(one, other, strict=True):
            if type(var) is not type(partner) or var.aval is not partner.aval:
                return False
            self.other_variable[id(var)] = partner
        return True

    def same_atoms(self, one: list[Any], other: list[Any]) -> bool:
        return len(one) == len(other) and all(map(self.same_atom, one, other))

    def same_atom(self, one: Any, other: Any) -> bool:
        if isinstance(one, Literal):
            return (
                isinstance(other, Literal)
                and one.aval is other.aval
                and _are_equal_embedded(one.val, other.val)
            )
        return self.other_variable[id(one)] is other


def _are_equal_embedded(one: Any, other: Any) -> bool:
    """Say whether two numbers or arrays have equal type and bits: 0.0 is not -0.0, 1 is not True.

    An array of JAX may equal one of NumPy.
    """
    if type(one) is not type(other) and not (_is_array(one) and _is_array(other)):
        return False
    if isinstance(one, (bool, int)):
        return bool(one == other)
    return _bits(np.asarray(one)) == _bits(np.asarray(other))


def _bits(array: np.ndarray) -> tuple[Any, ...]:
    return array.dtype, array.shape, [stride == 0 for stride in array.strides], array.tobytes()
