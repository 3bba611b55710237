"""What a value is, by where it comes from: a jaxpr, an equation, a lowered module, and so on.

Nothing is run, so a value is known where its source shows it: the result of `jax.make_jaxpr`, an
annotation, an `isinstance`, an attribute of a known value. A name such as `jaxpr` shows it with
less confidence. A value that nothing shows has no kind, and the rules are silent about it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property

import libcst as cst
from libcst import metadata

from parity_tests.lint.module import Module, dotted_tail, text_of
from parity_tests.lint.records import Confidence


class Kind(Enum):
    """What a value is. The plurals are sequences."""

    JAXPR = auto()  # open, closed, or unknown which
    JAXPRS = auto()
    EQUATION = auto()
    EQUATIONS = auto()
    ATOM = auto()
    ATOMS = auto()
    PARAMS = auto()
    CONSTS = auto()
    CONSTVARS = auto()
    INVARS = auto()
    OUTVARS = auto()
    MAKER = auto()  # the result of jax.make_jaxpr
    JITTED = auto()
    TRACED = auto()
    LOWERED = auto()
    COMPILED = auto()
    ANALYSIS = auto()  # the result of memory_analysis()
    EXECUTABLE = auto()
    MODULE_TEXT = auto()
    JAXPR_TEXT = auto()
    TUPLE = auto()


@dataclass(frozen=True)
class Value:
    """The kind of a value, and how sure it is.

    `items` are those of a tuple. `is_private` says that private tracing of JAX made the jaxpr.
    """

    kind: Kind
    confidence: Confidence = Confidence.HIGH
    items: tuple[Value | None, ...] = ()
    is_private: bool = False

    def at_most(self, confidence: Confidence) -> Value:
        """Return the value with a confidence that is no higher."""
        return replace(self, confidence=min(self.confidence, confidence))

    def other(self, kind: Kind) -> Value:
        """Return a value of another kind that this one leads to, equally sure."""
        return Value(kind, self.confidence, is_private=self.is_private)


_JAXPR = Value(Kind.JAXPR)
_PRIVATE = Value(Kind.JAXPR, is_private=True)
_CONSTS = Value(Kind.CONSTS)


def _tuple(*items: Value | None) -> Value:
    return Value(Kind.TUPLE, items=items)


# By the last name of a function of JAX.
_RESULTS: dict[str, Value] = {
    "make_jaxpr": Value(Kind.MAKER),
    "jit": Value(Kind.JITTED),
    "pjit": Value(Kind.JITTED),
    "pmap": Value(Kind.JITTED),
    "ClosedJaxpr": _JAXPR,
    "Jaxpr": _JAXPR,
    "JaxprEqn": Value(Kind.EQUATION),
    "new_jaxpr_eqn": Value(Kind.EQUATION),
    "Literal": Value(Kind.ATOM),
    "close_jaxpr": _JAXPR,
    "convert_constvars_jaxpr": _JAXPR,
    "trace_to_jaxpr_dynamic": _tuple(_PRIVATE, None, _CONSTS),
    "trace_to_jaxpr_dynamic2": _tuple(_PRIVATE, None, _CONSTS),
    "trace_to_jaxpr_final": _tuple(_PRIVATE, None, _CONSTS),
    "trace_to_jaxpr_nounits": _tuple(_PRIVATE, None, _CONSTS),
    "trace_to_jaxpr": _tuple(_PRIVATE, None, _CONSTS),
    "dce_jaxpr": _tuple(_JAXPR, None),
}
_ANNOTATED: dict[str, Kind] = {
    "ClosedJaxpr": Kind.JAXPR,
    "Jaxpr": Kind.JAXPR,
    "JaxprEqn": Kind.EQUATION,
    "Literal": Kind.ATOM,
    "Var": Kind.ATOM,
    "Atom": Kind.ATOM,
    "Traced": Kind.TRACED,
    "Lowered": Kind.LOWERED,
    "Compiled": Kind.COMPILED,
}
_ATTRIBUTES: dict[tuple[Kind, str], Kind] = {
    (Kind.JAXPR, "jaxpr"): Kind.JAXPR,
    (Kind.TRACED, "jaxpr"): Kind.JAXPR,
    (Kind.JAXPR, "eqns"): Kind.EQUATIONS,
    (Kind.JAXPR, "consts"): Kind.CONSTS,
    (Kind.JAXPR, "literals"): Kind.CONSTS,
    (Kind.JAXPR, "constvars"): Kind.CONSTVARS,
    (Kind.JAXPR, "invars"): Kind.INVARS,
    (Kind.JAXPR, "outvars"): Kind.OUTVARS,
    (Kind.EQUATION, "params"): Kind.PARAMS,
    (Kind.EQUATION, "invars"): Kind.ATOMS,
    (Kind.EQUATION, "outvars"): Kind.ATOMS,
}
_METHODS: dict[tuple[Kind, str], Kind] = {
    (Kind.JAXPR, "replace"): Kind.JAXPR,
    (Kind.JAXPR, "map_jaxpr"): Kind.JAXPR,
    (Kind.JAXPR, "pretty_print"): Kind.JAXPR_TEXT,
    (Kind.EQUATION, "replace"): Kind.EQUATION,
    (Kind.JITTED, "trace"): Kind.TRACED,
    (Kind.JITTED, "lower"): Kind.LOWERED,
    (Kind.TRACED, "lower"): Kind.LOWERED,
    (Kind.LOWERED, "compile"): Kind.COMPILED,
    (Kind.LOWERED, "as_text"): Kind.MODULE_TEXT,
    (Kind.COMPILED, "as_text"): Kind.MODULE_TEXT,
    (Kind.COMPILED, "memory_analysis"): Kind.ANALYSIS,
    (Kind.COMPILED, "runtime_executable"): Kind.EXECUTABLE,
}
_ELEMENTS: dict[Kind, Kind] = {
    Kind.JAXPRS: Kind.JAXPR,
    Kind.EQUATIONS: Kind.EQUATION,
    Kind.ATOMS: Kind.ATOM,
    Kind.INVARS: Kind.ATOM,
    Kind.OUTVARS: Kind.ATOM,
    Kind.CONSTVARS: Kind.ATOM,
}
# The names of attributes and parameters that are jaxprs and equations nearly everywhere.
_NAMED_JAXPR = re.compile(r"(^|_)jaxpr$|^jaxpr_$")
_NAMED_EQUATION = re.compile(r"(^|_)eqn$")
_BODIES = re.compile(r"(^|_)jaxpr(_thunk)?$")
_KEEP = ("list", "tuple", "sorted", "reversed", "iter", "cast", "deepcopy", "copy")
_MOST_STEPS = 40


class Kinds:
    """Finds the kinds of the expressions of one file.

    Example::

        Kinds(module).of(expression)
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._known: dict[cst.CSTNode, Value | None] = {}
        self._steps = 0

    def of(self, node: cst.CSTNode) -> Value | None:
        """Return the kind of an expression; None where nothing shows it."""
        if node in self._known:
            return self._known[node]
        if self._steps > _MOST_STEPS:
            return None
        self._known[node] = None  # while it is being found out: a name may depend on itself
        self._steps += 1
        try:
            found = self._of(node)
        finally:
            self._steps -= 1
        self._known[node] = found
        return found

    def is_a(self, node: cst.CSTNode, *kinds: Kind) -> bool:
        """Say whether an expression is known to be of one of these kinds."""
        value = self.of(node)
        return value is not None and value.kind in kinds

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

    # -- names -------------------------------------------------------------------------------------

    def _of_name(self, name: cst.Name) -> Value | None:
        assignments = self.module.assignments(name)
        for assignment in assignments:
            found = self._of_assignment(assignment)
            if found is not None:
                return found
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
                return _by_name(name.value)
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
            found = self._of_annotation(annotation.annotation)
            if found is not None:
                return found
            if dotted_tail(annotation.annotation) in ("str", "int", "bool", "float", "Callable"):
                return None
        return self._from_callers(parameter) or _by_name(parameter.name.value)

    def _from_callers(self, parameter: cst.Param) -> Value | None:
        """Return the kind that the calls of the same file give to a parameter."""
        function = self.module.enclosing(parameter, cst.FunctionDef, cst.Lambda)
        if not isinstance(function, cst.FunctionDef):
            return None
        name = parameter.name.value
        own = [each.name.value for each in function.params.params]
        place = own.index(name) if name in own else None
        for call in self._calls.get(function.name.value, ()):
            given = _argument(call, place, name)
            value = self.of(given) if given is not None else None
            if value is not None:
                return value.at_most(Confidence.MEDIUM)
        return None

    @cached_property
    def _calls(self) -> dict[str, list[cst.Call]]:
        """The calls of functions by their plain names."""
        found = defaultdict(list)
        for call in self.module.nodes(cst.Call):
            if isinstance(call.func, cst.Name):
                found[call.func.value].append(call)
        return found

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
        return self._taken_apart(self._source(parent, node), path)

    def _source(self, parent: cst.CSTNode | None, target: cst.CSTNode) -> Value | None:
        if isinstance(parent, cst.AssignTarget):
            assign = self.module.parent(parent)
            return self.of(assign.value) if isinstance(assign, cst.Assign) else None
        if isinstance(parent, cst.AnnAssign):
            found = self._of_annotation(parent.annotation.annotation)
            return found or (self.of(parent.value) if parent.value is not None else None)
        if isinstance(parent, cst.NamedExpr):
            return self.of(parent.value)
        if isinstance(parent, cst.For | cst.CompFor) and parent.target is target:
            return self._element_of(parent.iter)
        return None

    def _taken_apart(self, value: Value | None, path: list[int]) -> Value | None:
        for place in path:
            if value is None or value.kind is not Kind.TUPLE or place >= len(value.items):
                return None
            inner = value.items[place]
            value = inner.at_most(value.confidence) if inner is not None else None
        return value

    def _element_of(self, sequence: cst.BaseExpression) -> Value | None:
        """Return the kind of an element of a sequence, through enumerate and zip."""
        if isinstance(sequence, cst.Call) and sequence.args:
            name = dotted_tail(sequence.func)
            parts = tuple(self._element_of(each.value) for each in sequence.args)
            if name == "enumerate":
                return _tuple(None, parts[0])
            if name in ("zip", "safe_zip", "zip_longest"):
                return _tuple(*parts)
            if name == "chain":
                return next((each for each in parts if each is not None), None)
        value = self.of(sequence)
        kind = _ELEMENTS.get(value.kind) if value is not None else None
        return value.other(kind) if value is not None and kind is not None else None

    def _asked_by_isinstance(self, name: cst.Name) -> Value | None:
        """Return the kind that an `isinstance` of the same function asks a name for."""
        function = self.module.enclosing(name, cst.FunctionDef, cst.Lambda)
        for classes in self._asked.get((function, name.value), ()):
            found = self._of_annotation(classes)
            if found is not None:
                return found.at_most(Confidence.MEDIUM)
        return None

    @cached_property
    def _asked(self) -> dict[tuple[cst.CSTNode | None, str], list[cst.CSTNode]]:
        """The classes that `isinstance` asks for, by function and name."""
        found: dict[tuple[cst.CSTNode | None, str], list[cst.CSTNode]] = defaultdict(list)
        for call in self.module.nodes(cst.Call):
            if dotted_tail(call.func) == "isinstance" and len(call.args) == 2:
                subject, classes = (each.value for each in call.args)
                if isinstance(subject, cst.Name):
                    function = self.module.enclosing(call, cst.FunctionDef, cst.Lambda)
                    found[function, subject.value].append(classes)
        return found

    # -- annotations -------------------------------------------------------------------------------

    def _of_annotation(self, node: cst.CSTNode) -> Value | None:
        """Return the kind that a class stands for; a union or tuple stands for its first one."""
        if isinstance(node, cst.BinaryOperation):
            return self._of_annotation(node.left) or self._of_annotation(node.right)
        if isinstance(node, cst.Tuple):
            found = (self._of_annotation(each.value) for each in node.elements)
            return next((each for each in found if each is not None), None)
        if isinstance(node, cst.Subscript):
            return self._of_generic(node)
        text = text_of(node)
        name = text if text is not None else self.module.qualified(node) or dotted_tail(node)
        kind = _ANNOTATED.get(name.rpartition(".")[2])
        if kind is None or not (text is not None or self.is_jax_class(node)):
            return None
        return Value(kind)

    def _of_generic(self, node: cst.Subscript) -> Value | None:
        inner = [each.slice.value for each in node.slice if isinstance(each.slice, cst.Index)]
        if not inner:
            return None
        found = next((each for each in map(self._of_annotation, inner) if each is not None), None)
        if found is None or dotted_tail(node.value) in ("Optional", "Union"):
            return found
        if dotted_tail(node.value).lower() in ("list", "sequence", "tuple", "iterable"):
            plural = {
                each: many for many, each in _ELEMENTS.items() if many.name == each.name + "S"
            }
            return found.other(plural[found.kind]) if found.kind in plural else None
        return None

    def is_jax_class(self, node: cst.CSTNode) -> bool:
        """Say whether a class is JAX's; `Literal`, `Var` and the like have namesakes elsewhere."""
        name = self.module.qualified(node)
        tail = name.rpartition(".")[2]
        if name.startswith(("typing", "typing_extensions", "ast", "libcst")):
            return False
        if tail in ("ClosedJaxpr", "JaxprEqn", "Jaxpr"):
            return bool(name)
        return name.startswith("jax.") or ("jax" in name and ".core." in name) or ".jax" in name

    # -- expressions -------------------------------------------------------------------------------

    def _of_attribute(self, node: cst.Attribute) -> Value | None:
        attribute = node.attr.value
        value = self.of(node.value)
        if value is not None:
            kind = _ATTRIBUTES.get((value.kind, attribute))
            if kind is not None:
                return value.other(kind)
        own = self._of_own_attribute(node)
        if own is not None:
            return own
        if value is not None or self.module.qualified(node):
            return None  # something else is known of it
        if attribute == "eqns":
            return Value(Kind.EQUATIONS, Confidence.MEDIUM)
        return _by_name(attribute)

    def _of_own_attribute(self, node: cst.Attribute) -> Value | None:
        """Return the kind of `self.name`, by what the class assigns to it."""
        if not (isinstance(node.value, cst.Name) and node.value.value in ("self", "cls")):
            return None
        owner = self.module.enclosing(node, cst.ClassDef)
        if owner is None:
            return None
        for source in self._attributes.get((owner, node.attr.value), ()):
            if isinstance(source, cst.Annotation):
                found = self._of_annotation(source.annotation)
            else:
                found = self.of(source)
            if found is not None and found.kind is not Kind.TUPLE:
                return found
        return None

    @cached_property
    def _attributes(self) -> dict[tuple[cst.ClassDef, str], list[cst.CSTNode]]:
        """What classes assign to the attributes of their objects, or annotate them with."""
        found: dict[tuple[cst.ClassDef, str], list[cst.CSTNode]] = defaultdict(list)
        for annotated in self.module.nodes(cst.AnnAssign):
            owner = self.module.enclosing(annotated, cst.ClassDef)
            if owner is not None:
                name = _own_name(annotated.target) or dotted_tail(annotated.target)
                found[owner, name].append(annotated.annotation)
        for assign in self.module.nodes(cst.Assign):
            owner = self.module.enclosing(assign, cst.ClassDef)
            if owner is not None:
                for target in assign.targets:
                    found[owner, _own_name(target.target)].append(assign.value)
        return found

    def _of_call(self, call: cst.Call) -> Value | None:
        name = self._function_name(call.func)
        if name.startswith("jax."):
            found = _RESULTS.get(name.rpartition(".")[2])
            if found is not None:
                return self._with_shape(call, found)
        if name.rpartition(".")[2] == "filter_make_jaxpr":
            return Value(Kind.MAKER, items=(None,))
        function = self.of(call.func)
        if function is not None and function.kind is Kind.MAKER:
            closed = _JAXPR.at_most(function.confidence)
            return _tuple(closed, None, None) if function.items else closed
        tail = dotted_tail(call.func)
        if tail == "ClosedJaxpr":
            return _JAXPR
        if isinstance(call.func, cst.Attribute):
            return self._of_method(call.func) or self._of_local(call)
        if tail in ("str", "repr") and call.args and self.is_a(call.args[0].value, Kind.JAXPR):
            return self._other(call.args[0].value, Kind.JAXPR_TEXT)
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

    def _with_shape(self, call: cst.Call, value: Value) -> Value:
        if value.kind is not Kind.MAKER:
            return value
        shaped = any(
            each.keyword is not None and each.keyword.value == "return_shape" for each in call.args
        )
        return replace(value, items=(None,)) if shaped else value

    def _other(self, node: cst.CSTNode, kind: Kind) -> Value | None:
        value = self.of(node)
        return value.other(kind) if value is not None else None

    def _of_method(self, method: cst.Attribute) -> Value | None:
        value = self.of(method.value)
        if value is None:
            return None
        kind = _METHODS.get((value.kind, method.attr.value))
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
        if function.returns is not None:
            found = self._of_annotation(function.returns.annotation)
            if found is not None:
                return found
        for value in self._returns.get(function, ()):
            found = self.of(value)
            if found is not None:
                return found
        return None

    @cached_property
    def _returns(self) -> dict[cst.FunctionDef, list[cst.BaseExpression]]:
        """What each function returns."""
        found = defaultdict(list)
        for each in self.module.nodes(cst.Return):
            function = self.module.enclosing(each, cst.FunctionDef)
            if each.value is not None and function is not None:
                found[function].append(each.value)
        return found

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
            return _body(text_of(index.value), value.confidence)
        if value.kind is Kind.TUPLE and isinstance(index, cst.Index):
            number = index.value
            if not isinstance(number, cst.Integer):
                return None
            return self._taken_apart(value, [int(number.value, 0)])
        kind = _ELEMENTS.get(value.kind)
        return value.other(kind) if kind is not None else None

    def _of_params_by_name(self, base: cst.CSTNode, index: cst.Index) -> Value | None:
        """Return the kind of `params["jaxpr"]`, where nothing but its name tells what it is."""
        key = text_of(index.value)
        if key is None or dotted_tail(base) not in ("params", "eqn_params"):
            return None
        return _body(key, Confidence.MEDIUM)

    def _of_formatted(self, node: cst.FormattedString) -> Value | None:
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                value = self.of(part.expression)
                if value is not None and value.kind is Kind.JAXPR:
                    return value.other(Kind.JAXPR_TEXT)
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


def _by_name(name: str) -> Value | None:
    if _NAMED_JAXPR.search(name):
        return Value(Kind.JAXPR, Confidence.MEDIUM)
    if _NAMED_EQUATION.search(name):
        return Value(Kind.EQUATION, Confidence.MEDIUM)
    return None


def _body(key: str | None, confidence: Confidence) -> Value | None:
    if key is None:
        return None
    if _BODIES.search(key):
        return Value(Kind.JAXPR, confidence)
    return Value(Kind.JAXPRS, confidence) if key == "branches" else None


def _own_name(target: cst.CSTNode) -> str:
    if not isinstance(target, cst.Attribute) or not isinstance(target.value, cst.Name):
        return ""
    return target.attr.value if target.value.value == "self" else ""
