"""Each expression is asked for its kind once; names may depend on themselves.

What a file calls, asks, assigns and returns is looked up by name in tables, made when first asked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from functools import cached_property

import libcst as cst

from parity_tests.lint.kinds.values import Kind, Value
from parity_tests.lint.module import Module, dotted_tail

_MOST_STEPS = 40


class Finder(ABC):
    """Asks for the kind of an expression of one file, at most once each."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.indexes = Indexes(module)
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

    @abstractmethod
    def _of(self, node: cst.CSTNode) -> Value | None:
        """Return the kind of an expression; `of` remembers it."""


class Indexes:
    """The tables of one file in which kinds are looked up."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def calls(self) -> dict[str, list[cst.Call]]:
        """The calls of functions by their plain names."""
        found = defaultdict(list)
        for call in self.module.nodes(cst.Call):
            if isinstance(call.func, cst.Name):
                found[call.func.value].append(call)
        return found

    @cached_property
    def asked(self) -> dict[tuple[cst.CSTNode | None, str], list[cst.CSTNode]]:
        """The classes that `isinstance(x, C)` and `type(x) is C` ask for, by function and name."""
        found: dict[tuple[cst.CSTNode | None, str], list[cst.CSTNode]] = defaultdict(list)
        for call in self.module.nodes(cst.Call):
            subject = call.args[0].value if call.args else None
            classes = self._classes(call)
            if isinstance(subject, cst.Name) and classes is not None:
                function = self.module.enclosing(call, cst.FunctionDef, cst.Lambda)
                found[function, subject.value].append(classes)
        return found

    def _classes(self, call: cst.Call) -> cst.CSTNode | None:
        """Return the classes that a call of `isinstance` or `type` asks for."""
        name, asks = dotted_tail(call.func), self.module.parent(call)
        if name == "isinstance" and len(call.args) == 2:
            return call.args[1].value
        if name == "type" and isinstance(asks, cst.Comparison) and asks.left is call:
            return asks.comparisons[0].comparator
        return None

    @cached_property
    def attributes(self) -> dict[tuple[cst.ClassDef, str], list[cst.CSTNode]]:
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

    @cached_property
    def returns(self) -> dict[cst.FunctionDef, list[cst.BaseExpression]]:
        """What each function returns."""
        found = defaultdict(list)
        for each in self.module.nodes(cst.Return):
            function = self.module.enclosing(each, cst.FunctionDef)
            if each.value is not None and function is not None:
                found[function].append(each.value)
        return found


def _own_name(target: cst.CSTNode) -> str:
    if not isinstance(target, cst.Attribute) or not isinstance(target.value, cst.Name):
        return ""
    return target.attr.value if target.value.value == "self" else ""
