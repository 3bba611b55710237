"""Drafts: a jaxpr as plain data, that is cut, written as text, and sent between processes.

A body may refer to variables of the bodies around it, as a Python function does. A jaxpr passes
them as constants, to a scan for example. Every variable has a number of its own in the whole draft,
so moving equations between bodies renames nothing.

JAX's own jaxprs were the alternative. They cannot leave their process without pickle, and each cut
would have to keep operands, avals and debug information of all bodies around it in step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from pydantic import TypeAdapter


@dataclass(frozen=True)
class Type:
    """The type of an array, as in an aval; `dtype` is a name: "bfloat16" or "key<fry>"."""

    shape: tuple[int, ...]
    dtype: str
    weak: bool = False


@dataclass(frozen=True)
class Var:
    """A variable, by its number."""

    number: int
    type: Type
    kind: Literal["var"] = "var"


@dataclass(frozen=True)
class CapturedRef:
    """A captured array, by its number."""

    number: int
    type: Type
    kind: Literal["captured"] = "captured"


@dataclass(frozen=True)
class Scalar:
    """A scalar, by its Python source."""

    text: str
    type: Type
    kind: Literal["scalar"] = "scalar"


Atom: TypeAlias = Var | CapturedRef | Scalar


@dataclass(frozen=True)
class Body:
    """A function: its inputs, its equations and its outputs."""

    inputs: tuple[Var, ...]
    equations: tuple[Equation, ...]
    outputs: tuple[Atom, ...]


@dataclass(frozen=True)
class Equation:
    """One equation; `params` are names with Python source.

    The bodies of a `scan`, a `while` (the condition first) and of calls take the operands one by
    one; the bodies of a `cond` take nothing. The first `carried` operands of a scan are its carry.
    `barriers` are the operands of a checkpoint that nothing may be moved across.
    `unwritable` says why the equation cannot be written as Python; "" if it can. `multiple` says
    that its primitive returns a list, also of one.
    """

    primitive: str
    operands: tuple[Atom, ...]
    results: tuple[Var, ...]
    params: tuple[tuple[str, str], ...] = ()
    bodies: tuple[Body, ...] = ()
    carried: int = 0
    barriers: tuple[bool, ...] = ()
    unwritable: str = ""
    multiple: bool = False


# The elements of an array: as recorded when the program was read, or others that do as well.
Values: TypeAlias = Literal["recorded", "ones", "random"]


@dataclass(frozen=True)
class Array:
    """An argument or a captured array: its number and type, and how it is made.

    `device` is the index of the device that it is committed to, `impl` the implementation of typed
    PRNG keys. A "scalar" is a Python scalar.
    """

    number: int
    type: Type
    made_by: Literal["jax", "numpy", "scalar"] = "jax"
    device: int | None = None
    impl: str = ""
    values: Values = "recorded"


@dataclass(frozen=True)
class Draft:
    """A program: its body, and the arrays that it takes and captures.

    `arguments` are in the order of the inputs. `x64` says that `jax_enable_x64` is on. `donated`
    are the numbers of donated arguments, `same` the pairs of an argument and the captured array
    that it is, by their numbers.
    """

    body: Body
    arguments: tuple[Array, ...]
    captured: tuple[Array, ...]
    x64: bool = False
    donated: tuple[int, ...] = ()
    same: tuple[tuple[int, int], ...] = ()


# Recorded elements, by number; of PRNG keys, the key data.
Store: TypeAlias = Mapping[int, np.ndarray[Any, Any]]

# Which body, from the outermost: pairs of the number of an equation and the number of its body.
Path: TypeAlias = tuple[tuple[int, int], ...]

# Primitives that are written as the public functions that bind them and nothing else.
FUNCTIONS = {
    "device_put": "jax.device_put",
    "random_wrap": "jax.random.wrap_key_data",
    "random_unwrap": "jax.random.key_data",
    "split": "lax.split",
    "stack": "lax.stack",
    "unstack": "lax.unstack",
}
OF_SEQUENCES = frozenset({"device_put", "stack"})  # of these, those that take their operands in one
# Written as the functions of `jax.lax` that make the body of the update themselves.
SCATTERS = frozenset({"scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max"})
CALLS = frozenset({"jit", "checkpoint", "custom_jvp_call", "custom_vjp_call"})
_DRAFT = TypeAdapter(Draft)


def to_json(draft: Draft) -> str:
    """Write a draft as JSON."""
    return _DRAFT.dump_json(draft).decode()


def from_json(text: str) -> Draft:
    """Read what `to_json` wrote."""
    return _DRAFT.validate_json(text)


def walk(body: Body) -> Iterator[Equation]:
    """Yield the equations of a body and of all bodies in it."""
    for equation in body.equations:
        yield equation
        for each in equation.bodies:
            yield from walk(each)


def reads(equation: Equation) -> set[int]:
    """Return the numbers of the variables and captured arrays that an equation needs."""
    found = numbers(equation.operands)
    for body in equation.bodies:
        found |= free(body)
    return found


def free(body: Body) -> set[int]:
    """Return the numbers that a body reads and does not make."""
    found = numbers(body.outputs)
    made = {var.number for var in body.inputs}
    for equation in body.equations:
        found |= reads(equation)
        made |= {var.number for var in equation.results}
    return found - made


def numbers(atoms: tuple[Atom, ...]) -> set[int]:
    """Return the numbers of atoms; scalars have none."""
    return {atom.number for atom in atoms if not isinstance(atom, Scalar)}


def unwritable(draft: Draft) -> tuple[str, ...]:
    """Say which equations cannot be written, and why: "pure_callback: its parameter ..."."""
    return tuple(
        dict.fromkeys(
            f"{each.primitive}: {each.unwritable}" for each in walk(draft.body) if each.unwritable
        )
    )


def size(draft: Draft) -> tuple[int, ...]:
    """Order drafts: by equations, outputs, captured arrays, arguments, and recorded elements."""
    arrays = (*draft.arguments, *draft.captured)
    recorded = [np.prod(each.type.shape) for each in arrays if each.values == "recorded"]
    return (
        sum(1 for _ in walk(draft.body)),
        len(draft.body.outputs),
        len(draft.captured),
        len(draft.arguments),
        int(sum(recorded)),
    )
