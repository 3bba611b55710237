"""The kinds of attributes, calls and subscripts: by JAX's tables, and by functions of the file."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from parity_tests.lint.kinds.finder import Finder
from parity_tests.lint.kinds.values import (
    ATTRIBUTES,
    CONVERTERS,
    ELEMENTS,
    JAXPR,
    METHODS,
    OPEN,
    RESULTS,
    Kind,
    Value,
    body,
    by_name,
    is_jax_class,
    of_annotation,
    taken_apart,
    tuple_of,
)
from parity_tests.lint.module import dotted_tail, keyword_of, text_of
from parity_tests.lint.records import Confidence

_KEEP = ("list", "tuple", "sorted", "reversed", "iter", "cast", "deepcopy", "copy")


class OfExpressions(Finder):
    """Finds the kinds of attributes, calls, subscripts and formatted strings."""

    def _of_attribute(self, node: cst.Attribute) -> Value | None:
        attribute = node.attr.value
        value = self.of(node.value)
        if value is not None:
            kind = ATTRIBUTES.get((value.kind, attribute))
            if kind is not None:
                return value.other(kind)
        own = self._of_own_attribute(node)
        if own is not None:
            return own
        if value is not None or self.module.qualified(node):
            return None  # something else is known of it
        if attribute == "eqns":
            return Value(Kind.EQUATIONS, Confidence.MEDIUM)
        return by_name(attribute)

    def _of_own_attribute(self, node: cst.Attribute) -> Value | None:
        """Return the kind of `self.name`, by what the class assigns to it."""
        if not (isinstance(node.value, cst.Name) and node.value.value in ("self", "cls")):
            return None
        owner = self.module.enclosing(node, cst.ClassDef)
        if owner is None:
            return None
        for source in self.indexes.attributes.get((owner, node.attr.value), ()):
            if isinstance(source, cst.Annotation):
                found = of_annotation(self.module, source.annotation)
            else:
                found = self.of(source)
            if found is not None and found.kind is not Kind.TUPLE:
                return found
        return None

    def _of_call(self, call: cst.Call) -> Value | None:
        name = self._function_name(call.func)
        if name.startswith("jax."):
            found = RESULTS.get(name.rpartition(".")[2])
            if found is not None:
                is_shaped = found.kind is Kind.MAKER and keyword_of(call, "return_shape")
                return replace(found, items=(None,)) if is_shaped else found
        if name.rpartition(".")[2] == "filter_make_jaxpr":
            return Value(Kind.MAKER, items=(None,))
        function = self.of(call.func)
        if function is not None and function.kind is Kind.MAKER:
            closed = JAXPR.at_most(function.confidence)
            return tuple_of(closed, None, None) if function.items else closed
        tail = self.module.last_name(call.func)
        if tail == "ClosedJaxpr":
            return JAXPR
        if tail == "Jaxpr" and is_jax_class(self.module, call.func):
            return _made_with(call)
        if isinstance(call.func, cst.Attribute):
            return self._of_method(call, call.func) or self._of_local(call)
        if tail in ("str", "repr") and call.args:
            value = self.of(call.args[0].value)
            if value is not None and value.kind is Kind.JAXPR:
                return value.other(Kind.JAXPR_TEXT)
        if tail in _KEEP and call.args:
            return self.of(call.args[-1 if tail == "cast" else 0].value)
        if tail == "getattr" and len(call.args) >= 2 and text_of(call.args[1].value) == "jaxpr":
            return Value(Kind.JAXPR, Confidence.MEDIUM)
        return self._of_local(call)

    def _function_name(self, function: cst.BaseExpression) -> str:
        """Return the full name of a function that is called, also by a name that it was given."""
        name = self.module.qualified(function)
        if name or not isinstance(function, cst.Name):
            return name
        for assignment in self.module.assignments(function):
            target = self.module.parent(assignment.node)
            assign = self.module.parent(target) if isinstance(target, cst.AssignTarget) else None
            if isinstance(assign, cst.Assign):
                return self.module.qualified(assign.value)
        return ""

    def _of_method(self, call: cst.Call, method: cst.Attribute) -> Value | None:
        value, name = self.of(method.value), method.attr.value
        if value is None:
            return None
        if value.kind is Kind.TRACED and name in CONVERTERS:
            return CONVERTERS[name].at_most(value.confidence)
        if value.kind is Kind.JAXPR and name == "replace" and keyword_of(call, "constvars"):
            return _made_with(call).at_most(value.confidence)
        kind = METHODS.get((value.kind, name))
        return value.other(kind) if kind is not None else None

    def _of_local(self, call: cst.Call) -> Value | None:
        """Return the kind that a function of the same file returns."""
        if not isinstance(call.func, cst.Name):
            return None
        for assignment in self.module.assignments(call.func):
            if isinstance(assignment.node, cst.FunctionDef):
                found = self._returned(assignment.node)
                if found is not None:
                    return found
        return None

    def _returned(self, function: cst.FunctionDef) -> Value | None:
        values = [self.of(each) for each in self.indexes.returns.get(function, ())]
        found = next((each for each in values if each is not None), None)
        if function.returns is None or (found is not None and found.is_open):
            return found  # no annotation says that a jaxpr is open
        return of_annotation(self.module, function.returns.annotation) or found

    def _of_subscript(self, node: cst.Subscript) -> Value | None:
        value = self.of(node.value)
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if value is None and isinstance(index, cst.Index):
            return self._of_params_by_name(node.value, index)
        if value is None:
            return None
        if isinstance(index, cst.Slice):
            return value
        if value.kind is Kind.PARAMS and isinstance(index, cst.Index):
            return body(text_of(index.value), value.confidence)
        if value.kind is Kind.TUPLE and isinstance(index, cst.Index):
            number = index.value
            if not isinstance(number, cst.Integer):
                return None
            return taken_apart(value, [int(number.value, 0)])
        kind = ELEMENTS.get(value.kind)
        return value.other(kind) if kind is not None else None

    def _of_params_by_name(self, base: cst.CSTNode, index: cst.Index) -> Value | None:
        """Return the kind of `params["jaxpr"]`, where nothing but its name tells what it is."""
        key = text_of(index.value)
        if key is None or dotted_tail(base) not in ("params", "eqn_params"):
            return None
        return body(key, Confidence.MEDIUM)

    def _of_formatted(self, node: cst.FormattedString) -> Value | None:
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                value = self.of(part.expression)
                if value is not None and value.kind is Kind.JAXPR:
                    return value.other(Kind.JAXPR_TEXT)
        return None


def _made_with(call: cst.Call) -> Value:
    """Return the kind of a jaxpr that is made of variables, or of a jaxpr and its values."""
    positional = [each.value for each in call.args if each.keyword is None]
    given = keyword_of(call, "constvars") or (positional[0] if positional else None)
    if len(call.args) < 3 and not keyword_of(call, "constvars"):
        return JAXPR  # Jaxpr(jaxpr, consts)
    if given is None or keyword_of(call, "consts") or any(each.star for each in call.args):
        return JAXPR
    if isinstance(given, cst.List | cst.Tuple):
        return OPEN if given.elements else JAXPR
    return OPEN.at_most(Confidence.MEDIUM)  # it may have none
