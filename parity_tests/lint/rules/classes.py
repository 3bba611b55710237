"""The rules of the classes and parameters of jaxprs."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import Module, dotted_tail, text_of
from parity_tests.lint.records import Confidence, Edit, Match
from parity_tests.lint.rule import rule


@rule(re.compile(r"\bjaxpr\b"))
def unwraps_forever(kinds: Kinds) -> Iterator[Match]:
    """CP201: a closed jaxpr is unwrapped until it is an open one.

    From JAX 0.11.0 on `Jaxpr` and `ClosedJaxpr` are one class, and `.jaxpr` of a jaxpr is the jaxpr
    itself. A loop `while isinstance(x, ClosedJaxpr): x = x.jaxpr` never ends, and a function that
    calls itself with `x.jaxpr` recurses until Python stops it.

    What to do: unwrap once, `x = getattr(x, "jaxpr", x)`, and go on with the result. `--fix` turns
    the loop into an `if`, which does the same in both forms: a closed jaxpr never holds another
    one.
    """
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


@rule(re.compile(r"\bClosedJaxpr\b"))
def open_before_closed(kinds: Kinds) -> Iterator[Match]:
    """CP202: an open jaxpr is asked for before a closed one.

    From JAX 0.11.0 on `Jaxpr` and `ClosedJaxpr` are one class. Where `isinstance(x, Jaxpr)` is
    asked before `isinstance(x, ClosedJaxpr)`, a closed jaxpr takes the way of an open one, and its
    captured arrays are dropped or missing.

    What to do: ask for `ClosedJaxpr` first. An open jaxpr then takes that way in the new versions,
    with an empty `.consts`, which is right.
    """
    module = kinds.module
    for first in module.nodes(cst.If):
        name = _asked_before(kinds, first.test, "Jaxpr")
        later = first.orelse
        while name and isinstance(later, cst.If):
            if _asked_before(kinds, later.test, "ClosedJaxpr") == name:
                message = (
                    "Jaxpr is asked for before ClosedJaxpr; from JAX 0.11.0 on they are one class"
                )
                yield module.match(first.test, message, Confidence.HIGH)
                break
            later = later.orelse


def _asked_before(kinds: Kinds, test: cst.BaseExpression, wanted: str) -> str:
    if not isinstance(test, cst.Call) or dotted_tail(test.func) != "isinstance":
        return ""
    if len(test.args) != 2:
        return ""
    subject, what = (each.value for each in test.args)
    is_wanted = dotted_tail(what) == wanted and kinds.is_jax_class(what)
    return kinds.module.code(subject) if is_wanted else ""


_PUBLIC = ("ClosedJaxpr", "Jaxpr", "JaxprEqn", "Literal", "Primitive", "Token", "Var",
           "array_types", "jaxpr_as_fun", "primitives")  # fmt: skip
_GONE = {
    **{f"jax.core.{name}": "is gone" for name in _PUBLIC},
    "jax._src.core.ClosedJaxpr": "is gone from JAX 0.12.0 on",
}


@rule(re.compile(r"\bcore\b"))
def removed_names(kinds: Kinds) -> Iterator[Match]:
    """CP203: a class of jaxprs by a name that is gone.

    The classes of jaxprs are public in `jax.extend.core`. Their names in `jax.core` were removed
    before JAX 0.10.2, and the private `jax._src.core.ClosedJaxpr` in 0.12.0.

    What to do: take the names from `jax.extend.core`, which has them in all these versions. `--fix`
    does so where the import names nothing else. Code that tries one place and then another is not
    reported.
    """
    module = kinds.module
    for line in module.nodes(cst.ImportFrom):
        yield from _imported(module, line)
    for node in module.nodes(cst.Attribute):
        name = module.qualified(node)
        if name in _GONE and not _is_tried(module, node):
            yield module.match(node, _message(name), Confidence.HIGH)


def _imported(module: Module, line: cst.ImportFrom) -> Iterator[Match]:
    if line.module is None or isinstance(line.names, cst.ImportStar) or line.relative:
        return
    source = module.code(line.module)
    names = [f"{source}.{alias.evaluated_name}" for alias in line.names]
    gone = [each for each in names if each in _GONE]
    if not gone or _is_tried(module, line):
        return
    edits: tuple[Edit, ...] = ()
    if all(name.rpartition(".")[2] in _PUBLIC for name in names):
        edits = (module.replaced(line.module, "jax.extend.core"),)
    for name in gone:
        yield module.match(line, _message(name), Confidence.HIGH, *edits)


def _message(name: str) -> str:
    tail = name.rpartition(".")[2]
    return f"{name} {_GONE[name]}; jax.extend.core.{tail} is there in all versions"


def _is_tried(module: Module, node: cst.CSTNode) -> bool:
    """Say whether a name is guarded, by a `try` or a condition, or is never looked up.

    An annotation may be a text alone.
    """
    return module.enclosing(node, cst.Try, cst.If, cst.IfExp, cst.Annotation) is not None


_KEYS = ("num_carry", "num_consts")


@rule(re.compile(r"\b(num_carry|num_consts)\b"))
def scan_params(kinds: Kinds) -> Iterator[Match]:
    """CP204: a parameter of scan that newer versions do not have.

    Until JAX 0.10.2 an equation of `scan` has the parameters `num_consts` and `num_carry`; from
    0.11.0 on it has `ft_in` and `ft_out` instead, and reading the old ones raises KeyError. After
    the flip `num_consts` leaves captured arrays out, because they are no operands of the body any
    more.

    What to do: ask which one is there, `if "num_carry" in eqn.params:`, and count the parts of
    `ft_in` otherwise. Split the operands by these counts and never by fixed numbers.
    """
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
