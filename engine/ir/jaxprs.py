"""The vocabulary of constants in jaxprs: which values are constants, where they are, their keys.

The types are JAX's own, those of `jax.extend.core`, not classes of ours: `trace(...).jaxpr` must
work wherever a jaxpr of JAX does, and print as JAX prints it. A program has one of two forms.
*Legacy*: captured arrays are `constvars` of a ClosedJaxpr. *Simplified*: each is a `Literal` in the
equation or output that uses it. Names follow JAX's note "Handling of closed-over constants".
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import Any, NamedTuple

import jax
import numpy as np

from engine import jax_internals
from engine.configuration.settings import embedded_constants_max_bytes
from engine.jax_internals import (
    Body,
    ClosedJaxpr,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    bodies_of,
    consts_of,
    is_of_jax,
    open_part,
)

__all__ = [
    "Body",
    "ClosedJaxpr",
    "Jaxpr",
    "JaxprEqn",
    "Literal",
    "Var",
    "bodies_in",
    "bodies_of",
    "constant_key",
    "consts_of",
    "contents_of",
    "has_foreign_primitives",
    "is_hoistable",
    "is_literalable",
    "jaxpr_const_args",
    "values_in",
]


def is_literalable(value: Any) -> bool:
    """Say whether a captured value may be a Literal in a jaxpr.

    True for Python and NumPy scalars, and for `np.ndarray` and `jax.Array` of any shape. False for
    PRNG key arrays and mutable references, which stay constvars, as in JAX.

    Example::

        assert engine.is_literalable(np.ones((3, 3)))

    Source: JAX's note "Handling of closed-over constants", section "Tracing".
    """
    if isinstance(value, jax.Array):
        return not jax_internals.is_tracer(value) and not jax.dtypes.issubdtype(
            value.dtype, jax.dtypes.extended
        )
    return isinstance(value, (bool, int, float, complex, np.ndarray, np.generic))


def is_hoistable(value: Any, embed_threshold: int) -> bool:
    """Say whether a constant becomes a const arg: an array of more than `embed_threshold` bytes.

    A negative `embed_threshold` sets no threshold. Scalars are left for XLA to fold; mutable
    references are state, not constants.

    Example::

        assert engine.is_hoistable(np.ones(9, np.float32), 32)

    Source: JAX's note "Handling of closed-over constants", section "Lowering";
    `jax_embedded_constants_max_bytes`.
    """
    # Lowering asks this several times for each constant; `np.ndim` is slower.
    if not getattr(value, "shape", ()):
        return False
    if embed_threshold >= 0 and jax_internals.nbytes(value) <= embed_threshold:
        return False
    return jax_internals.is_plain_array(value) or not (
        jax_internals.is_tracer(value) or jax_internals.is_reference(value)
    )


def constant_key(value: Any) -> Hashable:
    """Return the key of a constant: the identity of its array, never its value.

    JAX wraps a captured NumPy array anew in each function that captures it, so the key of a NumPy
    array is the memory that it views. The key is valid only while the array is alive.

    Example::

        assert constant_key(table[:]) == constant_key(table) != constant_key(table.copy())
    """
    if isinstance(value, np.ndarray):
        interface = value.__array_interface__
        return interface["data"][0], value.shape, value.strides, value.dtype
    return id(value)


def bodies_in(closed_jaxpr: ClosedJaxpr) -> list[Body]:
    """Return a program and the bodies within it, at any depth, each once."""
    pending = contents_of(closed_jaxpr).nested
    if not pending:
        return [closed_jaxpr]
    found: dict[int, Body] = {id(closed_jaxpr): closed_jaxpr}
    # Level by level, and not by recursion: a recursive inner function would be a reference cycle,
    # which keeps the arrays alive until garbage is collected.
    while pending:
        new = {id(body): body for _, bodies in pending for body in bodies if id(body) not in found}
        found.update(new)
        pending = [each for body in new.values() for each in contents_of(body).nested]
    return list(found.values())


def values_in(closed_jaxpr: ClosedJaxpr) -> list[Any]:
    """Return the consts and Literal values of a program and its bodies, one for each occurrence."""
    literals, nested, _ = contents_of(closed_jaxpr)
    values = [*consts_of(closed_jaxpr), *[literal.val for literal in literals]]
    for body in bodies_in(closed_jaxpr)[1:] if nested else ():
        values += consts_of(body)
        values += [literal.val for literal in contents_of(body).literals]
    return values


def has_foreign_primitives(closed_jaxpr: ClosedJaxpr) -> bool:
    """Say whether a program has equations of primitives that are not those of JAX itself.

    While JAX lowers one, its rule may trace a function that holds arrays.
    """
    return any(contents_of(body).has_foreign for body in bodies_in(closed_jaxpr))


def jaxpr_const_args(jaxpr: Body, embed_threshold: int | None = None) -> list[Any]:
    """Return the constants above the embed threshold in a jaxpr and its bodies, each once.

    `embed_threshold` defaults to `engine.config.embedded_constants_max_bytes`. Constants of outputs
    come first, then those of each equation and its bodies, in program order. Memoized per jaxpr
    with weak references.

    Example::

        table = jnp.arange(1024.)
        closed_jaxpr = engine.make_jaxpr(lambda x: x + table, constants="simplified")(0.)
        [only] = engine.jaxpr_const_args(closed_jaxpr)

    Source: JAX's note "Handling of closed-over constants", section "Lowering". Unlike in JAX's
    function of this name, one array is one entry, however many Literals hold it.
    """
    if embed_threshold is None:
        embed_threshold = embedded_constants_max_bytes.value
    return list(_const_args(jaxpr, embed_threshold).values())


_memo: weakref.WeakKeyDictionary[Body, dict[int, dict[Hashable, Any]]] = weakref.WeakKeyDictionary()


def _const_args(jaxpr: Body, embed_threshold: int) -> dict[Hashable, Any]:
    memo = _memo.setdefault(jaxpr, {})
    if embed_threshold not in memo:
        memo[embed_threshold] = _scan(jaxpr, embed_threshold)
    return memo[embed_threshold]


def _scan(jaxpr: Body, embed_threshold: int) -> dict[Hashable, Any]:
    found = {constant_key(c): c for c in consts_of(jaxpr) if is_hoistable(c, embed_threshold)}
    for atom in jaxpr.outvars:
        if isinstance(atom, Literal) and is_hoistable(atom.val, embed_threshold):
            found.setdefault(constant_key(atom.val), atom.val)
    for eqn in jaxpr.eqns:
        for atom in eqn.invars:
            if isinstance(atom, Literal) and is_hoistable(atom.val, embed_threshold):
                found.setdefault(constant_key(atom.val), atom.val)
        for body in bodies_of(eqn) if eqn.params else ():
            for key, value in _const_args(body, embed_threshold).items():
                found.setdefault(key, value)
    return found


# -- contents --------------------------------------------------------------------------------------
# The steps of a first call ask the same of each program: which arrays it holds, and whether there
# is a body to enter. One walk answers all of them, because a walk over the equations is most of
# what such a question takes. JAX never changes a body, so the answer holds while the body lives.


class Contents(NamedTuple):
    """The parts of a body that are neither variables nor plain equations, in program order.

    - `literals`: those of outputs, then those of equations. Literals and not their values, because
      `snapshot` replaces the value of a Literal.
    - `nested`: the equations that have bodies, each with its bodies.
    - `has_foreign`: whether an equation is of a primitive that is not one of JAX itself.
    """

    literals: list[Literal]
    nested: list[tuple[JaxprEqn, list[Body]]]
    has_foreign: bool


_contents: weakref.WeakKeyDictionary[Body, Contents] = weakref.WeakKeyDictionary()


def contents_of(body: Body) -> Contents:
    """Return the contents of a body, without those of the bodies within it.

    Example::

        [literal] = contents_of(engine.make_jaxpr(lambda x: x + 1)(2.0)).literals
    """
    body = open_part(body)  # what several closed bodies share
    contents = _contents.get(body)
    if contents is None:
        contents = _contents[body] = _walked(body)
    return contents


def _walked(body: Body) -> Contents:
    literals = [atom for atom in body.outvars if isinstance(atom, Literal)]
    nested = []
    has_foreign = False
    for eqn in body.eqns:
        for atom in eqn.invars:
            if isinstance(atom, Literal):
                literals.append(atom)
        if eqn.params and (bodies := bodies_of(eqn)):
            nested.append((eqn, bodies))
        has_foreign = has_foreign or not is_of_jax(eqn.primitive)
    return Contents(literals, nested, has_foreign)
