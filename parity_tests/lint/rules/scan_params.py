"""CP204: a parameter of scan that newer versions do not have.

Until JAX 0.10.2 an equation of `scan` has the parameters `num_consts` and `num_carry`; from 0.11.0
on it has `ft_in` and `ft_out` instead, and reading the old ones raises KeyError. After the flip
`num_consts` leaves captured arrays out, because they are no operands of the body any more.

What to do: ask which one is there, `if "num_carry" in eqn.params:`, and count the parts of `ft_in`
otherwise. Split the operands by these counts and never by fixed numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import Module, text_of
from parity_tests.lint.records import Match

TRIGGER = re.compile(r"\b(num_carry|num_consts)\b")

_KEYS = ("num_carry", "num_consts")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    asked = {text_of(each.left) for each in module.nodes(cst.Comparison)}
    if asked & {"num_consts", "num_carry", "ft_in"}:
        return  # the file knows both
    for node in module.nodes(cst.Subscript):
        index = node.slice[0].slice
        key = text_of(index.value) if isinstance(index, cst.Index) else None
        value = kinds.of(node.value) if key in _KEYS else None
        if key == "num_consts" and not _is_about_scan(module, node):
            continue  # other primitives have one, too
        if value is not None and value.kind is Kind.PARAMS:
            message = f"an equation of scan has no {key!r} from JAX 0.11.0 on, but ft_in and ft_out"
            yield module.match(node, message, value.confidence)


def _is_about_scan(module: Module, node: cst.Subscript) -> bool:
    function = module.enclosing(node, cst.FunctionDef)
    return function is not None and re.search(r"scan", module.code(function)) is not None
