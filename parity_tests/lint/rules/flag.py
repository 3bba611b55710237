"""The rules of JAX's flag."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kinds
from parity_tests.lint.module import Module, dotted_tail, is_called, keyword_of, text_of
from parity_tests.lint.records import Confidence, Match
from parity_tests.lint.rule import rule

NAME = "jax_use_simplified_jaxpr_constants"
_ATTRIBUTES = (NAME, NAME.removeprefix("jax_"))
_READERS = ("get", "getenv", "getattr", "read", "_read", "bool_env", "hasattr", "attrgetter")


@rule(re.compile(r"use_simplified_jaxpr_constants", re.IGNORECASE))
def reads_flag(kinds: Kinds) -> Iterator[Match]:
    """CP301: JAX's flag is read.

    The flag `jax_use_simplified_jaxpr_constants` says which form JAX uses. Code that reads it takes
    its other way on the day of the flip, and fails once the flag is gone. JAX also latches the flag
    when it is imported, so the value that is read later need not be the form that is in force.

    What to do: write code that works in both forms, or take an option of your own.
    """
    module = kinds.module
    message = "JAX's flag is read; code that decides by it changes on the day of the flip"
    for node in module.nodes(cst.Attribute):
        if node.attr.value in _ATTRIBUTES and not _is_set(module, node):
            yield module.match(node, message, Confidence.HIGH)
    for node in module.nodes(cst.Attribute):  # of what was imported by its name
        if isinstance(node.value, cst.Name) and module.last_name(node.value) in _ATTRIBUTES:
            yield module.match(node.value, message, Confidence.HIGH)
    for text in _texts(module):
        if _is_key_read(module, text):
            yield module.match(text, message, Confidence.HIGH)


def _texts(module: Module) -> Iterator[cst.CSTNode]:
    """Yield the texts that are the flag's name, and where variables are read that have one."""
    for text in module.nodes(cst.SimpleString):
        if (text_of(text) or "").lower() == NAME:
            yield text
            assign = module.parent(text)
            for each in assign.targets if isinstance(assign, cst.Assign) else ():
                yield from module.accesses(each.target)


def _is_set(module: Module, node: cst.Attribute) -> bool:
    parent = module.parent(node)
    return isinstance(parent, cst.AssignTarget) or (
        isinstance(parent, cst.Call) and parent.func is node
    )


def _is_key_read(module: Module, text: cst.CSTNode) -> bool:
    parent = module.parent(text)
    if (call := module.call_with(text)) is not None:
        return module.last_name(call.func) in _READERS
    if isinstance(parent, cst.Comparison):  # "NAME" in os.environ
        is_asked = isinstance(parent.comparisons[0].operator, cst.In | cst.NotIn)
        return is_asked and parent.left is text
    if isinstance(parent, cst.Index):
        subscript = module.enclosing(text, cst.Subscript)
        above = module.parent(subscript) if subscript is not None else None
        return not isinstance(above, cst.AssignTarget | cst.Del)
    return False


@rule(re.compile(r"use_simplified_jaxpr_constants", re.IGNORECASE))
def sets_flag(kinds: Kinds) -> Iterator[Match]:
    """CP302: JAX's flag is set after JAX was imported.

    JAX reads its flag in two places when it is imported. A flag that is set later, by
    `jax.config.update`, by a context manager or in `os.environ`, gives neither form: jaxprs have
    Literals, and modules inline them once for each use. Measured for one program: 34 kB of
    StableHLO in legacy, 0.8 kB in simplified, 66 kB with the flag set at run time.

    What to do: set the environment variable `JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS` before Python
    starts, or at least before the first `import jax`. `engine.use_simplified_constants` of
    constparity may be set at any time.
    """
    module = kinds.module
    message = "JAX's flag is set after JAX was imported, which gives neither form"
    for call in module.nodes(cst.Call):
        if _is_block(module, call):
            yield module.match(call, message, Confidence.HIGH)
    imported = _order_of_import(module)
    for call in module.nodes(cst.Call):
        is_given = _is_of_environ(call, "update") and keyword_of(call, NAME.upper()) is not None
        if is_given and imported is not None and module.order(call) > imported:
            yield module.match(call, message, Confidence.HIGH)
    for text in _texts(module):
        taker = module.call_with(text)
        is_late = imported is not None and module.order(text) > imported
        if is_called(taker, "update") and taker.args[0].value is text:
            yield module.match(taker, message, Confidence.HIGH)
        elif is_late and _is_set_in_environment(module, text):
            yield module.match(text, message, Confidence.HIGH)


def _is_of_environ(node: cst.CSTNode | None, method: str) -> bool:
    """Say whether a node calls this method of `os.environ`."""
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value == method
        and dotted_tail(node.func.value) == "environ"
    )


def _is_block(module: Module, call: cst.Call) -> bool:
    """Say whether a call is the context manager of the flag, or a decorator of JAX's tests."""
    if module.last_name(call.func) == NAME.removeprefix("jax_"):
        return True
    takes_flags = is_called(call, "with_config", "global_config_context")
    return takes_flags and keyword_of(call, NAME) is not None


def _order_of_import(module: Module) -> int | None:
    lines = [
        module.order(line)
        for line in module.nodes(cst.Import, cst.ImportFrom)
        if re.match(r"(import|from)\s(.*[\s,])?jax\b", module.code(line).strip())
        and module.enclosing(line, cst.FunctionDef) is None
    ]
    return min(lines, default=None)


def _is_set_in_environment(module: Module, text: cst.CSTNode) -> bool:
    parent = module.parent(text)
    if isinstance(parent, cst.Arg):
        call = module.parent(parent)
        return is_called(call, "setenv", "putenv") or _is_of_environ(call, "setdefault")
    if isinstance(parent, cst.DictElement):
        return _is_of_environ(module.enclosing(parent, cst.Call), "update")
    subscript = module.enclosing(text, cst.Subscript)
    if not isinstance(parent, cst.Index) or subscript is None:
        return False
    return dotted_tail(subscript.value) == "environ" and isinstance(
        module.parent(subscript), cst.AssignTarget
    )
