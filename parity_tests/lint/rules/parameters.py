"""The rules of parameters of equations that JAX has removed or changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kind, Kinds
from parity_tests.lint.module import Module, dotted_tail, is_called, text_of
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.rule import rule

_KEYS = ("num_carry", "num_consts")
_OLDER = ("linear", "_split_transpose")  # gone by 0.10.2
# The place of each count among the parts of `ft_in`.
_PARTS = {"num_consts": 0, "num_carry": 1}


@rule(re.compile(r"\b(num_carry|num_consts)\b"))
def scan_params(kinds: Kinds) -> Iterator[Match]:
    """CP204: a parameter of scan that newer versions do not have.

    Until JAX 0.10.2 an equation of `scan` has the parameters `num_consts` and `num_carry`; from
    0.11.0 on it has `ft_in` and `ft_out` instead. Reading the old ones raises KeyError, and a rule
    of `scan_p` that takes them raises TypeError. After the flip `num_consts` leaves captured arrays
    out, because they are no operands of the body any more.

    What to do: ask which one is there, `if "num_carry" in eqn.params:`, and count the parts of
    `ft_in` otherwise: constants, carry, inputs. `--fix` does so where a parameter is read by its
    name. Split the operands by these counts and never by fixed numbers.
    """
    module = kinds.module
    for node in module.nodes(cst.Subscript):
        index = node.slice[0].slice
        key = text_of(index.value) if isinstance(index, cst.Index) else None
        value = kinds.of(node.value) if key in _KEYS else None
        if key in _KEYS and _is_asked_for(module, node):
            continue
        if key == "num_consts" and not _is_about_scan(module, node):
            continue  # other primitives have one, too
        if value is not None and value.kind is Kind.PARAMS and key is not None:
            params = module.code(node.value)
            old = module.code(node.slice[0].slice)  # the key as the file quotes it
            new = f"len({params}[{old.replace(key, 'ft_in')}].unpack()[{_PARTS[key]}])"
            edit = module.replaced(node, f"({params}[{old}] if {old} in {params} else {new})")
            edits = (edit,) if _is_read(module, node) and "#" not in params else ()
            yield module.match(node, _says(key), value.confidence, *edits)
    for parameter in _parameters_of_rules(module, "scan_p"):
        if parameter.name.value in (*_KEYS, *_OLDER) and parameter.default is None:
            yield module.match(parameter, _says(parameter.name.value), Confidence.HIGH)
    for call in module.nodes(cst.Call):
        if is_called(call, "bind") and isinstance(call.func, cst.Attribute):
            for arg in call.args if dotted_tail(call.func.value) == "scan_p" else ():
                if arg.keyword is not None and arg.keyword.value in (*_KEYS, *_OLDER):
                    yield module.match(arg, _says(arg.keyword.value), Confidence.HIGH)


def _is_asked_for(module: Module, node: cst.CSTNode) -> bool:
    """Say whether a function asks which parameters there are, or an expression does for itself."""
    asks = (
        each
        for each in module.nodes(cst.Comparison)
        if text_of(each.left) in ("num_consts", "num_carry", "ft_in")
    )
    areas = (
        module.enclosing(each, cst.IfExp) or module.enclosing(each, cst.FunctionDef) or module.root
        for each in asks
    )
    return any(module.is_inside(node, area) for area in areas)


def _says(key: str) -> str:
    return f"an equation of scan has no {key!r} from JAX 0.11.0 on, but ft_in and ft_out"


def _is_read(module: Module, node: cst.Subscript) -> bool:
    """Say whether a place is read, and is no part of a text."""
    parent = module.parent(node)
    return not isinstance(
        parent, cst.AssignTarget | cst.AugAssign | cst.Del | cst.FormattedStringExpression
    )


def _is_about_scan(module: Module, node: cst.Subscript) -> bool:
    function = module.enclosing(node, cst.FunctionDef)
    return function is not None and re.search(r"scan", module.code(function)) is not None


def _parameters_of_rules(module: Module, *primitives: str) -> Iterator[cst.Param]:
    """Yield the parameters of functions that are registered as rules of a primitive.

    Such as `@register(scan_p)`, `rules[scan_p] = rule` and `register_lowering(scan_p, rule)`.
    """
    for function in module.nodes(cst.FunctionDef):
        if _is_rule_of(module, function, primitives):
            params = function.params
            yield from (*params.posonly_params, *params.params, *params.kwonly_params)


def _is_rule_of(module: Module, function: cst.FunctionDef, primitives: tuple[str, ...]) -> bool:
    if any(_names(each.decorator, primitives) for each in function.decorators):
        return True
    for access in module.accesses(function):
        parent, call = module.parent(access), module.call_with(access)
        if call is not None and _names(call, primitives):
            return True
        for target in parent.targets if isinstance(parent, cst.Assign) else ():
            if isinstance(target.target, cst.Subscript):
                index = target.target.slice[0].slice
                if isinstance(index, cst.Index) and dotted_tail(index.value) in primitives:
                    return True
    return False


def _names(call: cst.CSTNode, primitives: tuple[str, ...]) -> bool:
    return isinstance(call, cst.Call) and any(
        dotted_tail(each.value) in primitives for each in call.args
    )


@rule(re.compile(r"\binline\b"))
def inline_is_true(kinds: Kinds) -> Iterator[Match]:
    """CP207: the parameter `inline` of a jitted call is taken for true or false.

    Until JAX 0.10.2 an equation of `jit` has True or False as `inline`; from 0.11.0 on it has a
    member of the enum `jax.Inline`, and each of these counts as true. `if inline:` then holds for
    every jitted call, `inline is True` for none, and a check of `inline: bool` refuses the call.

    What to do: compare with the member that stands for the old True,
    `inline is True or getattr(inline, "name", "") == "JAX_EARLY"`, which works in all versions.
    `--fix` does so, and annotates with `object`.
    """
    module = kinds.module
    message = "`inline` of a jitted call is an enum from JAX 0.11.0 on, and always true"
    for node, confidence in _inlines(kinds):
        tested = _tested(module, node)
        if tested is not None:
            where, negated = tested
            name = module.code(node)
            early = f'({name} is True or getattr({name}, "name", "") == "JAX_EARLY")'
            edit = module.replaced(where, f"(not {early})" if negated else early)
            edits = () if _is_handed_on(module, where) else (edit,)
            yield module.match(where, message, confidence, *edits)
    for parameter in _parameters_of_rules(module, "jit_p", "pjit_p"):
        annotation = parameter.annotation.annotation if parameter.annotation else None
        if parameter.name.value == "inline" and annotation and module.code(annotation) == "bool":
            message = "`inline` of a jitted call is no bool from JAX 0.11.0 on, but an enum"
            edit = module.replaced(annotation, "object")
            yield module.match(parameter, message, Confidence.HIGH, edit)


def _inlines(kinds: Kinds) -> Iterator[tuple[cst.BaseExpression, Confidence]]:
    """Yield where the parameter is read: from an equation, or as a parameter of a rule."""
    module = kinds.module
    for parameter in _parameters_of_rules(module, "jit_p", "pjit_p"):
        if parameter.name.value == "inline":
            for access in module.accesses(parameter):
                if isinstance(access, cst.Name):
                    yield access, Confidence.HIGH
    for node in module.nodes(cst.Subscript):
        index = node.slice[0].slice
        if isinstance(index, cst.Index) and text_of(index.value) == "inline":
            value = kinds.of(node.value)
            if value is None or value.kind is not Kind.PARAMS:
                continue
            yield node, value.confidence
            assign = module.parent(node)
            for target in assign.targets if isinstance(assign, cst.Assign) else ():
                for access in module.accesses(target.target):
                    if isinstance(access, cst.Name):
                        yield access, value.confidence


def _is_handed_on(module: Module, node: cst.CSTNode) -> bool:
    """Say whether a value is what `and` or `or` come to, and nobody asks whether it is true."""
    around = module.parent(node)
    while isinstance(around, cst.BooleanOperation):
        node, around = around, module.parent(around)
    if not isinstance(node, cst.BooleanOperation):
        return False
    if isinstance(around, cst.If | cst.While | cst.IfExp):
        return around.test is not node
    return not isinstance(around, cst.Assert | cst.CompFor | cst.UnaryOperation | cst.CompIf)


def _tested(module: Module, node: cst.BaseExpression) -> tuple[cst.CSTNode, bool] | None:
    """Return what takes a value for true or false, and whether it asks for false."""
    parent = module.parent(node)
    around = module.enclosing(node, cst.BooleanOperation)
    if around is not None and "JAX_EARLY" in module.code(around):
        return None
    if isinstance(parent, cst.If | cst.While | cst.IfExp) and parent.test is node:
        return node, False
    if isinstance(parent, cst.BooleanOperation | cst.Assert | cst.CompFor):
        return node, False
    if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
        return node, False
    if isinstance(parent, cst.Arg):
        return (node, False) if is_called(module.parent(parent), "bool") else None
    if isinstance(parent, cst.Comparison) and parent.left is node and len(parent.comparisons) == 1:
        [target] = parent.comparisons
        operator, other = target.operator, module.code(target.comparator)
        if isinstance(operator, cst.Is | cst.Equal) and other in ("True", "False"):
            return parent, other == "False"
    return None
