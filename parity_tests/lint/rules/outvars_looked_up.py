"""CP106: output variables are looked up without asking for Literals.

An output of a jaxpr is a Literal where the function returns a constant: today that is a scalar, and
rare. After the flip it is each captured array that is returned. A Literal is in no environment and
cannot be hashed, so `[env[v] for v in jaxpr.outvars]` raises TypeError.

What to do: read outputs as operands are read.

    def read(atom):
        return atom.val if isinstance(atom, jax.extend.core.Literal) else env[atom]

    outputs = [read(v) for v in jaxpr.outvars]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import Module, dotted_tail
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.uses import accesses

TRIGGER = re.compile(r"\.outvars\b")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for node in module.nodes(cst.Attribute):
        value = kinds.of(node) if node.attr.value == "outvars" else None
        if value is None or value.kind is not Kind.OUTVARS or _knows_literals(module, node):
            continue
        where = _looked_up(module, node)
        if where is not None:
            message = "outputs are looked up as variables; after the flip a returned captured array"
            yield module.match(where, f"{message} is a Literal", _at_most(value.confidence))


def _at_most(confidence: Confidence) -> Confidence:
    # A program that returns a captured array as it is, is needed as well.
    return min(confidence, Confidence.MEDIUM)


def _knows_literals(module: Module, node: cst.CSTNode) -> bool:
    outermost = [each for each in module.around(node) if isinstance(each, cst.FunctionDef)]
    code = module.code(outermost[-1]) if outermost else module.text
    return re.search(r"\bLiteral\b|\bis_literal\b|\bisinstance\([^()]*\bVar\b", code) is not None


def _looked_up(module: Module, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return where a dict or set is asked for the elements of outvars."""
    parent = module.parent(node)
    if isinstance(parent, cst.For | cst.CompFor) and isinstance(parent.target, cst.Name):
        for access in accesses(module, parent.target):
            if _is_key(module, access):
                return access
    if isinstance(parent, cst.Arg):
        call = module.parent(parent)
        if isinstance(call, cst.Call) and dotted_tail(call.func) in ("set", "frozenset"):
            return call
        if isinstance(call, cst.Call) and dotted_tail(call.func) in ("map", "safe_map"):
            function = call.args[0].value
            if isinstance(function, cst.Attribute) and _is_dict(module, function.value):
                return call
    return None


def _is_key(module: Module, access: cst.CSTNode) -> bool:
    parent = module.parent(access)
    if isinstance(parent, cst.Index):
        element = module.parent(parent)
        whole = module.parent(element) if element is not None else None
        return isinstance(whole, cst.Subscript) and _is_dict(module, whole.value)
    if isinstance(parent, cst.Arg):
        call = module.parent(parent)
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
            return False
        return call.func.attr.value == "get" and _is_dict(module, call.func.value)
    return False


def _is_dict(module: Module, node: cst.CSTNode) -> bool:
    """Say whether a name is bound to a dict in this file; other classes may take Literals."""
    if not isinstance(node, cst.Name):
        return False
    for assignment in module.assignments(node):
        above = module.parent(assignment.node)
        statement = module.parent(above) if isinstance(above, cst.AssignTarget) else above
        value = getattr(statement, "value", None)
        if isinstance(value, cst.Dict | cst.DictComp):
            return True
        if isinstance(value, cst.Call) and dotted_tail(value.func) in ("dict", "defaultdict"):
            return True
    return False
