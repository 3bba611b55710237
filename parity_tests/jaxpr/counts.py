"""Counts over a jaxpr and all the bodies in its equations' parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.extend import core

from parity_tests.jaxpr.bodies import bodies_in


@dataclass(frozen=True)
class Captured:
    """One captured array, with its identity; `key` tells a typed PRNG key array."""

    identity: Hashable
    shape: tuple[int, ...]
    bytes: int
    key: bool
    value: Any

    def digest(self) -> str:
        """Return the sha256 of its bytes."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        return digest_of(self.value)


def digest_of(value: Any) -> str:
    """Return the sha256 of the bytes of an array, of the key data where it is a typed PRNG key."""
    host = np.asarray(jax.random.key_data(value) if _is_key(value.dtype) else value)
    return hashlib.sha256(np.ascontiguousarray(host).tobytes()).hexdigest()


@dataclass(frozen=True)
class JaxprFacts:
    """What a jaxpr holds, its bodies included.

    `equations`, `constvars` and `array_literals` count occurrences, a body once for each equation
    that has it, because whether two equations share one body object is not part of the program.
    `captured` is unique by identity and holds arrays above the threshold; `small_keys` are the
    PRNG key arrays at or below it, which a pipeline may hoist or embed. `special_constvars` are
    the constvars that no Literal can stand for in stock JAX: typed PRNG keys and refs.
    `calls_exported` says that an exported module is called, which has its own constants inlined.
    """

    equations: int
    constvars: int
    special_constvars: int
    array_literals: int
    captured: tuple[Captured, ...]
    small_keys: tuple[Captured, ...]
    calls_exported: bool

    @property
    def captured_bytes(self) -> int:
        """The bytes of the captured arrays above the threshold, each counted once."""
        return sum(array.bytes for array in self.captured)

    def captured_values(self) -> str:
        """Return a sha256 over shapes, dtypes and bytes of the captured arrays, in any order."""
        texts = sorted(
            f"{array.shape} {array.value.dtype} {array.digest()}" for array in self.captured
        )
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def count(closed: Any, *, threshold: int, only_read: bool = False) -> JaxprFacts:
    """Count over a `ClosedJaxpr`; arrays are captured where larger than `threshold` bytes.

    With `only_read`, a constvar that no equation or output reads captures nothing: the body of a
    jit keeps it when dead code is removed.

        count(jax.make_jaxpr(f)(x), threshold=32).equations
    """
    counter = _Counter(threshold, only_read)
    equations, constvars, special, literals = counter.closed(closed)
    arrays = counter.arrays.values()
    return JaxprFacts(
        equations=equations,
        constvars=constvars,
        special_constvars=special,
        array_literals=literals,
        captured=tuple(array for array in arrays if array.bytes > threshold),
        small_keys=tuple(array for array in arrays if array.key and array.bytes <= threshold),
        calls_exported=counter.calls_exported,
    )


def identity(value: Any) -> Hashable:
    """Return what makes two captured values one array.

    JAX hands NumPy arrays on as new views, so that two objects are one array where they see the
    same memory in the same way; a `jax.Array` is the object that it is.
    """
    if isinstance(value, np.ndarray):
        pointer = value.__array_interface__["data"][0]
        return (pointer, value.shape, value.strides, value.dtype.str)
    return id(value)


def captured(value: Any) -> Captured | None:
    """Describe a captured value where it is an array; scalars are inlined in every mode.

    Mutable references are none: they are state, and have no size.

    captured(np.arange(3.0)).shape == (3,)
    """
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", ())
    key = _is_key(dtype)
    if (shape == () and not key) or not hasattr(value, "nbytes"):
        return None
    size = int(jax.random.key_data(value).nbytes if key else value.nbytes)
    return Captured(identity(value), tuple(shape), size, key, value)


class _Counter:
    """Walks bodies once each and remembers their counts, for shared bodies can nest deeply."""

    def __init__(self, threshold: int, only_read: bool):
        self.threshold = threshold
        self.only_read = only_read
        self.arrays: dict[Hashable, Captured] = {}
        self.calls_exported = False
        self._bodies: dict[int, tuple[int, int, int, int]] = {}

    def closed(self, closed: Any) -> tuple[int, int, int, int]:
        jaxpr = closed.jaxpr
        read = {id(atom) for equation in jaxpr.eqns for atom in equation.invars}
        read |= {id(atom) for atom in jaxpr.outvars}
        for var, const in zip(jaxpr.constvars, closed.consts, strict=True):
            if not self.only_read or id(var) in read:
                self._see(const)
        return self.jaxpr(jaxpr)

    def jaxpr(self, jaxpr: Any) -> tuple[int, int, int, int]:
        if id(jaxpr) not in self._bodies:
            self._bodies[id(jaxpr)] = self._walk(jaxpr)
        return self._bodies[id(jaxpr)]

    def _walk(self, jaxpr: Any) -> tuple[int, int, int, int]:
        equations, constvars = len(jaxpr.eqns), len(jaxpr.constvars)
        special = sum(_is_special(var.aval) for var in jaxpr.constvars)
        literals = sum(self._array_literal(atom) for atom in jaxpr.outvars)
        for equation in jaxpr.eqns:
            self.calls_exported |= equation.primitive.name == "call_exported"
            literals += sum(self._array_literal(atom) for atom in equation.invars)
            for body in bodies_in(equation.params.values()):
                inner = self.closed(body) if _is_closed(body) else self.jaxpr(body)
                equations += inner[0]
                constvars += inner[1]
                special += inner[2]
                literals += inner[3]
        return equations, constvars, special, literals

    def _array_literal(self, atom: Any) -> bool:
        if not isinstance(atom, core.Literal):
            return False
        seen = self._see(atom.val)
        return seen is not None and (seen.key or seen.bytes > self.threshold)

    def _see(self, value: Any) -> Captured | None:
        array = captured(value)
        return None if array is None else self.arrays.setdefault(array.identity, array)


def _is_key(dtype: Any) -> bool:
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


def _is_special(aval: Any) -> bool:
    return hasattr(aval, "inner_aval") or _is_key(getattr(aval, "dtype", None))


def _is_closed(body: Any) -> bool:
    return isinstance(body, core.ClosedJaxpr)
