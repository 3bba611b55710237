"""The kinds that annotations and the classes of an `isinstance` stand for."""

from __future__ import annotations

import libcst as cst

from parity_tests.lint.kinds.of_jax import ANNOTATED, ELEMENTS
from parity_tests.lint.kinds.values import Value
from parity_tests.lint.module import Module, dotted_tail, text_of


def of_annotation(module: Module, node: cst.CSTNode) -> Value | None:
    """Return the kind that a class stands for; a union or tuple stands for its first one."""
    if isinstance(node, cst.BinaryOperation):
        return of_annotation(module, node.left) or of_annotation(module, node.right)
    if isinstance(node, cst.Tuple):
        found = (of_annotation(module, each.value) for each in node.elements)
        return next((each for each in found if each is not None), None)
    if isinstance(node, cst.Subscript):
        return _of_generic(module, node)
    text = text_of(node)
    name = text if text is not None else module.qualified(node) or dotted_tail(node)
    kind = ANNOTATED.get(name.rpartition(".")[2])
    if kind is None or not (text is not None or is_jax_class(module, node)):
        return None
    return Value(kind)


def _of_generic(module: Module, node: cst.Subscript) -> Value | None:
    inner = [each.slice.value for each in node.slice if isinstance(each.slice, cst.Index)]
    if not inner:
        return None
    found = next(
        (each for each in (of_annotation(module, each) for each in inner) if each is not None), None
    )
    if found is None or dotted_tail(node.value) in ("Optional", "Union"):
        return found
    if dotted_tail(node.value).lower() in ("list", "sequence", "tuple", "iterable"):
        plural = {each: many for many, each in ELEMENTS.items() if many.name == each.name + "S"}
        return found.other(plural[found.kind]) if found.kind in plural else None
    return None


def is_jax_class(module: Module, node: cst.CSTNode) -> bool:
    """Say whether a class is JAX's; `Literal`, `Var` and the like have namesakes elsewhere."""
    name = module.qualified(node)
    tail = name.rpartition(".")[2]
    if name.startswith(("typing", "typing_extensions", "ast", "libcst")):
        return False
    if tail in ("ClosedJaxpr", "JaxprEqn", "Jaxpr"):
        return bool(name)
    return name.startswith("jax.") or ("jax" in name and ".core." in name) or ".jax" in name
