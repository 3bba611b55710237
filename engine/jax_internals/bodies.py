"""Bodies: jaxprs with values for their constvars (closed) and without (open), read and rewritten.

They were two classes up to jax 0.10: a ClosedJaxpr held a Jaxpr. Since 0.11.0 they are one, each
jaxpr holds its own consts, and a constvar without a const is an ordinary input. So no other file
asks for the class of a body: the same question would have another answer in each version.

All that is read of a body (`eqns`, `invars`, `outvars`, `constvars`, `effects`, `debug_info`,
`is_high`) is an attribute of both classes.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from typing import Any, TypeVar, cast

from jax._src.core import Jaxpr, JaxprEqn, Primitive

from engine.jax_internals.differences import BODIES_ARE_OF_ONE_CLASS, ClosedJaxpr

Body = Jaxpr | ClosedJaxpr
B = TypeVar("B", bound=Body)

_BODIES = (Jaxpr, ClosedJaxpr)
_FIELDS = ("constvars", "invars", "outvars", "eqns", "effects", "debug_info", "is_high")


def is_body(value: Any) -> bool:
    """Say whether a param of an equation, or an item of one, is a body."""
    return isinstance(value, _BODIES)


def bodies_of(eqn: JaxprEqn) -> list[Body]:
    """Return the jaxprs among the params of an equation."""
    # A list: every walk over a program calls this for each equation, and a generator is slower.
    # The walks of a first call skip equations without params, as most are.
    bodies: list[Body] = []
    for param in eqn.params.values():
        if isinstance(param, _BODIES):
            bodies.append(param)
        elif isinstance(param, (tuple, list)):
            bodies += [value for value in param if isinstance(value, _BODIES)]
    return bodies


_of_jax: set[Primitive] = set()
_of_others: weakref.WeakSet[Primitive] = weakref.WeakSet()


def is_of_jax(primitive: Primitive) -> bool:
    """Say whether a primitive is one of JAX itself: a name in a module of JAX that is imported.

    The rules of another one may trace, while JAX lowers, functions that hold arrays: those of
    Lineax do.
    """
    if primitive in _of_jax:
        return True
    if primitive in _of_others:
        return False
    for name, module in sys.modules.copy().items():  # at once: other threads import meanwhile
        if name.partition(".")[0] in ("jax", "jaxlib"):
            _of_jax.update(
                each for each in list(vars(module).values()) if isinstance(each, Primitive)
            )
    if primitive not in _of_jax:
        _of_others.add(primitive)
    return primitive in _of_jax


def consts_of(body: Body) -> Sequence[Any]:
    """Return the values of a body's constvars; none for an open body."""
    return body.consts if isinstance(body, ClosedJaxpr) else ()


def open_part(body: Body) -> Any:
    """Return the part of a body that several closed bodies may share, or the body itself.

    Only what goes by identity needs it. Where bodies are of one class, it is the body, with its
    consts: a caller that recurs into it must first see that it is another object.
    """
    if BODIES_ARE_OF_ONE_CLASS or not isinstance(body, ClosedJaxpr):
        return body
    return body.jaxpr


def replaced(body: B, *, consts: Sequence[Any] | None = None, **changes: Any) -> B:
    """Return a new body with some fields changed: consts, constvars, invars, outvars, eqns, ...

    All other fields stay, the names in `debug_info` included, and so do the consts, which JAX's own
    `replace` drops where `constvars` are given and bodies are of one class.
    """
    if consts is None:
        consts = consts_of(body)
    changes.setdefault("debug_info", body.debug_info)
    if BODIES_ARE_OF_ONE_CLASS:
        # Not `body.replace`, which compares all variables to know whether names are still right.
        fields = {name: getattr(body, name) for name in _FIELDS if name not in changes}
        return cast(B, ClosedJaxpr(**fields, **changes, consts=consts))
    jaxpr = open_part(body)
    if len(changes) > 1 or changes["debug_info"] is not jaxpr.debug_info:
        jaxpr = jaxpr.replace(**changes)
    return cast(B, ClosedJaxpr(jaxpr, consts) if isinstance(body, ClosedJaxpr) else jaxpr)


def closed_over(jaxpr: Any, consts: Sequence[Any]) -> ClosedJaxpr:
    """Return an open part closed with these values for its constvars."""
    return jaxpr.with_consts(consts) if BODIES_ARE_OF_ONE_CLASS else ClosedJaxpr(jaxpr, consts)
