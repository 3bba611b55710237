"""CP502: the raw executable of a compiled program, called with own arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.rule import Rule

_EXPLANATION = """\
`compiled.runtime_executable()` is XLA's own executable. After the flip its first arguments are the
captured arrays, which the compiled stage passes by itself. Whoever calls `execute` with the user's
arguments alone passes too few.

What to do: call the compiled stage, `compiled(x)`."""

_CALLS = ("execute", "execute_sharded", "execute_sharded_on_local_devices")
_MAKERS = ("runtime_executable",)


def _check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for call in module.nodes(cst.Call):
        function = call.func
        if not isinstance(function, cst.Attribute) or function.attr.value not in _CALLS:
            continue
        value = kinds.of(function.value)
        if value is not None and value.kind is Kind.EXECUTABLE:
            confidence = value.confidence
        elif _is_made_here(function.value):
            confidence = Confidence.MEDIUM
        else:
            continue
        message = "a raw executable is called; after the flip it takes captured arrays as well"
        yield module.match(call, message, confidence)


def _is_made_here(node: cst.BaseExpression) -> bool:
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in _MAKERS
    )


RULE = Rule(
    code="CP502",
    title="a raw executable is called",
    explanation=_EXPLANATION,
    trigger=re.compile(r"runtime_executable"),
    check=_check,
)
