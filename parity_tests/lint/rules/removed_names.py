"""CP203: a class of jaxprs by a name that is gone.

The classes of jaxprs are public in `jax.extend.core`. Their names in `jax.core` were removed before
JAX 0.10.2, and the private `jax._src.core.ClosedJaxpr` in 0.12.0.

What to do: take the names from `jax.extend.core`, which has them in all these versions. `--fix`
does so where the import names nothing else. Code that tries one place and then another is not
reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds import Kinds
from parity_tests.lint.module import Module
from parity_tests.lint.records import Confidence, Edit, Match

TRIGGER = re.compile(r"\bcore\b")

_PUBLIC = ("ClosedJaxpr", "Jaxpr", "JaxprEqn", "Literal", "Primitive", "Token", "Var",
           "array_types", "jaxpr_as_fun", "primitives")  # fmt: skip
_GONE = {
    **{f"jax.core.{name}": "is gone" for name in _PUBLIC},
    "jax._src.core.ClosedJaxpr": "is gone from JAX 0.12.0 on",
}


def check(kinds: Kinds) -> Iterator[Match]:
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
