"""The rules of the two classes of jaxprs, which became one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from parity_tests.lint.kinds import Kinds
from parity_tests.lint.module import Module, dotted_tail, is_called, text_of
from parity_tests.lint.records import Confidence, Edit, Match
from parity_tests.lint.rule import rule


@rule(re.compile(r"\bjaxpr\b"))
def unwraps_forever(kinds: Kinds) -> Iterator[Match]:
    """CP201: a closed jaxpr is unwrapped until it is an open one.

    From JAX 0.11.0 on `Jaxpr` and `ClosedJaxpr` are one class, and `.jaxpr` of a jaxpr is the jaxpr
    itself. A loop `while isinstance(x, ClosedJaxpr): x = x.jaxpr` never ends, and a function that
    calls itself with `x.jaxpr` recurses until Python stops it.

    What to do: unwrap once, `x = getattr(x, "jaxpr", x)`, and go on with the result. `--fix` turns
    a loop that asks for the class into an `if`, which does the same in both forms: a closed jaxpr
    never holds another one.
    """
    module = kinds.module
    for loop in module.nodes(cst.While):
        name = _asked(kinds, loop.test)
        if name and _only_unwraps(module, loop, name):
            message = "from JAX 0.11.0 on this loop never ends: `.jaxpr` of a jaxpr is itself"
            # What has a `jaxpr` may be no jaxpr, and may have one that has one, as a stage does.
            is_of_class = not is_called(loop.test, "hasattr")
            edits = (module.keyword(loop, "while", "if"),) if is_of_class else ()
            yield module.match(loop, message, Confidence.HIGH, *edits)
    for call in module.nodes(cst.Call):
        if _recurses(kinds, call):
            message = "from JAX 0.11.0 on this recursion never ends: `.jaxpr` of a jaxpr is itself"
            yield module.match(call, message, Confidence.HIGH)


def _asked(kinds: Kinds, test: cst.BaseExpression) -> str:
    """Return the name that a condition asks to be a closed jaxpr; "" if it asks another thing."""
    if is_called(test, "hasattr") and len(test.args) == 2:
        is_asked = text_of(test.args[1].value) == "jaxpr"
        name = kinds.module.code(test.args[0].value)
    else:
        name, wanted = _asked_class(kinds, test)
        is_asked = wanted == "ClosedJaxpr"
    return name if is_asked and name.isidentifier() else ""


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
    if function is None or not call.args or dotted_tail(call.func) != function.name.value:
        return False
    is_method = isinstance(call.func, cst.Attribute)
    if is_method and module.code(call.func) != f"self.{function.name.value}":
        return False
    inner = call.args[0].value
    if not isinstance(inner, cst.Attribute) or inner.attr.value != "jaxpr":
        return False
    name = inner.value.value if isinstance(inner.value, cst.Name) else ""
    parameters = [each.name.value for each in function.params.params]
    if not name or name not in parameters[is_method : is_method + 1]:
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
    """CP202: open and closed jaxprs are told apart by their class.

    From JAX 0.11.0 on `Jaxpr` and `ClosedJaxpr` are one class. Where `isinstance(x, Jaxpr)` is
    asked before `isinstance(x, ClosedJaxpr)`, a closed jaxpr takes the way of an open one, and its
    captured arrays are dropped or missing. Two conditions that do not exclude each other both hold,
    so a body is visited twice. A condition that refuses one of the classes refuses every jaxpr, and
    one that asks for one class and not for the other holds for none.

        if isinstance(x, ClosedJaxpr): yield x.jaxpr
        if isinstance(x, Jaxpr): yield x             # a second time from JAX 0.11.0 on

    What to do: ask for `ClosedJaxpr` first, and for `Jaxpr` in an `elif`. An open jaxpr then takes
    the first way in the new versions, with an empty `.consts`, which is right. Refuse a jaxpr by
    its `.constvars` or `.consts`, and not by its class.
    """
    module = kinds.module
    blocks: list[cst.IndentedBlock | cst.Module] = [module.root, *module.nodes(cst.IndentedBlock)]
    for block in blocks:
        branches = [each for each in block.body if isinstance(each, cst.If)]
        yield from _told_apart(kinds, [_ask(kinds, each) for each in branches])
    for match in module.nodes(cst.Match):
        yield from _told_apart(kinds, [_case(kinds, match, each) for each in match.cases])
    yield from _told_apart_at_once(kinds)


@dataclass(frozen=True)
class _Ask:
    """A condition that asks for a class of jaxprs, and what its branch does.

    `later` are those of the branches that are taken where it does not hold.
    """

    node: cst.CSTNode
    subject: str
    wanted: str
    body: cst.BaseSuite
    later: tuple[_Ask, ...] = ()
    excludes: bool = False

    def ends(self) -> bool:
        """Say whether nothing after the branch is reached from it."""
        last = _statements(self.body)[-1]
        return self.excludes or isinstance(last, cst.Return | cst.Raise | cst.Continue | cst.Break)

    def refuses(self) -> bool:
        """Say whether the branch only raises."""
        return isinstance(_statements(self.body)[0], cst.Raise)


def _statements(body: cst.BaseSuite) -> list[cst.CSTNode]:
    found: list[cst.CSTNode] = []
    for each in body.body:
        found += each.body if isinstance(each, cst.SimpleStatementLine) else [each]
    return found


def _told_apart(kinds: Kinds, asked: Sequence[_Ask | None]) -> Iterator[Match]:
    """Yield where a class decides, among conditions that are asked one after the other."""
    first: dict[str, _Ask] = {}
    for ask in asked:
        if ask is None:
            continue
        earlier = first.setdefault(ask.subject, ask)
        second = next((each for each in ask.later if each.subject == ask.subject), None)
        if ask.wanted == "Jaxpr" and second is not None and second.wanted == "ClosedJaxpr":
            yield kinds.module.match(ask.node, _BEFORE, Confidence.HIGH)
        elif earlier is ask and ask.refuses() and second is None:
            yield kinds.module.match(ask.node, _REFUSED, Confidence.HIGH)
        elif earlier.wanted != ask.wanted:
            if earlier.wanted == "Jaxpr" and earlier.ends():
                yield kinds.module.match(earlier.node, _BEFORE, Confidence.HIGH)
            elif not earlier.ends() and not _rebinds(kinds.module, earlier):
                yield kinds.module.match(ask.node, _TWICE, Confidence.HIGH)


def _told_apart_at_once(kinds: Kinds) -> Iterator[Match]:
    """Yield conditions such as `isinstance(x, ClosedJaxpr) and not isinstance(x, Jaxpr)`."""
    for whole in kinds.module.nodes(cst.BooleanOperation):
        operator = type(whole.operator)
        above = kinds.module.parent(whole)
        if isinstance(above, cst.BooleanOperation) and isinstance(above.operator, operator):
            continue  # a part of a longer one
        asked: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
        for part in _operands(whole, operator):
            is_refused, test = _without_not(part)
            asked[is_refused].add(_asked_class(kinds, test))
        if any((what, _OTHER.get(wanted)) in asked[True] for what, wanted in asked[False]):
            yield kinds.module.match(whole, _APART, Confidence.HIGH)
    for statement in kinds.module.nodes(cst.Assert):
        is_refused, test = _without_not(statement.test)
        if is_refused and _asked_class(kinds, test)[0]:
            yield kinds.module.match(statement, _REFUSED, Confidence.HIGH)


def _without_not(node: cst.BaseExpression) -> tuple[bool, cst.BaseExpression]:
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        return True, node.expression
    return False, node


def _operands(
    node: cst.BaseExpression, operator: type[cst.BaseBooleanOp]
) -> Iterator[cst.BaseExpression]:
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, operator):
        yield from _operands(node.left, operator)
        yield from _operands(node.right, operator)
    else:
        yield node


_OTHER = {"Jaxpr": "ClosedJaxpr", "ClosedJaxpr": "Jaxpr"}
_ONE = "from JAX 0.11.0 on they are one class"
_APART = f"Jaxpr is told from ClosedJaxpr by its class; {_ONE}"
_BEFORE = f"Jaxpr is asked for before ClosedJaxpr; {_ONE}"
_TWICE = f"both are done where Jaxpr and ClosedJaxpr are asked for; {_ONE}"
_REFUSED = f"every jaxpr is refused where Jaxpr or ClosedJaxpr is; {_ONE}"


def _ask(kinds: Kinds, branch: cst.If) -> _Ask | None:
    subject, wanted = _asked_class(kinds, branch.test)
    if not subject:
        return None
    later: list[_Ask] = []
    other = branch.orelse
    while isinstance(other, cst.If):
        again = _asked_class(kinds, other.test)
        if again[0]:
            later.append(_Ask(other.test, *again, other.body))
        other = other.orelse
    return _Ask(branch.test, subject, wanted, branch.body, tuple(later))


def _case(kinds: Kinds, match: cst.Match, case: cst.MatchCase) -> _Ask | None:
    pattern = case.pattern
    if not isinstance(pattern, cst.MatchClass) or case.guard is not None:
        return None
    wanted = kinds.module.last_name(pattern.cls)
    if wanted not in _OTHER or not kinds.is_jax_class(pattern.cls):
        return None
    return _Ask(pattern, kinds.module.code(match.subject), wanted, case.body, excludes=True)


def _asked_class(kinds: Kinds, test: cst.BaseExpression) -> tuple[str, str]:
    """Return what a condition asks to be which class of jaxprs; "" for another condition."""
    if is_called(test, "isinstance") and len(test.args) == 2:
        subject, what = (each.value for each in test.args)
    elif isinstance(test, cst.Comparison) and is_called(test.left, "type") and test.left.args:
        if not isinstance(test.comparisons[0].operator, cst.Is | cst.Equal):
            return "", ""
        subject, what = test.left.args[0].value, test.comparisons[0].comparator
    else:
        return "", ""
    wanted = kinds.module.last_name(what)
    if wanted not in _OTHER or not kinds.is_jax_class(what):
        return "", ""
    return kinds.module.code(subject), wanted


def _rebinds(module: Module, ask: _Ask) -> bool:
    """Say whether a branch gives its subject another value, as `x = x.jaxpr` does."""
    targets = module.nodes_in(ask.body, cst.AssignTarget)
    return any(
        re.search(rf"(?<![\w.]){re.escape(ask.subject)}(?![\w.])", module.code(each.target))
        for each in targets
    )


@rule(re.compile(r"\bClosedJaxpr\b"))
def jaxpr_keyword(kinds: Kinds) -> Iterator[Match]:
    """CP205: a closed jaxpr is made with the keyword `jaxpr`.

    `ClosedJaxpr(jaxpr=open, consts=values)` raises TypeError from JAX 0.11.0 on: the constructor of
    the one class has no such keyword.

    What to do: pass both by position, `ClosedJaxpr(open, values)`, which all versions take. `--fix`
    does so.
    """
    module = kinds.module
    for call in module.nodes(cst.Call):
        if module.last_name(call.func) != "ClosedJaxpr" or not kinds.is_jax_class(call.func):
            continue
        given = {each.keyword.value: each.value for each in call.args if each.keyword}
        if "jaxpr" not in given:
            continue
        edits: tuple[Edit, ...] = ()
        is_plain = len(call.args) == 2 and set(given) == {"jaxpr", "consts"}
        if is_plain and "#" not in module.code(call):
            both = ", ".join(module.code(given[each]) for each in ("jaxpr", "consts"))
            edits = (module.replaced(call, f"{module.code(call.func)}({both})"),)
        message = "ClosedJaxpr has no keyword 'jaxpr' from JAX 0.11.0 on; pass both by position"
        yield module.match(call, message, Confidence.HIGH, *edits)


@rule(re.compile(r"\bClosedJaxpr\b"))
def keyed_by_class(kinds: Kinds) -> Iterator[Match]:
    """CP206: a table has one entry for each class of jaxprs.

    From JAX 0.11.0 on `Jaxpr` and `ClosedJaxpr` are one class, and one key. In a dict, a registry
    or a `functools.singledispatch` function the later entry replaces the earlier one, and all
    jaxprs are treated as those of the later class.

        handlers = {ClosedJaxpr: close, Jaxpr: leave}   # all jaxprs are left from 0.11.0 on

    What to do: keep one entry, which looks at `.consts`, or make both the same. Two entries of the
    same value are not reported.
    """
    module = kinds.module
    tables: dict[str, dict[str, tuple[cst.CSTNode, str]]] = {}
    for table, key, value in _entries(kinds):
        found = tables.setdefault(table, {})
        other = found.get(_OTHER[module.last_name(key)])
        if other is not None and other[1] != value:
            yield module.match(key, _KEYED, Confidence.HIGH)
        found.setdefault(module.last_name(key), (key, value))


_KEYED = "this entry takes the place of that for the other class of jaxprs; " + _ONE


def _entries(kinds: Kinds) -> Iterator[tuple[str, cst.BaseExpression, str]]:
    """Yield the entries of tables for classes of jaxprs: the table, the class and the value."""
    module = kinds.module

    def is_key(node: cst.CSTNode) -> bool:
        return module.last_name(node) in _OTHER and kinds.is_jax_class(node)

    for element in module.nodes(cst.DictElement):
        if is_key(element.key):
            table = module.parent(element)
            yield (
                f"dict {module.order(table) if table else ''}",
                element.key,
                module.code(element.value),
            )
    for assign in module.nodes(cst.Assign):
        for target in (each.target for each in assign.targets):
            if isinstance(target, cst.Subscript):
                index = target.slice[0].slice
                if isinstance(index, cst.Index) and is_key(index.value):
                    yield module.code(target.value), index.value, module.code(assign.value)
    for call in module.nodes(cst.Call):
        if is_called(call, "register") and call.args and is_key(call.args[0].value):
            value = module.code(call.args[1].value) if len(call.args) > 1 else ""
            decorated = module.enclosing(call, cst.FunctionDef) if not value else None
            value = value or f"{module.order(decorated) if decorated else ''}"
            yield module.code(call.func), call.args[0].value, value
    for function in module.nodes(cst.FunctionDef):
        for decorator in (each.decorator for each in function.decorators):
            first = next((each.annotation for each in function.params.params), None)
            is_register = (
                isinstance(decorator, cst.Attribute) and dotted_tail(decorator) == "register"
            )
            if is_register and first is not None and is_key(first.annotation):
                yield module.code(decorator), first.annotation, f"{module.order(function)}"
