"""CP502: a raw executable is called.

`compiled.runtime_executable()` is XLA's own executable. After the flip its first arguments are the
captured arrays, which the compiled stage passes by itself. Whoever calls `execute` with the user's
arguments alone passes too few.

What to do: call the compiled stage, `compiled(x)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.records import Confidence, Match

TRIGGER = re.compile(r"runtime_executable")

_CALLS = ("execute", "execute_sharded", "execute_sharded_on_local_devices")
_MAKERS = ("runtime_executable",)


def check(kinds: Kinds) -> Iterator[Match]:
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
