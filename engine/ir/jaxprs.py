"""The words of the jaxpr language that concern constants, under the seeds' names.

The types are JAX's own (`jax.extend.core`), not classes of ours: `trace(...).jaxpr` must be usable
wherever a jaxpr of JAX is, and prints as JAX prints it. Two forms of one program are told apart:
*legacy*, in which captured arrays are `constvars` of a ClosedJaxpr, and *simplified*, in which each
stands as a `Literal` in the equation or output that uses it.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterator
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var

from engine import jax_internals
from engine.configuration.settings import embedded_constants_max_bytes

__all__ = [
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Var",
    "bodies_in",
    "bodies_of",
    "constant_key",
    "is_hoistable",
    "is_literalable",
    "jaxpr_const_args",
    "values_in",
]


def is_literalable(value: Any) -> bool:
    """Whether a captured value may stand in a jaxpr as a Literal.

    Scalars of Python and NumPy may, and so may `np.ndarray` and `jax.Array` of any shape; PRNG key
    arrays and mutable references stay constvars, as in JAX.

    Example::

        assert engine.is_literalable(np.ones((3, 3)))

    Source: the constants note (seed 000), "Tracing".
    """
    if isinstance(value, jax.Array):
        return not jax_internals.is_tracer(value) and not jax.dtypes.issubdtype(
            value.dtype, jax.dtypes.extended
        )
    return isinstance(value, (bool, int, float, complex, np.ndarray, np.generic))


def is_hoistable(value: Any, max_bytes: int) -> bool:
    """Whether a constant becomes a const arg: it is an array, and larger than `max_bytes`.

    `max_bytes` is in bytes. Scalars are left for XLA to fold; mutable references are state, not
    constants. Example::

        assert engine.is_hoistable(np.ones(9, np.float32), 32)

    Source: the constants note (seed 000), "Lowering"; `jax_embedded_constants_max_bytes`.
    """
    # Asked of each constant several times while a program is lowered; `np.ndim` takes longer.
    if not getattr(value, "shape", ()):
        return False
    if max_bytes >= 0 and jax_internals.nbytes(value) <= max_bytes:
        return False
    return jax_internals.is_plain_array(value) or not (
        jax_internals.is_tracer(value) or jax_internals.is_reference(value)
    )


def constant_key(value: Any) -> Hashable:
    """What makes a constant the same constant: the identity of its array, never its value.

    JAX wraps a captured NumPy array anew in each function that captures it, so for NumPy arrays the
    identity is that of the memory that they view.
    """
    if isinstance(value, np.ndarray):
        interface = value.__array_interface__
        return interface["data"][0], value.shape, value.strides, value.dtype
    return id(value)


def bodies_of(eqn: JaxprEqn) -> list[Jaxpr | ClosedJaxpr]:
    """The jaxprs among the params of an equation."""
    # A list: each walk over a program asks this of each equation, and a generator takes longer.
    # Those of a first call do not even ask it of an equation without params, which most are.
    bodies: list[Jaxpr | ClosedJaxpr] = []
    for param in eqn.params.values():
        if isinstance(param, (Jaxpr, ClosedJaxpr)):
            bodies.append(param)
        elif isinstance(param, (tuple, list)):
            bodies += [value for value in param if isinstance(value, (Jaxpr, ClosedJaxpr))]
    return bodies


def bodies_in(closed_jaxpr: ClosedJaxpr) -> Iterator[Jaxpr | ClosedJaxpr]:
    """A program and the bodies within it, at any depth, each once."""
    # A list, and no function that calls itself: that is a cycle, which would keep the arrays until
    # the garbage collector comes by.
    bodies: list[Jaxpr | ClosedJaxpr] = [closed_jaxpr]
    seen: set[int] = set()
    for body in bodies:
        if id(body) not in seen:
            seen.add(id(body))
            yield body
            for eqn in (body.jaxpr if isinstance(body, ClosedJaxpr) else body).eqns:
                if eqn.params:
                    bodies.extend(bodies_of(eqn))


def values_in(closed_jaxpr: ClosedJaxpr) -> Iterator[Any]:
    """What a program holds in all its bodies: consts and Literals, as often as it stands there."""
    for body in bodies_in(closed_jaxpr):
        if isinstance(body, ClosedJaxpr):
            yield from body.consts
            body = body.jaxpr
        for atoms in (body.outvars, *[eqn.invars for eqn in body.eqns]):
            for atom in atoms:
                if isinstance(atom, Literal):
                    yield atom.val


def jaxpr_const_args(jaxpr: Jaxpr | ClosedJaxpr, max_bytes: int | None = None) -> list[Any]:
    """The constants above the embed threshold in a jaxpr and its bodies, unique by identity.

    `max_bytes` defaults to `engine.config.embedded_constants_max_bytes`. The order is that in which
    the constants are met: outputs first, then equation by equation, each with its bodies. Memoized
    per jaxpr with weak references.

    Example::

        table = jnp.arange(1024.)
        closed_jaxpr = engine.make_jaxpr(lambda x: x + table, constants="simplified")(0.)
        [only] = engine.jaxpr_const_args(closed_jaxpr)

    Source: the constants note (seed 000), "Lowering". Unlike JAX's own function of this name, one
    array is one entry, however many Literals hold it.
    """
    if max_bytes is None:
        max_bytes = embedded_constants_max_bytes.value
    return list(_const_args(jaxpr, max_bytes).values())


_memo: weakref.WeakKeyDictionary[Jaxpr, dict[int, dict[Hashable, Any]]] = (
    weakref.WeakKeyDictionary()
)


def _const_args(jaxpr: Jaxpr | ClosedJaxpr, max_bytes: int) -> dict[Hashable, Any]:
    if isinstance(jaxpr, ClosedJaxpr):
        found = {constant_key(c): c for c in jaxpr.consts if is_hoistable(c, max_bytes)}
        return found | _const_args(jaxpr.jaxpr, max_bytes)
    memo = _memo.setdefault(jaxpr, {})
    if max_bytes not in memo:
        memo[max_bytes] = _scan(jaxpr, max_bytes)
    return memo[max_bytes]


def _scan(jaxpr: Jaxpr, max_bytes: int) -> dict[Hashable, Any]:
    found: dict[Hashable, Any] = {}
    for atom in jaxpr.outvars:
        if isinstance(atom, Literal) and is_hoistable(atom.val, max_bytes):
            found.setdefault(constant_key(atom.val), atom.val)
    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            if isinstance(atom, Literal) and is_hoistable(atom.val, max_bytes):
                found.setdefault(constant_key(atom.val), atom.val)
        for body in bodies_of(eqn) if eqn.params else ():
            for key, value in _const_args(body, max_bytes).items():
                found.setdefault(key, value)
    return found
