"""CP102: other values replace the captured arrays of a jaxpr.

Code that evaluates a jaxpr with other values than its own `.consts` changes the captured arrays of
a program: `jax.core.eval_jaxpr(closed.jaxpr, new_values, x)`. After the flip the jaxpr has no
constvars, and this raises because there are more values than variables; values that were taken
from `.consts` one by one are none, and nothing is changed.

What to do: make the arrays arguments of the traced function, and pass other values there. From
JAX 0.11.1 on, `jax.jit(f).trace(x).closure_convert()` makes the captured arrays arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import dotted_tail
from parity_tests.lint.records import Confidence, Match

TRIGGER = re.compile(r"\b(eval_jaxpr|ClosedJaxpr)\b|\bconsts=")

_OWN = re.compile(r"(^|_)(consts?|const_?vals?|literals|const_args|closed_over)(_|$|\d)", re.I)


def check(kinds: Kinds) -> Iterator[Match]:
    for call in kinds.module.nodes(cst.Call):
        values = _values(kinds, call)
        confidence = _confidence(kinds, values) if values is not None else None
        if values is not None and confidence is not None:
            yield kinds.module.match(
                values,
                "other values stand for the captured arrays of a jaxpr; "
                "after the flip it has no constvars that could take them",
                confidence,
            )


def _values(kinds: Kinds, call: cst.Call) -> cst.BaseExpression | None:
    """Return what a call gives to a jaxpr as its captured arrays."""
    name, args = dotted_tail(call.func), call.args
    named = next((a.value for a in args if a.keyword and a.keyword.value == "consts"), None)
    if name in ("eval_jaxpr", "ClosedJaxpr"):
        if len(args) < 2 or not kinds.is_a(args[0].value, Kind.JAXPR):
            return None
        return named or (args[1].value if not args[1].star and not args[1].keyword else None)
    if name == "replace" and isinstance(call.func, cst.Attribute):
        return named if kinds.is_a(call.func.value, Kind.JAXPR) else None
    return None


def _confidence(kinds: Kinds, values: cst.BaseExpression) -> Confidence | None:
    """Return how sure it is that these are not the jaxpr's own captured arrays; None if they are.

    What a name or an unknown call holds may be the jaxpr's own.
    """
    if kinds.is_a(values, Kind.CONSTS):
        return None
    if isinstance(values, cst.List | cst.Tuple):
        is_made = any(isinstance(each, cst.Element) for each in values.elements)
        return Confidence.HIGH if is_made else None
    if isinstance(values, cst.ListComp | cst.GeneratorExp):
        return Confidence.HIGH if kinds.is_a(values.for_in.iter, Kind.CONSTS) else Confidence.LOW
    code = kinds.module.code(values)
    return None if any(map(_OWN.search, re.findall(r"\w+", code))) else Confidence.LOW
