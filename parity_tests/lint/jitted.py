"""The functions of a file that are jitted: which function, and under which names it is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import libcst as cst

from parity_tests.lint.module import Module, dotted_tail, text_of

Function: TypeAlias = cst.FunctionDef | cst.Lambda

_JITS = ("jax.jit", "jax.pmap", "jax.experimental.pjit.pjit", "equinox.filter_jit", "flax.nnx.jit")

_TRANSFORMS = ("jax.grad", "jax.value_and_grad", "jax.vmap", "jax.checkpoint", "jax.remat")


@dataclass(frozen=True)
class Jitted:
    """A jitted function, where it is jitted, and the names that the result is bound to.

    `options` are the arguments of `jax.jit`.
    """

    function: Function
    made: cst.CSTNode
    names: tuple[cst.CSTNode, ...]
    options: tuple[cst.Arg, ...]

    def calls(self, module: Module) -> Iterator[cst.Call]:
        """Yield the calls of the jitted function that this file shows."""
        for name in self.names:
            for access in module.accesses(name):
                parent = module.parent(access)
                if isinstance(parent, cst.Call) and parent.func is access:
                    yield parent
        parent = module.parent(self.made)
        if isinstance(parent, cst.Call) and parent.func is self.made:
            yield parent  # jax.jit(f)(x)


def jitted_functions(module: Module) -> Iterator[Jitted]:
    """Yield the jitted functions of a file: decorated ones, and those that `jax.jit(f)` names.

    Example::

        [each.function for each in jitted_functions(module)]
    """
    for function in module.nodes(cst.FunctionDef):
        for decorator in function.decorators:
            options = _options(module, decorator.decorator)
            if options is not None:
                yield Jitted(function, function, (function,), options)
    for call in module.nodes(cst.Call):
        if module.qualified(call.func) not in _JITS or not call.args:
            continue
        for named in functions_named(module, call.args[0].value):
            yield Jitted(named, call, tuple(_targets(module, call)), tuple(call.args[1:]))


def _options(module: Module, decorator: cst.BaseExpression) -> tuple[cst.Arg, ...] | None:
    """Return the arguments that a decorator gives to jit; None where it is another decorator."""
    if module.qualified(decorator) in _JITS:
        return ()
    if not isinstance(decorator, cst.Call):
        return None
    if module.qualified(decorator.func) in _JITS:
        return tuple(decorator.args)
    is_partial = module.qualified(decorator.func) == "functools.partial" and decorator.args
    if is_partial and module.qualified(decorator.args[0].value) in _JITS:
        return tuple(decorator.args[1:])
    return None


def functions_named(module: Module, node: cst.BaseExpression) -> Iterator[Function]:
    """Yield the functions of a file that an expression may be: a lambda, a name, or a method.

    Those of `jax.grad(f)` and the like are those of `f`, which has the same arguments.
    """
    if isinstance(node, cst.Lambda):
        yield node
    elif isinstance(node, cst.Name):
        for assignment in module.assignments(node):
            if isinstance(assignment.node, cst.FunctionDef):
                yield assignment.node
    elif isinstance(node, cst.Call) and node.args and module.qualified(node.func) in _TRANSFORMS:
        yield from functions_named(module, node.args[0].value)
    elif isinstance(node, cst.Attribute) and dotted_tail(node.value) == "self":
        owner = module.enclosing(node, cst.ClassDef)
        for statement in owner.body.body if owner is not None else ():
            if isinstance(statement, cst.FunctionDef) and statement.name.value == node.attr.value:
                yield statement


def _targets(module: Module, call: cst.Call) -> Iterator[cst.CSTNode]:
    parent = module.parent(call)
    if isinstance(parent, cst.Assign):
        yield from (each.target for each in parent.targets if isinstance(each.target, cst.Name))
    elif isinstance(parent, cst.AnnAssign | cst.NamedExpr) and isinstance(parent.target, cst.Name):
        yield parent.target


def donated_names(jitted: Jitted) -> tuple[frozenset[int], frozenset[str]]:
    """Return the donated arguments of a jitted function: positions, and names."""
    numbers: set[int] = set()
    names: set[str] = set()
    params = jitted.function.params
    count = len((*params.posonly_params, *params.params))
    for arg in jitted.options:
        keyword = arg.keyword.value if arg.keyword is not None else ""
        if keyword == "donate_argnums":
            given = [_integer(each) for each in _parts(arg.value)]
            numbers.update(each + count * (each < 0) for each in given if each is not None)
        if keyword == "donate_argnames":
            names.update(text for text in map(text_of, _parts(arg.value)) if text is not None)
    return frozenset(numbers), frozenset(names)


def _integer(node: cst.BaseExpression) -> int | None:
    """Return the value of an integer as it is written, also of a negative one; else None."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        value = _integer(node.expression)
        return -value if value is not None else None
    return int(node.value, 0) if isinstance(node, cst.Integer) else None


def _parts(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(node, cst.Tuple | cst.List | cst.Set):
        return [each.value for each in node.elements]
    return [node]
