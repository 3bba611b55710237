"""One parsed file, and the questions that rules ask about its syntax."""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any, TypeGuard, TypeVar

import libcst as cst
from libcst import metadata

from parity_tests.lint.records import Confidence, Edit, Match, Place

_Node = TypeVar("_Node", bound=cst.CSTNode)


class Module:
    """A parsed file; `text` is its text.

    Raises `libcst.ParserSyntaxError` or `UnicodeDecodeError` where the source is no Python.
    """

    def __init__(self, source: bytes) -> None:
        # Nothing changes the tree, so it need not be copied.
        wrapper = metadata.MetadataWrapper(cst.parse_module(source), unsafe_skip_copy=True)
        self.root = wrapper.module
        self.text = self.root.code
        self._wrapper = wrapper
        self._scopes = wrapper.resolve(metadata.ScopeProvider)
        self._tree = _Tree(self.root)

    @cached_property
    def _positions(self) -> Any:
        # Few files have a finding, and only these need positions.
        return self._wrapper.resolve(metadata.PositionProvider)

    def nodes(self, *types: type[_Node]) -> Iterator[_Node]:
        """Yield the nodes of some types, each type in the order of the source."""
        for each in types:
            yield from self._tree.by_type.get(each, ())

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the node around a node; None for the module."""
        return self._tree.parents.get(node)

    def around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the nodes around a node, the innermost first."""
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    def enclosing(self, node: cst.CSTNode, *types: type[_Node]) -> _Node | None:
        """Return the innermost node of some types around a node."""
        return next((each for each in self.around(node) if isinstance(each, types)), None)

    def call_with(self, node: cst.CSTNode) -> cst.Call | None:
        """Return the call that takes a node as an argument."""
        arg = self.parent(node)
        call = self.parent(arg) if isinstance(arg, cst.Arg) else None
        return call if isinstance(call, cst.Call) else None

    def is_inside(self, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
        """Say whether a node is `outer`, or lies within it."""
        order = self._tree.order
        return order[outer] <= order[node] < order[outer] + self._tree.sizes[outer]

    def nodes_in(self, outer: cst.CSTNode, type_: type[_Node]) -> list[_Node]:
        """Return the nodes of a type within a node, in the order of the source."""
        order, found = self._tree.order, self._tree.by_type.get(type_, [])
        first = bisect_left(found, order[outer], key=order.__getitem__)
        end = order[outer] + self._tree.sizes[outer]
        return found[first : bisect_left(found, end, key=order.__getitem__)]

    def scope(self, node: cst.CSTNode) -> metadata.Scope | None:
        """Return the scope that a node's names are looked up in."""
        for each in (node, *self.around(node)):
            found = self._scopes.get(each)
            if found is not None:
                return found
        return None

    def order(self, node: cst.CSTNode) -> int:
        """Return the place of a node among all nodes of the file, in the order of the source."""
        return self._tree.order.get(node, -1)

    def assignments(self, name: cst.Name) -> list[metadata.Assignment]:
        """Return the assignments, in this file, that a name may refer to."""
        scope = self.scope(name)
        if scope is None:
            return []
        found = (each for each in scope[name.value] if isinstance(each, metadata.Assignment))
        return sorted(found, key=lambda each: self.order(each.node))

    def references(self, assignment: metadata.Assignment) -> list[cst.CSTNode]:
        """Return the places that may read what an assignment binds, in order.

        LibCST lists a few more: of an outer variable also those where an inner one of the same name
        is read in the statement that assigns it.
        """
        nodes = {each.node for each in assignment.references}
        return sorted(
            (
                node
                for node in nodes
                if not isinstance(node, cst.Name) or assignment in self.assignments(node)
            ),
            key=self.order,
        )

    def accesses(self, binding: cst.CSTNode) -> list[cst.CSTNode]:
        """Return the places that may read what is bound: a function, a parameter or a variable."""
        name = binding.name if isinstance(binding, cst.FunctionDef | cst.Param) else binding
        above = self.parent(binding) if isinstance(binding, cst.FunctionDef) else None
        scope = self.scope(above or binding)
        if scope is None or not isinstance(name, cst.Name):
            return []
        found: list[cst.CSTNode] = []
        for assignment in scope.assignments[name.value]:
            if isinstance(assignment, metadata.Assignment) and assignment.node is binding:
                found += self.references(assignment)
        return found

    def qualified(self, node: cst.CSTNode) -> str:
        """Return the full name of what was imported, such as "jax.extend.core.Literal"; "" if none.

        Names that the file defines itself have none.
        """
        chain = node
        while isinstance(chain, cst.Attribute):
            chain = chain.value
        # LibCST gives a call the name of its function.
        scope = self.scope(node) if isinstance(chain, cst.Name) else None
        found = scope.get_qualified_names_for(node) if scope is not None else ()
        imported = sorted(
            each.name for each in found if each.source is metadata.QualifiedNameSource.IMPORT
        )
        return imported[0] if imported else ""

    def last_name(self, node: cst.CSTNode) -> str:
        """Return the last name of what was imported under any name, or that of an expression."""
        return self.qualified(node).rpartition(".")[2] or dotted_tail(node)

    def span(self, node: cst.CSTNode) -> tuple[Place, Place]:
        """Return where a node begins and ends."""
        found = self._positions[node]
        return (
            Place(found.start.line, found.start.column + 1),
            Place(found.end.line, found.end.column + 1),
        )

    def place(self, node: cst.CSTNode) -> Place:
        """Return where a node begins."""
        return self.span(node)[0]

    def match(self, node: cst.CSTNode, message: str, confidence: Confidence, *edits: Edit) -> Match:
        """Return a match at a node."""
        return Match(self.place(node), message, confidence, edits)

    def replaced(self, node: cst.CSTNode, text: str) -> Edit:
        """Return the edit that puts a text in the place of a node."""
        return Edit(*self.span(node), self.code(node), text)

    def keyword(self, node: cst.CSTNode, word: str, other: str) -> Edit:
        """Return the edit that replaces the keyword that a statement begins with."""
        start = self.place(node)
        return Edit(start, Place(start.line, start.column + len(word)), word, other)

    def code(self, node: cst.CSTNode) -> str:
        """Return the source of a node."""
        return self.root.code_for_node(node)


class _Tree:
    """The nodes of a tree by type, the parent of each, and their order; without white space.

    LibCST's own visitors take ten times as long, mostly in white space.
    """

    def __init__(self, root: cst.Module) -> None:
        self.by_type: dict[type[cst.CSTNode], list[Any]] = defaultdict(list)
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.order: dict[cst.CSTNode, int] = {}
        waiting: list[cst.CSTNode] = [root]
        while waiting:
            node = waiting.pop()
            self.by_type[type(node)].append(node)
            self.order[node] = len(self.order)
            children = list(_children(node))
            self.parents.update((each, node) for each in children)
            waiting += reversed(children)
        # A node and all that it holds follow one another in this order.
        self.sizes = dict.fromkeys(self.order, 1)
        for node in reversed(self.order):
            if node in self.parents:
                self.sizes[self.parents[node]] += self.sizes[node]


def _children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield from (each for each in value if isinstance(each, cst.CSTNode))


@cache
def _fields(type_: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(
        each.name
        for each in dataclasses.fields(type_)
        if not each.name.startswith(_WITHOUT_NAMES) and each.name not in ("semicolon", "newline")
    )


# Fields of a node that hold white space, comments and brackets.
_WITHOUT_NAMES = ("whitespace", "leading_lines", "lines_", "header", "footer", "lpar", "rpar",
                  "comma", "lbracket", "rbracket", "lbrace", "rbrace", "trailing")  # fmt: skip


def dotted_tail(node: cst.CSTNode) -> str:
    """Return the last name of a name or an attribute: "eval_jaxpr" of `jax.core.eval_jaxpr`."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def text_of(node: cst.CSTNode | None) -> str | None:
    """Return the value of a string constant; None where a node is none."""
    if not isinstance(node, cst.SimpleString | cst.ConcatenatedString):
        return None
    try:
        value = node.evaluated_value
    except (SyntaxError, ValueError):  # an escape that Python refuses as well
        return None
    return value if isinstance(value, str) else None


def keyword_of(call: cst.Call, name: str) -> cst.BaseExpression | None:
    """Return what a call gives to a keyword; None where it gives nothing."""
    return next(
        (each.value for each in call.args if each.keyword and each.keyword.value == name), None
    )


def is_called(node: cst.CSTNode | None, *names: str) -> TypeGuard[cst.Call]:
    """Say whether a node is a call of a function or method with one of these last names."""
    return isinstance(node, cst.Call) and dotted_tail(node.func) in names
