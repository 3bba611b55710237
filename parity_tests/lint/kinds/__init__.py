"""What a value is, by where it comes from: a jaxpr, an equation, a lowered module, and so on.

Nothing is run, so a value is known where its source shows it: the result of `jax.make_jaxpr`, an
annotation, an `isinstance`, an attribute of a known value. A name such as `jaxpr` shows it with
less confidence. A value that nothing shows has no kind, and the rules are silent about it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from parity_tests.lint.kinds.expressions import OfExpressions
from parity_tests.lint.kinds.names import OfNames
from parity_tests.lint.kinds.values import Kind, Value, is_jax_class

__all__ = ["Kind", "Kinds", "Value"]


class Kinds(OfNames, OfExpressions):
    """Finds the kinds of the expressions of one file."""

    def is_jax_class(self, node: cst.CSTNode) -> bool:
        """Say whether a class is JAX's, and no namesake."""
        return is_jax_class(self.module, node)

    def attributes(self, kind: Kind, *names: str) -> Iterator[tuple[cst.Attribute, Value]]:
        """Yield the attributes with one of these names that are known to be of a kind."""
        for node in self.module.nodes(cst.Attribute):
            value = self.of(node) if node.attr.value in names else None
            if value is not None and value.kind is kind:
                yield node, value

    def _of(self, node: cst.CSTNode) -> Value | None:
        if isinstance(node, cst.Name):
            return self._of_name(node)
        if isinstance(node, cst.Attribute):
            return self._of_attribute(node)
        if isinstance(node, cst.Call):
            return self._of_call(node)
        if isinstance(node, cst.Subscript):
            return self._of_subscript(node)
        if isinstance(node, cst.Tuple):
            items = tuple(self.of(each.value) for each in node.elements)
            return Value(Kind.TUPLE, items=items) if any(items) else None
        if isinstance(node, cst.IfExp):
            return self.of(node.body) or self.of(node.orelse)
        if isinstance(node, cst.BooleanOperation):
            return self.of(node.left) or self.of(node.right)
        if isinstance(node, cst.NamedExpr | cst.Await):
            return self.of(node.value if isinstance(node, cst.NamedExpr) else node.expression)
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            both = self.of(node.left), self.of(node.right)
            return next((each for each in both if each and each.kind is not Kind.TUPLE), None)
        if isinstance(node, cst.FormattedString):
            return self._of_formatted(node)
        return None
