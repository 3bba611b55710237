"""CP103: `.constvars` of a jaxpr is read as the variables of captured arrays.

Today the captured arrays of a jaxpr have variables, its `.constvars`. After the flip there are
none: captured arrays are Literals. Code that counts constvars, numbers them or looks variables up
among them then takes a program for one that captures nothing.

    is_constant = atom in jaxpr.constvars   # never true after the flip

What to do: look for Literals as well, `isinstance(atom, jax.extend.core.Literal)`, before the atom
is looked up: a Literal cannot be hashed.

Code that pairs constvars with `.consts`, or takes them together with `.invars`, works in both forms
and is not reported. Neither is a loop that gives each constvar a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.uses import Purpose, uses_of

TRIGGER = re.compile(r"\.constvars\b")

_SAYS = {
    Purpose.COUNTED: "are counted here",
    Purpose.INDEXED: "are looked up by number here",
    Purpose.COMPARED: "are compared here",
    Purpose.CHANGED: "are changed here",
    Purpose.EACH_VISITED: "are visited here",
    Purpose.ESCAPES: "are passed on here without their values",
}
_UNSURE = (Purpose.EACH_VISITED, Purpose.ESCAPES)


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for node in module.nodes(cst.Attribute):
        value = kinds.of(node) if node.attr.value == "constvars" else None
        if value is None or value.kind is not Kind.CONSTVARS or _is_with_invars(kinds, node):
            continue
        found = [each for each in uses_of(module, kinds, node) if each.purpose in _SAYS]
        found.sort(key=lambda use: use.purpose in _UNSURE)
        if found:
            purpose = found[0].purpose
            confidence = Confidence.LOW if purpose in _UNSURE else value.confidence
            says = f"constvars {_SAYS[purpose]}; after the flip there are none for captured arrays"
            yield module.match(node, says, confidence)


def _is_with_invars(kinds: Kinds, node: cst.Attribute) -> bool:
    """Say whether constvars are taken together with invars, or given to a new jaxpr."""
    for each in kinds.module.around(node):
        if isinstance(each, cst.Arg) and each.keyword is not None:
            return each.keyword.value == "constvars"
        if isinstance(each, cst.BaseStatement | cst.BaseSmallStatement):
            return False
        if isinstance(each, cst.BinaryOperation | cst.List | cst.Tuple | cst.Call):
            code = kinds.module.code(each)
            if re.search(r"\binvars\b", code):
                return True
    return False
