"""What every report is made of: a document is a tree of parts, whatever it is written in.

No text in here is escaped or cut: the renderers of `reports.output` do it to all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

# How a reader should take a text. Never the only sign: the text says the same.
Tone = Literal["", "good", "bad", "warn", "note"]
WORST_FIRST: tuple[Tone, ...] = ("bad", "warn", "note", "good", "")


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
    """One column, whose numbers stand at the right."""

    title: str
    numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A table, whose first column names its rows; `what` names them where some are left out."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notice: str = ""  # says how much was left out
    what: str = "lines"
    is_folded: bool = False


@dataclass(frozen=True)
class Line:
    """A line of text, with words before it that stand out."""

    text: str
    strong: str = ""


@dataclass(frozen=True)
class Items:
    """A list; `what` names its lines where some are left out."""

    lines: tuple[Line, ...]
    what: str = "lines"
    notice: str = ""


@dataclass(frozen=True)
class Paragraph:
    """A sentence."""

    text: str


@dataclass(frozen=True)
class Heading:
    """A heading of the parts that follow."""

    text: str


@dataclass(frozen=True)
class Code:
    """A text whose lines stay as they are, such as a traceback."""

    text: str


class Later:
    """Parts that are made whenever somebody asks: of 10,000 sections a page shows hundreds."""

    def __init__(self, make: Callable[[], Iterable[Part]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Part]:
        """Make the parts."""
        return iter(self._make())


@dataclass(frozen=True)
class Section:
    """Parts under a title that a reader opens: `state` and `tone` say what they come to.

    `members` is the number of programs that it is about, where that is not one.
    """

    title: str
    parts: Iterable[Part]
    state: str = ""
    tone: Tone = ""
    anchor: str = ""  # where links to it lead
    is_open: bool = False
    members: int = 0


@dataclass(frozen=True)
class Sections:
    """Sections of which those that have no room are left out, the last first.

    `what` names them, and `none` is said where there is none. Folded ones are no chapters of a
    page in Markdown, where nothing else can be opened. `lost` are the anchors of those left out.
    """

    sections: tuple[Section, ...]
    what: str
    none: str = ""
    is_folded: bool = False
    notice: str = ""
    lost: tuple[str, ...] = ()


@dataclass(frozen=True)
class Detail:
    """Parts for a page, which a comment has no room for."""

    parts: Iterable[Part]


Part: TypeAlias = "Table | Items | Paragraph | Heading | Code | Section | Sections | Detail"


@dataclass(frozen=True)
class Document:
    """A report: the answer to a question, a few lines about it, then its parts.

    `file` is what a JSON report of it is usually called, where `constparity report` reads one.
    """

    answer: str
    tone: Tone
    lines: tuple[str, ...]
    parts: tuple[Part, ...]
    question: str = ""
    file: str = ""


def columns(titles: Sequence[str], numeric: bool = False) -> tuple[Column, ...]:
    """Make a column for each title.

    Example::

        >>> [column.title for column in columns(("legacy", "simplified"))]
        ['legacy', 'simplified']
    """
    return tuple(Column(title, numeric=numeric) for title in titles)


def cells(*found: str | Cell) -> tuple[Cell, ...]:
    """Make a row of texts, and of cells that have more than a text.

    Example::

        >>> cells("step", Cell("different", tone="bad"))[0]
        Cell(text='step', title='', tone='', link='', code='')
    """
    return tuple(each if isinstance(each, Cell) else Cell(each) for each in found)


def items(texts: Iterable[str], what: str = "lines") -> Items:
    """Make a list of texts.

    Example::

        >>> items(["one", "two"]).lines[0].text
        'one'
    """
    return Items(tuple(map(Line, texts)), what)


def with_rows(*tables: Table) -> tuple[Table, ...]:
    """Return the tables that have any rows."""
    return tuple(table for table in tables if table.rows)


NOTHING = Cell("-", "not measured")
