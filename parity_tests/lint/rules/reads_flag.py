"""CP301: JAX's flag is read.

The flag `jax_use_simplified_jaxpr_constants` says which form JAX uses. Code that reads it takes its
other way on the day of the flip, and fails once the flag is gone. JAX also latches the flag when it
is imported, so the value that is read later need not be the form that is in force.

What to do: write code that works in both forms, or take an option of your own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kinds
from parity_tests.lint.module import Module, dotted_tail, text_of
from parity_tests.lint.records import Confidence, Match

TRIGGER = re.compile(r"use_simplified_jaxpr_constants", re.IGNORECASE)

NAME = "jax_use_simplified_jaxpr_constants"
_ATTRIBUTES = (NAME, NAME.removeprefix("jax_"))
_READERS = ("get", "getenv", "getattr", "read", "_read", "bool_env", "hasattr")


def check(kinds: Kinds) -> Iterator[Match]:
    module = kinds.module
    message = "JAX's flag is read; code that decides by it changes on the day of the flip"
    for node in module.nodes(cst.Attribute):
        if node.attr.value in _ATTRIBUTES and not _is_set(module, node):
            yield module.match(node, message, Confidence.HIGH)
    for text in module.nodes(cst.SimpleString):
        if (text_of(text) or "").lower() == NAME and _is_key_read(module, text):
            yield module.match(text, message, Confidence.HIGH)


def _is_set(module: Module, node: cst.Attribute) -> bool:
    parent = module.parent(node)
    return isinstance(parent, cst.AssignTarget) or (
        isinstance(parent, cst.Call) and parent.func is node
    )


def _is_key_read(module: Module, text: cst.SimpleString) -> bool:
    parent = module.parent(text)
    if isinstance(parent, cst.Arg):
        call = module.parent(parent)
        return isinstance(call, cst.Call) and dotted_tail(call.func) in _READERS
    if isinstance(parent, cst.Comparison):  # "NAME" in os.environ
        return parent.left is text
    if isinstance(parent, cst.Index):
        subscript = module.enclosing(text, cst.Subscript)
        above = module.parent(subscript) if subscript is not None else None
        return not isinstance(above, cst.AssignTarget | cst.Del)
    return False
