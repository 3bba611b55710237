"""CP202: an open jaxpr is asked for before a closed one.

From JAX 0.11.0 on `Jaxpr` and `ClosedJaxpr` are one class. Where `isinstance(x, Jaxpr)` is asked
before `isinstance(x, ClosedJaxpr)`, a closed jaxpr takes the way of an open one, and its captured
arrays are dropped or missing.

What to do: ask for `ClosedJaxpr` first. An open jaxpr then takes that way in the new versions, with
an empty `.consts`, which is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kinds
from parity_tests.lint.module import dotted_tail
from parity_tests.lint.records import Confidence, Match

TRIGGER = re.compile(r"\bClosedJaxpr\b")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for first in module.nodes(cst.If):
        name = _asked(kinds, first.test, "Jaxpr")
        later = first.orelse
        while name and isinstance(later, cst.If):
            if _asked(kinds, later.test, "ClosedJaxpr") == name:
                message = (
                    "Jaxpr is asked for before ClosedJaxpr; from JAX 0.11.0 on they are one class"
                )
                yield module.match(first.test, message, Confidence.HIGH)
                break
            later = later.orelse


def _asked(kinds: Kinds, test: cst.BaseExpression, wanted: str) -> str:
    if not isinstance(test, cst.Call) or dotted_tail(test.func) != "isinstance":
        return ""
    if len(test.args) != 2:
        return ""
    subject, what = (each.value for each in test.args)
    is_wanted = dotted_tail(what) == wanted and kinds.is_jax_class(what)
    return kinds.module.code(subject) if is_wanted else ""
