"""CP201: a closed jaxpr is unwrapped until it is an open one.

From JAX 0.11.0 on `Jaxpr` and `ClosedJaxpr` are one class, and `.jaxpr` of a jaxpr is the jaxpr
itself. A loop `while isinstance(x, ClosedJaxpr): x = x.jaxpr` never ends, and a function that calls
itself with `x.jaxpr` recurses until Python stops it.

What to do: unwrap once, `x = getattr(x, "jaxpr", x)`, and go on with the result. `--fix` turns the
loop into an `if`, which does the same in both forms: a closed jaxpr never holds another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kinds
from parity_tests.lint.module import Module, dotted_tail, text_of
from parity_tests.lint.records import Confidence, Match

TRIGGER = re.compile(r"\bjaxpr\b")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    for loop in module.nodes(cst.While):
        name = _asked(kinds, loop.test)
        if name and _only_unwraps(module, loop, name):
            message = "from JAX 0.11.0 on this loop never ends: `.jaxpr` of a jaxpr is itself"
            edit = module.keyword(loop, "while", "if")
            yield module.match(loop, message, Confidence.HIGH, edit)
    for call in module.nodes(cst.Call):
        if _recurses(kinds, call):
            message = "from JAX 0.11.0 on this recursion never ends: `.jaxpr` of a jaxpr is itself"
            yield module.match(call, message, Confidence.HIGH)


def _asked(kinds: Kinds, test: cst.BaseExpression) -> str:
    """Return the name that a condition asks to be a closed jaxpr; "" if it asks another thing."""
    if not isinstance(test, cst.Call) or len(test.args) != 2:
        return ""
    subject, what = (each.value for each in test.args)
    if not isinstance(subject, cst.Name):
        return ""
    function = dotted_tail(test.func)
    is_closed = dotted_tail(what) == "ClosedJaxpr" and kinds.is_jax_class(what)
    if (function == "isinstance" and is_closed) or (
        function == "hasattr" and text_of(what) == "jaxpr"
    ):
        return subject.value
    return ""


def _only_unwraps(module: Module, loop: cst.While, name: str) -> bool:
    statements = loop.body.body
    if loop.orelse is not None or len(statements) != 1:
        return False
    statement: cst.CSTNode = statements[0]
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        statement = statement.body[0]
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0].target, statement.value
    return (module.code(target), module.code(value)) == (name, f"{name}.jaxpr")


def _recurses(kinds: Kinds, call: cst.Call) -> bool:
    """Say whether a function calls itself with `x.jaxpr` because x is a closed jaxpr."""
    module = kinds.module
    function = module.enclosing(call, cst.FunctionDef)
    if function is None or not isinstance(call.func, cst.Name) or not call.args:
        return False
    if call.func.value != function.name.value:
        return False
    inner = call.args[0].value
    if not isinstance(inner, cst.Attribute) or inner.attr.value != "jaxpr":
        return False
    name = inner.value.value if isinstance(inner.value, cst.Name) else ""
    parameters = [each.name.value for each in function.params.params]
    if not name or name not in parameters[:1]:
        return False
    conditions = [each for each in module.around(call) if isinstance(each, cst.If)]
    if not any(_asked(kinds, each.test) == name for each in conditions):
        return False
    return not _asks_for_open_before(kinds, function, call, name)


def _asks_for_open_before(
    kinds: Kinds, function: cst.FunctionDef, call: cst.Call, name: str
) -> bool:
    """Say whether an open jaxpr is asked for first: then one class takes that way."""
    module = kinds.module
    for test in module.nodes(cst.Call):
        if dotted_tail(test.func) != "isinstance" or len(test.args) != 2:
            continue
        if module.order(test) < module.order(call) and module.is_inside(test, function):
            subject, classes = (each.value for each in test.args)
            code = module.code(classes)
            if getattr(subject, "value", "") == name and re.search(r"(?<!Closed)\bJaxpr\b", code):
                return True
    return False
