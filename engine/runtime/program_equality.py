"""Whether two programs that JAX is to lower are one program.

They are where nothing that lowering reads of a jaxpr differs: equations with their params, types,
effects and contexts, the values that are embedded, and the names and source locations. The module
of the one is then, to the byte, that of the other.

Of a program that others are compared with, a copy is `kept` where it holds what is the user's:
arrays that are embedded may be deleted, donated or written to after it was lowered, and must not
live as long.

Types and contexts are interned by JAX (0.10.2) and compared by identity. Params are compared by
value where their type is known to be a value; a program with any other param (a callback, a policy,
an exported program) equals none. That errs on one side alone: what is not known is lowered anew.
Hashing all of a program was the alternative. It would be paid by each program that is lowered
once, which are most of them; so an `outline`, which is cheap, finds the few to compare with.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, cast

import jax
import numpy as np

from engine import jax_internals
from engine.configuration.settings import embedded_constants_max_bytes
from engine.ir.jaxprs import ClosedJaxpr, Jaxpr, JaxprEqn, Literal
from engine.ir.rewriting import BodyRewriting
from engine.ir.snapshots import without_repeats

Body = Jaxpr | ClosedJaxpr

# Bytes of an embedded array that is compared: each comparison reads it.
MOST_BYTES = 4096

# What lowering does not read. They are functions of the user, and may hold his arrays.
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
    """What equal programs have in common: a number; and whether one is to be copied to be kept."""

    number: int
    to_be_copied: bool = field(compare=False)


def outline(closed_jaxpr: ClosedJaxpr) -> Outline | None:
    """The outline of a program; None for a program that equals no other.

    candidates = lowered_before.get(outline(closed_jaxpr), ())
    """
    if closed_jaxpr.effects:
        return None
    max_bytes = embedded_constants_max_bytes.value
    found = [closed_jaxpr.jaxpr.debug_info.func_src_info, *closed_jaxpr.in_avals]
    to_be_copied = False
    pending, seen = [cast(Body, closed_jaxpr)], set()
    while pending:
        body = pending.pop()
        if id(body) in seen:
            continue
        seen.add(id(body))
        embedded: list[Any] = []
        if isinstance(body, ClosedJaxpr):
            embedded += body.consts
            body = body.jaxpr
        for eqn in body.eqns:
            found.append(eqn.primitive)
            if eqn.outvars:
                found.append(eqn.outvars[0].aval)
            for atom in eqn.invars:
                if isinstance(atom, Literal):
                    embedded.append(atom.val)
            unread = UNREAD.get(eqn.primitive.name, _ALL_READ)
            to_be_copied = to_be_copied or bool(unread)
            for name, value in eqn.params.items():
                if name not in unread and not _is_param(value, pending):
                    return None
        embedded += [atom.val for atom in body.outvars if isinstance(atom, Literal)]
        if not all(_is_embedded_value(value, max_bytes) for value in embedded):
            return None
        to_be_copied = to_be_copied or any(map(_is_array, embedded))
    return Outline(hash(tuple(found)), to_be_copied)


def _is_param(param: Any, bodies: list[Body]) -> bool:
    """Whether a param can be compared; the bodies in it, as `bodies_of` has it, go to `bodies`."""
    several = isinstance(param, (tuple, list)) and not isinstance(param, COMPARED_BY_EQUALITY)
    for each in param if several else (param,):
        if isinstance(each, (Jaxpr, ClosedJaxpr)):
            bodies.append(each)
        elif not _is_value(each):
            return False
    return True


def _is_value(value: Any) -> bool:
    if isinstance(value, jax_internals.ProgramName):
        return value.choices.policy is None  # a function of the user, which may hold his arrays
    if isinstance(value, COMPARED_BY_EQUALITY) or _is_number(value):
        return True
    return isinstance(value, (tuple, list)) and all(map(_is_value, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (float, complex, np.generic))


def _is_embedded_value(value: Any, max_bytes: int) -> bool:
    """Whether a value can be compared: a number, or an array that the embed threshold embeds.

    What a policy embeds beyond it is to JAX an array with a place and an identity.
    """
    if isinstance(value, jax.Array):
        if jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
            return False
        if not value.is_fully_addressable:
            return False
    if _is_array(value):
        return value.ndim == 0 or value.nbytes <= min(max_bytes, MOST_BYTES)
    return isinstance(value, (bool, int)) or _is_number(value)


def kept(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """The program as it is to be kept, and lowered: without any object of the user.

    It has copies of the arrays that are embedded, and stand-ins for what lowering does not read.

        assert are_equal(kept(closed_jaxpr), closed_jaxpr)
    """
    return _Keeping().closed(closed_jaxpr)


class _Keeping(BodyRewriting):
    """One run of `kept`."""

    def constant(self, value: Any) -> Any:
        return _private(value) if _is_array(value) else value

    def atom(self, atom: Any) -> Any:
        if isinstance(atom, Literal) and _is_array(atom.val):
            return jax_internals.literal(_private(atom.val), atom.aval)
        return atom

    def params(self, eqn: JaxprEqn) -> dict[str, Any]:
        params = super().params(eqn)
        unread = UNREAD.get(eqn.primitive.name, _ALL_READ) & params.keys()
        stand_ins = {name: jax_internals.stand_in_for(params[name]) for name in unread}
        return params | stand_ins if stand_ins else params


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray))


def _private(value: Any) -> np.ndarray:
    """A copy of an array with its repeats (zero strides): JAX inlines those as a broadcast."""
    array = np.asarray(value)
    once = without_repeats(array).copy()
    strides = [
        0 if stride == 0 else own for stride, own in zip(array.strides, once.strides, strict=True)
    ]
    return np.lib.stride_tricks.as_strided(once, array.shape, strides, writeable=False)


def are_equal(one: ClosedJaxpr, other: ClosedJaxpr) -> bool:
    """Whether two programs that have one outline are equal.

    Example::

        assert are_equal(plan_of_closure_1.closed_jaxpr, plan_of_closure_2.closed_jaxpr)
    """
    return one is other or _Comparison().bodies(one, other)


@dataclass
class _Comparison:
    """One run of a comparison: which variable and which body of the one is which of the other.

    A body that the one has in two places must be one body in the other, too: JAX makes one
    function of it.
    """

    variables: dict[int, Any] = field(default_factory=dict)
    partners: dict[int, Body] = field(default_factory=dict)
    taken: dict[int, Body] = field(default_factory=dict)

    def bodies(self, one: Body, other: Body) -> bool:
        if id(one) in self.partners or id(other) in self.taken:
            return self.partners.get(id(one)) is other and self.taken.get(id(other)) is one
        self.partners[id(one)], self.taken[id(other)] = other, one
        if isinstance(one, ClosedJaxpr):
            return (
                isinstance(other, ClosedJaxpr)
                and len(one.consts) == len(other.consts)
                and all(map(_are_equal_embedded, one.consts, other.consts))
                and self.bodies(one.jaxpr, other.jaxpr)
            )
        return (
            isinstance(other, Jaxpr)
            and len(one.eqns) == len(other.eqns)
            and one.effects == other.effects
            and one.debug_info == other.debug_info
            and self.bound(one.constvars, other.constvars)
            and self.bound(one.invars, other.invars)
            and all(map(self.equations, one.eqns, other.eqns))
            and self.atoms(one.outvars, other.outvars)
        )

    def equations(self, one: JaxprEqn, other: JaxprEqn) -> bool:
        return (
            one.primitive is other.primitive
            and one.ctx is other.ctx
            and one.effects == other.effects
            and jax_internals.are_of_one_place(one.source_info, other.source_info)
            and self.atoms(one.invars, other.invars)
            and self.params(one, other)
            and self.bound(one.outvars, other.outvars)
        )

    def params(self, one: JaxprEqn, other: JaxprEqn) -> bool:
        unread = UNREAD.get(one.primitive.name, _ALL_READ)
        return one.params.keys() == other.params.keys() and all(
            name in unread or self.values(value, other.params[name])
            for name, value in one.params.items()
        )

    def values(self, one: Any, other: Any) -> bool:
        if isinstance(one, (Jaxpr, ClosedJaxpr)):
            return self.bodies(one, other)
        if one is other:
            return True
        if type(one) is not type(other):
            return False
        if isinstance(one, COMPARED_BY_EQUALITY):
            return bool(one == other)
        if isinstance(one, (tuple, list)):
            return len(one) == len(other) and all(map(self.values, one, other))
        return _are_equal_embedded(one, other)

    def bound(self, one: list[Any], other: list[Any]) -> bool:
        """Whether variables are bound alike: from here on, these of the other are those."""
        if len(one) != len(other):
            return False
        for var, partner in zip(one, other, strict=True):
            if type(var) is not type(partner) or var.aval is not partner.aval:
                return False
            self.variables[id(var)] = partner
        return True

    def atoms(self, one: list[Any], other: list[Any]) -> bool:
        return len(one) == len(other) and all(map(self.atom, one, other))

    def atom(self, one: Any, other: Any) -> bool:
        if isinstance(one, Literal):
            return (
                isinstance(other, Literal)
                and one.aval is other.aval
                and _are_equal_embedded(one.val, other.val)
            )
        return self.variables[id(one)] is other


def _are_equal_embedded(one: Any, other: Any) -> bool:
    """Whether two numbers or arrays have the same type and bits: 0.0 is not -0.0, nor 1 True.

    Of arrays it does not matter whose they are: JAX's or NumPy's.
    """
    if type(one) is not type(other) and not (_is_array(one) and _is_array(other)):
        return False
    if isinstance(one, (bool, int)):
        return bool(one == other)
    return _bits(np.asarray(one)) == _bits(np.asarray(other))


def _bits(array: np.ndarray) -> tuple:
    return array.dtype, array.shape, [stride == 0 for stride in array.strides], array.tobytes()
