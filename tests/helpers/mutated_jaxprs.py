"""Mutants of jaxprs: each is a jaxpr with one thing changed, in a body of an equation too."""

import enum
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Primitive, primitives

_ALIKE = (
    "sin cos tanh exp neg abs sqrt rsqrt log log1p expm1 logistic sign floor ceil square tan",
    "add sub mul max min div atan2 nextafter rem pow",
    "lt le gt ge eq ne",
    "and or xor",
    "reduce_sum reduce_prod reduce_max reduce_min",
    "cumsum cumprod cummax cummin cumlogsumexp",
    "scatter scatter-add scatter-mul scatter-min scatter-max",
    "argmax argmin",
    "shift_left shift_right_logical shift_right_arithmetic",
    "real imag",
)
_BY_NAME = {p.name: p for p in vars(primitives).values() if isinstance(p, Primitive)}
_OTHERS = {name: [each for each in names.split() if each != name]
           for names in _ALIKE for name in names.split()}  # fmt: skip


def mutants(closed: Any, drawn: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield what was changed, and what makes a closed_jaxpr with the change.

    It may be no program at all.
    """
    jaxpr, consts = closed.jaxpr, list(closed.consts)
    for n, const in enumerate(consts):
        if isinstance(const.dtype, np.dtype) and const.size:
            changed = [*consts[:n], _other_bits(np.asarray(const), drawn), *consts[n + 1 :]]
            yield f"captured array {n}", partial(ClosedJaxpr, jaxpr, changed)
    scope = [*jaxpr.constvars, *jaxpr.invars]
    for n, equation in enumerate(jaxpr.eqns):
        for what, changes in _changes(equation, scope, drawn):
            yield f"{equation.primitive.name}, {what}", partial(_with, closed, n, changes)
        scope += equation.outvars
    for what, outvars in _of_operands(jaxpr.outvars, scope, drawn):
        yield f"output, {what}", partial(ClosedJaxpr, jaxpr.replace(outvars=outvars), consts)


def _with(closed: Any, n: int, changes: Callable[[], Any]) -> Any:
    eqns = [*closed.jaxpr.eqns]
    eqns[n] = eqns[n].replace(**changes())
    return ClosedJaxpr(closed.jaxpr.replace(eqns=eqns), closed.consts)


def _changes(equation: Any, scope: Sequence[Any], drawn: random.Random) -> Iterator[Any]:
    for what, invars in _of_operands(equation.invars, scope, drawn):
        yield what, partial(dict, invars=invars)
    for what, outvars in _swapped(equation.outvars):
        yield f"results {what}", partial(dict, outvars=outvars)
    for name in _OTHERS.get(equation.primitive.name, ()):
        yield f"as {name}", partial(dict, primitive=_BY_NAME[name])
    for name, value in equation.params.items():
        for what, make in _of_param(value, drawn):
            yield f"{name} {what}", partial(_with_param, equation.params, name, make)


def _with_param(params: Any, name: str, make: Callable[[], Any]) -> Any:
    return {"params": {**params, name: make()}}


def _of_operands(atoms: Any, scope: Sequence[Any], drawn: random.Random) -> Iterator[Any]:
    yield from _swapped(atoms)
    for n, atom in enumerate(atoms):
        others = [var for var in scope if var is not atom and _type(var) == _type(atom)]
        if others:
            yield f"another as {n}", [*atoms[:n], drawn.choice(others), *atoms[n + 1 :]]
        if isinstance(atom, Literal) and isinstance(atom.aval.dtype, np.dtype):
            changed = _other_bits(np.asarray(atom.val, atom.aval.dtype), drawn)
            yield f"literal {n}", [*atoms[:n], Literal(changed, atom.aval), *atoms[n + 1 :]]


def _swapped(atoms: Any) -> Iterator[Any]:
    for n, one in enumerate(atoms):
        for m in range(n + 1, len(atoms)):
            if one is not (other := atoms[m]) and _type(one) == _type(other):
                swapped = [*atoms]
                swapped[n], swapped[m] = other, one
                yield f"{n} for {m}", swapped


def _of_param(value: Any, drawn: random.Random) -> Iterator[Any]:
    if isinstance(value, ClosedJaxpr):
        for what, make in mutants(value, drawn):
            yield f"({what})", make
    elif isinstance(value, Jaxpr):
        for what, make in mutants(ClosedJaxpr(value, []), drawn):
            yield f"({what})", partial(_open, make)
    elif isinstance(value, bool):
        yield f"{not value}", partial(bool, not value)
    elif isinstance(value, (int, np.integer)):
        yield from ((f"{value + by}", partial(int, value + by)) for by in (1, -1))
    elif isinstance(value, enum.Enum):
        yield from (
            (each.name, partial(type(value), each)) for each in type(value) if each != value
        )
    elif isinstance(value, tuple):
        for n, part in enumerate(value):
            for what, make in _of_param(part, drawn):
                yield f"[{n}] {what}", partial(_with_item, value, n, make)


def _open(make: Callable[[], Any]) -> Any:
    return make().jaxpr


def _with_item(value: Any, n: int, make: Callable[[], Any]) -> Any:
    made = [*value[:n], make(), *value[n + 1 :]]
    return getattr(type(value), "_make", type(value))(made)


def _other_bits(array: Any, drawn: random.Random) -> Any:
    """Return an array with one bit changed; a bool is another one."""
    data = bytearray(array.tobytes())
    bit = 0 if array.dtype.itemsize == 1 else drawn.randrange(8)
    data[drawn.randrange(len(data))] ^= 1 << bit
    return np.frombuffer(bytes(data), array.dtype).reshape(array.shape)


def _type(atom: Any) -> str:
    return str(atom.aval)
