"""CP504: a size that captured arrays count in.

Today captured arrays are part of the code of a compiled program. After the flip they are arguments
of it, so `memory_analysis().argument_size_in_bytes` grows by their bytes, once for each use in the
outermost program, and `generated_code_size_in_bytes` shrinks.

What to do: expect other figures, or count captured arrays separately. A limit that is compared with
one of them may be crossed by the flip alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.records import Confidence, Match

TRIGGER = re.compile(r"argument_size_in_bytes|generated_code_size_in_bytes")

_SIZES = ("argument_size_in_bytes", "generated_code_size_in_bytes")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for node in module.nodes(cst.Attribute):
        if node.attr.value not in _SIZES:
            continue
        value = kinds.of(node.value)
        is_analysis = value is not None and value.kind is Kind.ANALYSIS
        message = f"{node.attr.value} is read; after the flip captured arrays count as arguments"
        yield module.match(node, message, Confidence.HIGH if is_analysis else Confidence.MEDIUM)
