"""Lines of printed programs, equal but for the names of their variables.

A captured array that is no variable any more shifts the names of all others: `c = add a b` becomes
`b = add a [...]`, and each line after it has other names. Two lines are equal here where one way to
rename turns the first into the second, and all lines before it too.
"""

from __future__ import annotations

import re

_MASK = "\0"
_STABLEHLO_NAME = re.compile(r"%\w+")
# A variable of a jaxpr where it is bound: "c:f32[16]".
_JAXPR_BINDER = re.compile(r"(?<![\w.%])([a-z]{1,4})(?=:[a-z])")
_WORD = re.compile(r"(?<![\w.%=\"'])([a-z]{1,4})(?![\w(\[=.\"'])")


class Names:
    """The variables of one printed program: where a line has them, and whether it binds them."""

    def __init__(self, text: str, is_jaxpr: bool) -> None:
        self._is_jaxpr = is_jaxpr
        self._declared = frozenset(_JAXPR_BINDER.findall(text)) if is_jaxpr else frozenset()

    def masked(self, line: str) -> str:
        r"""Return the line without its names; lines that differ in names alone are equal then.

        Example::

            >>> Names("", is_jaxpr=False).masked("%1 = stablehlo.tanh %0").replace("\0", "?")
            '? = stablehlo.tanh ?'
        """
        if not self._is_jaxpr:
            return _STABLEHLO_NAME.sub(_MASK, line)
        return _WORD.sub(lambda found: _MASK if self._is_name(line, found) else found[0], line)

    def of(self, line: str) -> list[tuple[str, bool]]:
        """Return the names in a line in order, and whether the line binds them.

        Example::

            >>> Names("", is_jaxpr=False).of("%1 = stablehlo.tanh %0")
            [('%1', True), ('%0', False)]
        """
        if self._is_jaxpr:
            return [
                (found[0], line[found.end() : found.end() + 1] == ":")
                for found in _WORD.finditer(line)
                if self._is_name(line, found)
            ]
        results, equals, _ = line.partition(" = ")
        bound = len(_STABLEHLO_NAME.findall(results)) if equals else 0
        return [
            (found[0], index < bound or line[found.end() : found.end() + 1] == ":")
            for index, found in enumerate(_STABLEHLO_NAME.finditer(line))
        ]

    def _is_name(self, line: str, found: re.Match[str]) -> bool:
        # After "= " stands the primitive, whose name may also be a variable: "add", "mul".
        return found[0] in self._declared and not line.endswith("= ", 0, found.start())


class Renaming:
    """A one-to-one renaming of the variables of one program to those of another, as lines go by."""

    def __init__(self) -> None:
        self._to: dict[str, str] = {}
        self._back: dict[str, str] = {}

    def agrees(self, left: list[tuple[str, bool]], right: list[tuple[str, bool]]) -> bool:
        """Say whether the names of two lines are each other's; bind those that are new.

        Example::

            >>> renaming = Renaming()
            >>> renaming.agrees([("a", True)], [("b", True)])
            True
            >>> renaming.agrees([("a", False)], [("c", False)])
            False
        """
        if len(left) != len(right):
            return False
        known = [
            (one, other)
            for (one, binds), (other, _) in zip(left, right, strict=True)
            if not binds and (one in self._to or other in self._back)
        ]
        if any(self._to.get(one) != other for one, other in known):
            return False
        for (one, _), (other, _) in zip(left, right, strict=True):
            self._bind(one, other)
        return True

    def bind_last(self, left: list[tuple[str, bool]], right: list[tuple[str, bool]]) -> None:
        """Take the variables that two other lines bind for each other's, from the last on.

        Where one line binds more, its first are captured arrays: they come before arguments.

        Example::

            >>> renaming = Renaming()
            >>> renaming.bind_last([("%arg0", True)], [("%arg0", True), ("%arg1", True)])
            >>> renaming.agrees([("%arg0", False)], [("%arg1", False)])
            True
        """
        bound = ([name for name, binds in names if binds] for names in (left, right))
        for one, other in zip(*map(reversed, bound), strict=False):
            self._bind(one, other)

    def forget(self) -> None:
        """Begin anew, at a function whose names are its own."""
        self._to.clear()
        self._back.clear()

    def _bind(self, one: str, other: str) -> None:
        self._back.pop(self._to.get(one, ""), None)
        self._to.pop(self._back.get(other, ""), None)
        self._to[one], self._back[other] = other, one
