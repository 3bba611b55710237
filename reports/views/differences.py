"""Two printed programs side by side: where they differ, and how much of them is equal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import Literal

from reports.views.texts import cut

MAX_ROWS = 600
_LINE_LENGTH = 400
_CONTEXT = 3  # equal lines that stay in sight around a change
_LEAST_FOLDED = 4
_MANY_LINES = 500
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")

Kind = Literal["equal", "changed", "removed", "added"]
Piece = tuple[str, bool]  # a part of a line, and whether it differs


@dataclass(frozen=True)
class DiffRow:
    """One line of each text; no number, and no pieces, where a text has no such line."""

    kind: Kind
    left_number: int | None
    left: tuple[Piece, ...]
    right_number: int | None
    right: tuple[Piece, ...]


@dataclass(frozen=True)
class DiffPart:
    """Rows in a line; `folded` ones are equal and far from any change."""

    rows: tuple[DiffRow, ...]
    folded: bool


@dataclass(frozen=True)
class TextDifference:
    """Two texts side by side."""

    caption: str
    before: str
    after: str
    summary: str
    parts: tuple[DiffPart, ...]
    notice: str

    @property
    def equal(self) -> bool:
        """Whether no line differs."""
        return all(row.kind == "equal" for part in self.parts for row in part.rows)


@dataclass(frozen=True)
class PrintedProgram:
    """One side's text; `lost` says in words what of it is not there."""

    side: str
    text: str
    lost: str = field(default="")


def difference(
    caption: str, before: PrintedProgram, after: PrintedProgram, is_jaxpr: bool
) -> TextDifference:
    r"""Put two printed programs side by side.

    Lines that differ in the names of variables alone are equal.

    Example::

        >>> before = PrintedProgram("legacy", "{ lambda a:f32[]; b:f32[]. let\n  c:f32[] = mul b a")
        >>> after = PrintedProgram("simplified", "{ lambda ; a:f32[]. let\n  b:f32[] = mul a [..]")
        >>> difference("jaxpr", before, after, is_jaxpr=True).summary
        '2 lines differ, 0 are equal.'
    """
    rows = list(_rows(before.text, after.text, is_jaxpr))
    equal = sum(row.kind == "equal" for row in rows)
    shown = rows[:MAX_ROWS]
    said = f"{len(rows) - equal:,} lines differ, {equal:,} are equal"
    if any(_text(row.left) != _text(row.right) for row in rows if row.kind == "equal"):
        said += " or differ in the names of variables alone"
    lost = [f"{each.side}: {each.lost}" for each in (before, after) if each.lost]
    if len(rows) > MAX_ROWS:
        lost.append(f"{len(rows) - MAX_ROWS:,} more lines are left out here; the JSON has them")
    return TextDifference(
        caption, before.side, after.side, f"{said}.", tuple(_parts(shown)), "; ".join(lost)
    )


def _rows(before: str, after: str, is_jaxpr: bool) -> Iterator[DiffRow]:
    left, right = before.splitlines(), after.splitlines()
    of_left, of_right = Names(before, is_jaxpr), Names(after, is_jaxpr)
    keys = [of_left.masked(line) for line in left], [of_right.masked(line) for line in right]
    renaming = Renaming()
    for start, end, other, other_end, same in _blocks(*keys):
        pairs = zip_longest(range(start, end), range(other, other_end))
        for at, to in pairs:
            if at is None or to is None:
                yield _apart(left, at, right, to)
                continue
            if left[at].lstrip().startswith("func.func "):  # its names are its own
                renaming.forget()
            names = of_left.of(left[at]), of_right.of(right[to])
            if same and renaming.agrees(*names):
                one, two = (_shown(left[at]), False), (_shown(right[to]), False)
                yield DiffRow("equal", at + 1, (one,), to + 1, (two,))
            else:
                renaming.bind_last(*names)
                yield _apart(left, at, right, to)


def _blocks(left: Sequence[str], right: Sequence[str]) -> Iterator[tuple[int, int, int, int, bool]]:
    """Yield ranges of the two texts, from start to end, and whether their lines are alike."""
    # Most programs are alike at both ends; what is left for the matcher is short.
    shortest = min(len(left), len(right))
    head = next((i for i in range(shortest) if left[i] != right[i]), shortest)
    rest = shortest - head
    tail = next((i for i in range(rest) if left[-1 - i] != right[-1 - i]), rest)
    one, two = left[head : len(left) - tail], right[head : len(right) - tail]
    yield 0, head, 0, head, True
    matcher = SequenceMatcher(None, one, two, autojunk=max(len(one), len(two)) > _MANY_LINES)
    for tag, start, end, other, other_end in matcher.get_opcodes():
        yield head + start, head + end, head + other, head + other_end, tag == "equal"
    yield len(left) - tail, len(left), len(right) - tail, len(right), True


def _apart(left: Sequence[str], at: int | None, right: Sequence[str], to: int | None) -> DiffRow:
    if at is None:
        assert to is not None
        return DiffRow("added", None, (), to + 1, ((_shown(right[to]), True),))
    if to is None:
        return DiffRow("removed", at + 1, ((_shown(left[at]), True),), None, ())
    one, two = _pieces(_shown(left[at]), _shown(right[to]))
    return DiffRow("changed", at + 1, one, to + 1, two)


def _shown(line: str) -> str:
    return cut(line, _LINE_LENGTH)


def _pieces(left: str, right: str) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Divide two lines into parts that are equal and parts that differ."""
    one, two = _TOKEN.findall(left), _TOKEN.findall(right)
    found: tuple[list[Piece], list[Piece]] = ([], [])
    for tag, start, end, other, other_end in SequenceMatcher(None, one, two, False).get_opcodes():
        for pieces, text in zip(
            found, ("".join(one[start:end]), "".join(two[other:other_end])), strict=True
        ):
            if text:
                pieces.append((text, tag != "equal"))
    return tuple(found[0]), tuple(found[1])


def _text(pieces: Sequence[Piece]) -> str:
    return "".join(text for text, _ in pieces)


def _parts(rows: Sequence[DiffRow]) -> Iterator[DiffPart]:
    """Fold equal rows that are far from any change."""
    changed = [index for index, row in enumerate(rows) if row.kind != "equal"]
    near = {at for index in changed for at in range(index - _CONTEXT, index + _CONTEXT + 1)}
    for is_near, run in groupby(enumerate(rows), key=lambda each: each[0] in near):
        part = tuple(row for _, row in run)
        yield DiffPart(part, folded=not is_near and len(part) >= _LEAST_FOLDED)


# -- the names of variables -----------------------------------------------------------------------

# A captured array that is no variable any more shifts the names of all others: `c = add a b`
# becomes `b = add a [...]`, and each line after it has other names. Two lines are equal here where
# one way to rename turns the first into the second, and all lines before it too.

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
