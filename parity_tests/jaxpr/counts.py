"""Counts over a jaxpr and all the bodies in its equations' parameters."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from jax.extend import core

from parity_tests.jaxpr.bodies import bodies_seen_by_jax, constants_of, folded, inner
from parity_tests.jaxpr.captured import CapturedValue, captured_value, is_key


@dataclass(frozen=True)
class JaxprFacts:
    """What a jaxpr holds, and the bodies in which JAX looks for constants.

    `equations`, `constvars` and `array_literals` count occurrences. A body counts once for each
    equation that has it, because whether two equations share one body object is not part of the
    program. The constvars are those that have a value: those of an open jaxpr among the params of a
    primitive, and those of tracers, stand for its operands. `special_constvars` are those that no
    Literal can stand for in stock JAX: typed PRNG keys and refs. `captured` has the arrays above
    the threshold, unique by identity; `small_keys` has the PRNG key arrays at or below it, which a
    pipeline may hoist or embed. `calls_exported` says that an exported module is called, whose
    constants are always inlined.
    """

    equations: int
    constvars: int
    special_constvars: int
    array_literals: int
    captured: tuple[CapturedValue, ...]
    small_keys: tuple[CapturedValue, ...]
    calls_exported: bool

    @property
    def captured_bytes(self) -> int:
        """The bytes of the captured arrays above the threshold, each counted once."""
        return sum(array.bytes for array in self.captured)

    def digest_of_captured(self) -> str:
        """Return a sha256 over shapes, dtypes and bytes of the captured arrays, in any order."""
        texts = sorted(
            f"{array.shape} {array.value.dtype} {array.digest()}" for array in self.captured
        )
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def count(closed: Any, *, embed_threshold: int, only_read: bool = False) -> JaxprFacts:
    """Count over a closed_jaxpr; arrays larger than `embed_threshold` bytes are captured.

    With `only_read`, a constvar that no equation or output reads captures nothing: the body of a
    jit keeps such constvars when dead code is removed.
    """
    counter = _Counter(embed_threshold, only_read)
    totals = counter.constvars(closed) + folded(closed, counter.totals)
    arrays = counter.arrays.values()
    return JaxprFacts(
        equations=totals["equations"],
        constvars=totals["constvars"],
        special_constvars=totals["special_constvars"],
        array_literals=totals["array_literals"],
        captured=tuple(array for array in arrays if array.bytes > embed_threshold),
        small_keys=tuple(array for array in arrays if array.key and array.bytes <= embed_threshold),
        calls_exported=counter.calls_exported,
    )


class _Counter:
    def __init__(self, embed_threshold: int, only_read: bool):
        self.embed_threshold = embed_threshold
        self.only_read = only_read
        self.arrays: dict[Hashable, CapturedValue] = {}
        self.calls_exported = False

    def constvars(self, body: Any) -> Counter[str]:
        jaxpr, constants = inner(body), constants_of(body)
        read = {id(atom) for equation in jaxpr.eqns for atom in equation.invars}
        read |= {id(atom) for atom in jaxpr.outvars}
        for var, value in constants.items():
            if not self.only_read or id(var) in read:
                self._see(value)
        return Counter(constvars=len(constants), special_constvars=sum(map(_is_special, constants)))

    def totals(self, jaxpr: Any, inside: Callable[[Any], Counter[str]]) -> Counter[str]:
        totals = Counter(
            equations=len(jaxpr.eqns),
            array_literals=sum(map(self._is_array_literal, jaxpr.outvars)),
        )
        for equation in jaxpr.eqns:
            self.calls_exported |= equation.primitive.name == "call_exported"
            totals["array_literals"] += sum(map(self._is_array_literal, equation.invars))
            for body in bodies_seen_by_jax(equation):
                totals.update(self.constvars(body.jaxpr))
                totals.update(inside(body.jaxpr))
        return totals

    def _is_array_literal(self, atom: Any) -> bool:
        if not isinstance(atom, core.Literal):
            return False
        seen = self._see(atom.val)
        return seen is not None and (seen.key or seen.bytes > self.embed_threshold)

    def _see(self, value: Any) -> CapturedValue | None:
        array = captured_value(value)
        return None if array is None else self.arrays.setdefault(array.identity, array)


def _is_special(var: Any) -> bool:
    return hasattr(var.aval, "inner_aval") or is_key(getattr(var.aval, "dtype", None))
