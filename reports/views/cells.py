"""What a page is made of, whatever it is written in: cells, columns and tables of plain text.

No text in here is escaped; that is the business of the renderers, which do it to all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal

# How a reader should take a cell. Never the only sign: the text says the same.
Tone = Literal["", "good", "bad", "warn", "note"]


@dataclass(frozen=True)
class Cell:
    """One cell: its text, and the exact figure behind it where the text is rounded."""

    text: str
    title: str = ""
    tone: Tone = ""
    link: str = ""  # the anchor of the section that it leads to
    code: str = ""  # a line of a program, shown below the text where a page has room for it


@dataclass(frozen=True)
class Column:
    """One column; neighbours with the same `group` stand under one common heading."""

    title: str
    group: str = ""
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A table with a caption, whose first column names its rows."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notice: str = ""  # says how much was left out

    @property
    def grouped(self) -> bool:
        """Whether the table needs a second line of headings."""
        return any(column.group for column in self.columns)

    @property
    def groups(self) -> tuple[tuple[str, int], ...]:
        """The first line of headings with the number of columns below each; "" is no heading."""
        runs = groupby(
            self.columns, key=lambda column: (column.group, column.group or column.title)
        )
        return tuple((group, len(list(columns))) for (group, _), columns in runs)

    def with_groups_folded(self, separator: str = " · ") -> Table:
        """Return the same table with one column per group, for pages whose tables have one heading.

        Example::

            >>> columns = (Column("program"), Column("legacy", "bytes"), Column("jax", "bytes"))
            >>> table = Table("", columns, ((Cell("f"), Cell("1"), Cell("2")),))
            >>> [cell.text for cell in table.with_groups_folded().rows[0]]
            ['f', '1 · 2']
        """
        spans = [span for _, span in self.groups]
        starts = [sum(spans[:index]) for index in range(len(spans))]
        firsts = [self.columns[start] for start in starts]
        columns = tuple(
            replace(first, title=first.group or first.title, group="") for first in firsts
        )
        rows = tuple(
            tuple(
                _joined(row[start : start + span], separator)
                for start, span in zip(starts, spans, strict=True)
            )
            for row in self.rows
        )
        return replace(self, columns=columns, rows=rows)


def _joined(cells: Sequence[Cell], separator: str) -> Cell:
    if len(cells) == 1:
        return cells[0]
    return Cell(separator.join(cell.text for cell in cells))


def columns(titles: Sequence[str], numeric: bool = False) -> tuple[Column, ...]:
    """Make a column for each title.

    Example::

        >>> [column.title for column in columns(("legacy", "simplified"))]
        ['legacy', 'simplified']
    """
    return tuple(Column(title, numeric=numeric) for title in titles)


NOTHING = Cell("-", "not measured")
