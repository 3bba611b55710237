"""CP503: `in_avals` of a lowered stage.

`jax.jit(f).lower(x).in_avals` counts the types of captured arrays among those of the arguments
after the flip, and raises ValueError where a program captures an array ("Too many leaves for
PyTreeDef"); seen on JAX 0.10.2 and 0.12.0.1.

What to do: read `lowered.args_info`, which has the types of the arguments in both forms, or
`in_avals` of the compiled or the traced stage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.records import Match

TRIGGER = re.compile(r"\.in_avals\b")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for node in module.nodes(cst.Attribute):
        value = kinds.of(node.value) if node.attr.value == "in_avals" else None
        if value is not None and value.kind is Kind.LOWERED:
            message = "`in_avals` of a lowered stage raises after the flip if an array is captured"
            yield module.match(node, message, value.confidence)
