"""Documents made by hand: one with every part, whose texts may all be the same hostile one."""

from __future__ import annotations

from reports.document import (
    Cell,
    Code,
    Column,
    Detail,
    Document,
    Heading,
    Items,
    Later,
    Line,
    Paragraph,
    Section,
    Sections,
    Table,
)


def table(text: str = "t", rows: int = 1, **fields) -> Table:
    cell = Cell(text, title=text, tone="bad", link="one", code=text)
    heads = (Column(text), Column(text, numeric=True))
    return Table(text, heads, ((cell, Cell(text)),) * rows, what="rows", **fields)


def section(text: str = "t", number: int = 1, **fields) -> Section:
    parts = Paragraph(text), table(text), Code(text)
    return Section(text, Later(lambda: parts), state=text, anchor=f"section-{number}", **fields)


def every_part(text: str) -> Document:
    """A document with each kind of part, and `text` in all of their fields that are shown."""
    return Document(
        answer=text,
        tone="warn",
        lines=(text, text),
        question=text,
        file="RESULT.json",
        parts=(
            Heading(text),
            Paragraph(text),
            Items((Line(text, text), Line(text))),
            Code(text),
            table(text),
            table(text, is_folded=True, notice=text),
            Section(text, (Items((Line(text),)),)),
            Sections((section(text, 1, is_open=True), section(text, 2)), "sections"),
            Sections((), "things", none=text),
            Sections((section(text, 3),), "groups", is_folded=True),
            Detail((Heading("for pages alone"), Sections((section(text, 4),), "details"))),
        ),
    )


def of(*parts) -> Document:
    """A document of some parts."""
    return Document("answer", "good", (), parts)
