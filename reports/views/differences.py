"""Two printed programs side by side: where they differ, and how much of them is equal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import groupby, zip_longest
from typing import Literal

from reports.views.renaming import Names, Renaming
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
            if _own_names(left[at]):
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


def _own_names(line: str) -> bool:
    return line.lstrip().startswith("func.func ")


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
