"""The kinds of values that lint tells apart, and how sure it is of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

from parity_tests.lint.records import Confidence


class Kind(Enum):
    """What a value is. The plurals are sequences."""

    JAXPR = auto()  # open, closed, or unknown which
    JAXPRS = auto()
    EQUATION = auto()
    EQUATIONS = auto()
    ATOM = auto()
    ATOMS = auto()
    PARAMS = auto()
    CONSTS = auto()
    CONSTVARS = auto()
    INVARS = auto()
    OUTVARS = auto()
    MAKER = auto()  # the result of jax.make_jaxpr
    JITTED = auto()
    TRACED = auto()
    LOWERED = auto()
    COMPILED = auto()
    ANALYSIS = auto()  # the result of memory_analysis()
    EXECUTABLE = auto()
    MODULE_TEXT = auto()
    JAXPR_TEXT = auto()
    TUPLE = auto()


@dataclass(frozen=True)
class Value:
    """The kind of a value, and how sure it is.

    `items` are those of a tuple. `is_private` says that private tracing of JAX made the jaxpr.
    """

    kind: Kind
    confidence: Confidence = Confidence.HIGH
    items: tuple[Value | None, ...] = ()
    is_private: bool = False

    def at_most(self, confidence: Confidence) -> Value:
        """Return the value with a confidence that is no higher."""
        return replace(self, confidence=min(self.confidence, confidence))

    def other(self, kind: Kind) -> Value:
        """Return a value of another kind that this one leads to, equally sure."""
        return Value(kind, self.confidence, is_private=self.is_private)


def tuple_of(*items: Value | None) -> Value:
    """Return a tuple of values; None stands for an item that nothing shows."""
    return Value(Kind.TUPLE, items=items)


def taken_apart(value: Value | None, path: list[int]) -> Value | None:
    """Return the item of nested tuples at a path of places."""
    for place in path:
        if value is None or value.kind is not Kind.TUPLE or place >= len(value.items):
            return None
        inner = value.items[place]
        value = inner.at_most(value.confidence) if inner is not None else None
    return value
