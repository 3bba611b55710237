"""CP107: invars of private tracing are paired with own inputs.

`trace_to_jaxpr_dynamic` is a private function of JAX. Until 0.11.0 the captured arrays of its jaxpr
are in `.constvars`; from 0.11.1 on they lead `.invars`; after the flip they are Literals. Code that
pairs `.invars` with its own inputs fails in one of these forms ("length mismatch"), or pairs the
wrong ones.

What to do: trace with `jax.make_jaxpr`, whose `.jaxpr.invars` are the arguments in every form and
version. Pairing these is not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import dotted_tail
from parity_tests.lint.records import Match

TRIGGER = re.compile(r"\btrace_to_jaxpr")

_PAIR = ("zip", "map", "safe_map", "safe_zip", "unsafe_map", "_safe_map", "dict", "partial")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for node in module.nodes(cst.Attribute):
        value = kinds.of(node) if node.attr.value == "invars" else None
        if value is None or value.kind is not Kind.INVARS or not value.is_private:
            continue
        call = module.enclosing(node, cst.Call)
        if call is not None and dotted_tail(call.func) in (*_PAIR, "len"):
            message = (
                "invars of private tracing are paired with own inputs; captured arrays are among "
                "them in some versions of JAX"
            )
            yield module.match(node, message, value.confidence)
