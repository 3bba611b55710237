"""The rule of names that JAX has removed, and the imports that take their place."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst
from libcst import metadata

from parity_tests.lint.kinds import Kinds
from parity_tests.lint.module import Module
from parity_tests.lint.records import Confidence, Edit, Match, Place
from parity_tests.lint.rule import rule

_HOME = "jax.extend.core"
# Names of jax.core by the release that removed them; jax.extend.core has all of these.
_MOVED = {
    "": ("ClosedJaxpr", "Jaxpr", "JaxprEqn", "Literal", "Primitive", "Token", "Var",
         "array_types", "jaxpr_as_fun", "primitives"),
    "0.11.0": ("DebugInfo", "DropVar", "Effect", "Effects", "InconclusiveDimensionOperation",
               "JaxprTypeError", "check_jaxpr", "concrete_or_error", "find_top_trace", "gensym",
               "get_opaque_trace_state", "jaxprs_in_params", "new_jaxpr_eqn", "no_effects",
               "nonempty_axis_env_DO_NOT_USE", "primal_dtype_to_tangent_dtype",
               "unsafe_am_i_under_a_jit_DO_NOT_USE", "unsafe_am_i_under_a_vmap_DO_NOT_USE",
               "unsafe_get_axis_names_DO_NOT_USE", "valid_jaxtype"),
}  # fmt: skip
# No public name takes the place of these.
_LOST = {
    "jax.core": ("0.11.0", (
        "CallPrimitive", "JaxprPpContext", "JaxprPpSettings", "OutputType", "abstract_token",
        "aval_mapping_handlers", "call", "concretization_function_error", "custom_typechecks",
        "is_concrete", "is_constant_dim", "is_constant_shape", "literalable_types", "no_axis_name",
        "trace_ctx",
    )),
    "jax.extend.core": ("0.11.1", ("CallPrimitive", "call_impl")),
}  # fmt: skip
MOVED = {
    **{f"jax.core.{name}": release for release, names in _MOVED.items() for name in names},
    "jax._src.core.ClosedJaxpr": "0.12.0",
    "jax._src.interpreters.partial_eval.ClosedJaxpr": "0.11.0",
}
LOST = {f"{module}.{name}": release for module, (release, names) in _LOST.items() for name in names}
_TRIGGER = re.compile(r"\b(core|partial_eval|pe)\b")


@rule(_TRIGGER)
def removed_names(kinds: Kinds) -> Iterator[Match]:
    """CP203: a name of JAX's core that is gone.

    The classes of jaxprs are public in `jax.extend.core`. Their names in `jax.core` were removed
    before JAX 0.10.2, and the private `jax._src.core.ClosedJaxpr` in 0.12.0. JAX 0.11.0 removed
    most other names of `jax.core`, such as `concrete_or_error` and `new_jaxpr_eqn`, and 0.11.1
    `CallPrimitive` of `jax.extend.core`.

    What to do: take the names from `jax.extend.core`, which has them from 0.10.2 on; the message
    says where it does not. `--fix` does so. Code that tries one place and then another is not
    reported.
    """
    module = kinds.module
    for line in module.nodes(cst.ImportFrom):
        yield from _imported(module, line)
    for node in module.nodes(cst.Attribute):
        name = module.qualified(node)
        if (name in MOVED or name in LOST) and not _is_tried(module, node):
            edits = _renamed(module, node, name) if name in MOVED else ()
            yield module.match(node, _message(name), Confidence.HIGH, *edits)


def _imported(module: Module, line: cst.ImportFrom) -> Iterator[Match]:
    if line.module is None or isinstance(line.names, cst.ImportStar) or line.relative:
        return
    source = module.code(line.module)
    names = [f"{source}.{alias.evaluated_name}" for alias in line.names]
    gone = [each for each in names if each in MOVED or each in LOST]
    if not gone or _is_tried(module, line):
        return
    edits = _imported_elsewhere(module, line, source)
    for name in gone:
        own = edits if name in MOVED else ()
        yield module.match(line, _message(name), Confidence.HIGH, *own)


def _imported_elsewhere(module: Module, line: cst.ImportFrom, source: str) -> tuple[Edit, ...]:
    """Return the edit that imports what has moved from its new place, and leaves other names."""
    if isinstance(line.names, cst.ImportStar) or line.module is None:
        return ()
    moved = [each for each in line.names if f"{source}.{each.evaluated_name}" in MOVED]
    others = [each for each in line.names if each not in moved]
    if not others:
        return (module.replaced(line.module, _HOME),)
    is_simple = "#" not in module.code(line) and isinstance(
        module.parent(module.parent(line) or line), cst.Module
    )
    if not is_simple:
        return ()  # a comment would be lost, or the second line not be in the block
    lines = (
        f"from {place} import {', '.join(_written(module, each) for each in names)}"
        for place, names in ((source, others), (_HOME, moved))
    )
    return (module.replaced(line, module.root.default_newline.join(lines)),)


def _written(module: Module, alias: cst.ImportAlias) -> str:
    name = module.code(alias.name)
    return f"{name} as {alias.evaluated_alias}" if alias.evaluated_alias else name


def _renamed(module: Module, node: cst.Attribute, name: str) -> tuple[Edit, ...]:
    """Return the edits that read a name from its new place, and import that after its old one."""
    root: cst.BaseExpression = node
    while isinstance(root, cst.Attribute):
        root = root.value
    if not isinstance(root, cst.Name) or _is_jax_other(module, node):
        return ()
    for assignment in module.assignments(root):
        statement = module.parent(assignment.node)
        if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
            continue
        if isinstance(module.parent(statement), cst.Module):
            after = Place(module.span(statement)[1].line + 1, 1)
            if after.line > module.text.count("\n") + 1:
                return ()  # the file ends without a newline
            line = Edit(after, after, "", f"import {_HOME}{module.root.default_newline}")
            new = module.replaced(node, f"{_HOME}.{name.rpartition('.')[2]}")
            return (new,) if _imports_home(module) else (new, line)
    return ()


def _is_jax_other(module: Module, node: cst.CSTNode) -> bool:
    """Say whether the name `jax` may be something else than the package at a place."""
    scope = module.scope(node)
    return any(
        not isinstance(each, metadata.Assignment) or not isinstance(each.node, cst.Import)
        for each in (scope["jax"] if scope is not None else ())
    )


def _imports_home(module: Module) -> bool:
    return any(
        module.code(alias.name) == _HOME and alias.asname is None
        for line in module.nodes(cst.Import)
        for alias in line.names
    )


def _message(name: str) -> str:
    if name in LOST:
        return f"{name} is gone from JAX {LOST[name]} on; no public name takes its place"
    when = f" from JAX {MOVED[name]} on" if MOVED[name] else ""
    tail = name.rpartition(".")[2]
    return f"{name} is gone{when}; {_HOME}.{tail} is there in all versions"


def _is_tried(module: Module, node: cst.CSTNode) -> bool:
    """Say whether a name is guarded, by a `try` or a condition, or is never looked up.

    Annotations are texts where a file asks for that. A check of JAX's version guards the branch for
    older ones.
    """
    if module.enclosing(node, cst.Annotation) is not None and _LAZY in module.text:
        return True
    return any(
        _guards(module, each, node)
        if isinstance(each, cst.If | cst.IfExp)
        else any(_catches(module, handler) for handler in each.handlers)
        for each in module.around(node)
        if isinstance(each, cst.If | cst.IfExp | cst.Try)
    )


_LAZY = "from __future__ import annotations"
_CAUGHT = re.compile(r"\b(AttributeError|ImportError|ModuleNotFoundError|(Base)?Exception)\b")


def _catches(module: Module, handler: cst.ExceptHandler) -> bool:
    """Say whether a handler takes a name that is not there."""
    return handler.type is None or _CAUGHT.search(module.code(handler.type)) is not None


_NEWEST = (0, 12, 0)
# A condition on the release, on what JAX has, or on a constant that somebody made of these.
_ASKS = re.compile(r"(?i:version|hasattr|getattr|\bhas_)|TYPE_CHECKING|^(not )?[\w.]*\b[A-Z_]{3,}$")


def _guards(module: Module, condition: cst.If | cst.IfExp, node: cst.CSTNode) -> bool:
    """Say whether a condition keeps a name from being looked up in the newest JAX."""
    is_newest = _is_for_newest(module, condition.test)
    if is_newest is not None:
        return is_newest != module.is_inside(node, condition.body)
    is_import = isinstance(node, cst.ImportFrom)  # somebody chose where to import from
    return is_import or _ASKS.search(module.code(condition.test)) is not None


def _is_for_newest(module: Module, test: cst.BaseExpression) -> bool | None:
    """Say whether a check of JAX's version holds for the newest; None for another condition."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return None
    [target] = test.comparisons
    is_version = re.search(r"jax.*version", module.code(test.left), re.IGNORECASE)
    if not is_version or not isinstance(target.comparator, cst.Tuple):
        return None
    numbers = [each.value for each in target.comparator.elements]
    if not all(isinstance(each, cst.Integer) for each in numbers):
        return None
    other = tuple(each.evaluated_value for each in numbers if isinstance(each, cst.Integer))
    if isinstance(target.operator, cst.LessThan | cst.LessThanEqual):
        return other > _NEWEST
    if isinstance(target.operator, cst.GreaterThan | cst.GreaterThanEqual):
        return other <= _NEWEST
    return None
