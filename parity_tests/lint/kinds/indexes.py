"""What a file calls, asks, assigns and returns, looked up by name: made once, when first asked."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

import libcst as cst

from parity_tests.lint.module import Module, dotted_tail


class Indexes:
    """The tables of one file in which kinds are looked up.

    Example::

        Indexes(module).calls["evaluate"]
    """

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
        """The classes that `isinstance` asks for, by function and name."""
        found: dict[tuple[cst.CSTNode | None, str], list[cst.CSTNode]] = defaultdict(list)
        for call in self.module.nodes(cst.Call):
            if dotted_tail(call.func) == "isinstance" and len(call.args) == 2:
                subject, classes = (each.value for each in call.args)
                if isinstance(subject, cst.Name):
                    function = self.module.enclosing(call, cst.FunctionDef, cst.Lambda)
                    found[function, subject.value].append(classes)
        return found

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
