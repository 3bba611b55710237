"""Each expression is asked for its kind once; names may depend on themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod

import libcst as cst

from parity_tests.lint.kinds.indexes import Indexes
from parity_tests.lint.kinds.values import Kind, Value
from parity_tests.lint.module import Module

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
