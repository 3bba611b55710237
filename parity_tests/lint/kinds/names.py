"""The kind of a name: by what it is bound to, by its annotation, by its callers, by itself."""

from __future__ import annotations

import libcst as cst
from libcst import metadata

from parity_tests.lint.kinds.finder import Finder
from parity_tests.lint.kinds.values import (
    ELEMENTS,
    Kind,
    Value,
    by_name,
    of_annotation,
    taken_apart,
    tuple_of,
)
from parity_tests.lint.module import dotted_tail
from parity_tests.lint.records import Confidence


class OfNames(Finder):
    """Finds the kinds of names."""

    def _of_name(self, name: cst.Name) -> Value | None:
        assignments = self.module.assignments(name)
        found = [each for each in map(self._of_assignment, assignments) if each is not None]
        if found:
            # One that is closed under its own name is closed.
            return next((each for each in found if not each.is_open), found[0])
        if not assignments:
            return None
        return self._asked_by_isinstance(name) or self._of_local_name(name, assignments)

    def _of_local_name(
        self, name: cst.Name, assignments: list[metadata.Assignment]
    ) -> Value | None:
        """Return the kind that a name shows, where it is bound to what an unknown call returns."""
        for assignment in assignments:
            around = self.module.around(assignment.node)
            statement = next(
                (each for each in around if isinstance(each, cst.Assign | cst.BaseStatement)), None
            )
            if isinstance(statement, cst.Assign) and isinstance(statement.value, cst.Call):
                return by_name(name.value)
        return None

    def _of_assignment(self, assignment: metadata.Assignment) -> Value | None:
        node = assignment.node
        if isinstance(node, cst.Param):
            return self._of_parameter(node)
        if isinstance(node, cst.FunctionDef):
            return self._of_function(node)
        return self.bound_to(node) if isinstance(node, cst.Name) else None

    def _of_parameter(self, parameter: cst.Param) -> Value | None:
        annotation = parameter.annotation
        if annotation is not None:
            found = of_annotation(self.module, annotation.annotation)
            if found is not None:
                return found
            if dotted_tail(annotation.annotation) in ("str", "int", "bool", "float", "Callable"):
                return None
        return self._from_callers(parameter) or by_name(parameter.name.value)

    def _from_callers(self, parameter: cst.Param) -> Value | None:
        """Return the kind that the calls of the same file give to a parameter."""
        function = self.module.enclosing(parameter, cst.FunctionDef, cst.Lambda)
        if not isinstance(function, cst.FunctionDef):
            return None
        name = parameter.name.value
        own = [each.name.value for each in function.params.params]
        place = own.index(name) if name in own else None
        for call in self.indexes.calls.get(function.name.value, ()):
            given = _argument(call, place, name)
            value = self.of(given) if given is not None else None
            if value is not None:
                return value.at_most(Confidence.MEDIUM)
        return None

    def _of_function(self, function: cst.FunctionDef) -> Value | None:
        for decorator in function.decorators:
            value = self._decorated(decorator.decorator)
            if value is not None:
                return value
        return None

    def _decorated(self, decorator: cst.BaseExpression) -> Value | None:
        name = self.module.qualified(decorator)
        if isinstance(decorator, cst.Call):
            name = self.module.qualified(decorator.func)
            if name == "functools.partial" and decorator.args:
                name = self.module.qualified(decorator.args[0].value)
        return Value(Kind.JITTED) if name in ("jax.jit", "jax.pmap") else None

    def bound_to(self, target: cst.Name) -> Value | None:
        """Return the kind of what an assignment, a loop or a comprehension binds a name to."""
        path: list[int] = []
        node: cst.CSTNode = target
        parent = self.module.parent(node)
        while isinstance(parent, cst.Element | cst.Tuple | cst.List | cst.StarredElement):
            if isinstance(parent, cst.Tuple | cst.List):
                places = (n for n, each in enumerate(parent.elements) if each.value is node)
                path.insert(0, next(places))
            elif isinstance(parent, cst.StarredElement):
                return None
            if not isinstance(parent, cst.Element):
                node = parent
            parent = self.module.parent(parent)
        return taken_apart(self._source(parent, node), path)

    def _source(self, parent: cst.CSTNode | None, target: cst.CSTNode) -> Value | None:
        if isinstance(parent, cst.AssignTarget):
            assign = self.module.parent(parent)
            return self.of(assign.value) if isinstance(assign, cst.Assign) else None
        if isinstance(parent, cst.AnnAssign):
            found = of_annotation(self.module, parent.annotation.annotation)
            return found or (self.of(parent.value) if parent.value is not None else None)
        if isinstance(parent, cst.NamedExpr):
            return self.of(parent.value)
        if isinstance(parent, cst.For | cst.CompFor) and parent.target is target:
            return self._element_of(parent.iter)
        return None

    def _element_of(self, sequence: cst.BaseExpression) -> Value | None:
        """Return the kind of an element of a sequence, through enumerate and zip."""
        if isinstance(sequence, cst.Call) and sequence.args:
            name = dotted_tail(sequence.func)
            parts = tuple(self._element_of(each.value) for each in sequence.args)
            if name == "enumerate":
                return tuple_of(None, parts[0])
            if name in ("zip", "safe_zip", "zip_longest"):
                return tuple_of(*parts)
            if name == "chain":
                return next((each for each in parts if each is not None), None)
        value = self.of(sequence)
        kind = ELEMENTS.get(value.kind) if value is not None else None
        return value.other(kind) if value is not None and kind is not None else None

    def _asked_by_isinstance(self, name: cst.Name) -> Value | None:
        """Return the kind that an `isinstance` of the same function asks a name for."""
        function = self.module.enclosing(name, cst.FunctionDef, cst.Lambda)
        for classes in self.indexes.asked.get((function, name.value), ()):
            found = of_annotation(self.module, classes)
            if found is not None:
                return found.at_most(Confidence.MEDIUM)
        return None


def _argument(call: cst.Call, place: int | None, name: str) -> cst.BaseExpression | None:
    """Return what a call gives to a parameter; None where it cannot be told."""
    for number, arg in enumerate(call.args):
        if arg.star:
            return None
        if arg.keyword is not None and arg.keyword.value == name:
            return arg.value
        if arg.keyword is None and number == place:
            return arg.value
    return None
