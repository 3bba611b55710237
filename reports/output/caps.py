"""How much of a document is shown: what is cut is counted, and the JSON report has it all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace

from reports.document import (
    Cell,
    Code,
    Detail,
    Document,
    Heading,
    Items,
    Line,
    Paragraph,
    Part,
    Section,
    Sections,
    Table,
)
from reports.views.texts import cut, cut_middle, left_out, more

# Whatever the caps are: lines below the answer, and rows of a table in a section.
_MOST_LINES = 20
_MOST_ROWS_IN_A_SECTION = 60
# How often less room for sections is tried, and which part of the limit is aimed at.
_TRIES = 4
_AIM = 0.9


@dataclass(frozen=True)
class Caps:
    """The most that is shown: sections of a kind, rows of a table, lines of a list, characters.

    The title of a section has three times the characters of other texts, a line below the answer
    and a paragraph four times, and code six times.
    """

    sections: int
    rows: int
    items: int
    text: int


def fitted(
    document: Document, caps: Sequence[Caps], write: Callable[[Document], str], limit: int
) -> str:
    """Write a document with the first caps that keep it below `limit` bytes, else with the last.

    Sections that have no room are left out before other caps are tried, but not all of a kind.
    """
    for each in caps[:-1]:
        room = limit
        for _ in range(_TRIES):
            shown = capped(document, each, room)
            kinds = [part for part in shown.parts if isinstance(part, Sections)]
            if any(kind.notice and not kind.sections for kind in kinds):
                break  # none of a kind would be shown
            text = write(shown)
            if (size := len(text.encode("utf-8"))) < limit:
                return text
            if not kinds:
                break  # less room for sections changes nothing
            room = int(_AIM * room * limit / size)
    return write(capped(document, caps[-1], limit))


def capped(document: Document, caps: Caps, room: int) -> Document:
    """Return a document with no more than `caps` allow, and with the number of what is left out.

    Its sections have at most about `room` characters; those of each kind have a fair share.
    """
    lines = [cut(each, 4 * caps.text) for each in document.lines[:_MOST_LINES]]
    if notice := left_out(document.lines, lines, "lines"):
        lines.append(notice)
    parts = tuple(_without_details(document.parts))
    kinds = sum(isinstance(each, Sections) for each in parts)
    return replace(
        document,
        answer=cut(document.answer, caps.text),
        question=cut(document.question, caps.text),
        lines=tuple(lines),
        parts=_Cutter(caps, room, kinds).parts(parts),
    )


def capped_parts(parts: Iterable[Part], caps: Caps) -> tuple[Part, ...]:
    """Return parts with no more than `caps` allow, which have no sections to be left out."""
    return _Cutter(caps, 0, 0).parts(parts)


def capped_table(table: Table, caps: Caps) -> Table:
    """Return a table with no more than `caps` allow, as `capped` does of each table."""
    return _Cutter(caps, 0, 0).table(table)


def _without_details(parts: Iterable[Part]) -> Iterator[Part]:
    for each in parts:
        if isinstance(each, Detail):
            yield from each.parts
        else:
            yield each


@dataclass
class _Cutter:
    """Cuts parts to caps; `kinds` are those of sections to come, which share the room."""

    caps: Caps
    room: int
    kinds: int

    def parts(self, parts: Iterable[Part]) -> tuple[Part, ...]:
        return tuple(map(self._part, parts))

    def _part(self, part: Part) -> Part:
        match part:
            case Table():
                return self.table(part)
            case Items():
                lines = tuple(map(self._line, part.lines[: self.caps.items]))
                return replace(part, lines=lines, notice=left_out(part.lines, lines, part.what))
            case Paragraph():
                return Paragraph(cut(part.text, 4 * self.caps.text))
            case Heading():
                return Heading(self._cut(part.text))
            case Code():
                return Code(cut_middle(part.text, 2 * self.caps.text, 4 * self.caps.text))
            case Section():
                return self._section(part)
            case Sections():
                return self._sections(part)
        return part

    def _line(self, line: Line) -> Line:
        return Line(self._cut(line.text), self._cut(line.strong))

    def _cut(self, text: str) -> str:
        return cut(text, self.caps.text)

    def table(self, table: Table) -> Table:
        rows = tuple(tuple(map(self._cell, row)) for row in table.rows[: self.caps.rows])
        return replace(
            table,
            caption=self._cut(table.caption),
            columns=tuple(replace(each, title=self._cut(each.title)) for each in table.columns),
            rows=rows,
            notice=left_out(table.rows, rows, table.what) or self._cut(table.notice),
        )

    def _cell(self, cell: Cell) -> Cell:
        if max(len(cell.text), len(cell.title), len(cell.code)) <= self.caps.text:
            return cell
        text, title, code = map(self._cut, (cell.text, cell.title, cell.code))
        return replace(cell, text=text, title=title, code=code)

    def _section(self, section: Section) -> Section:
        title, state = cut(section.title, 3 * self.caps.text), self._cut(section.state)
        return replace(section, title=title, state=state, parts=self.parts(section.parts))

    def _sections(self, part: Sections) -> Sections:
        room = self.room // self.kinds
        self.kinds -= 1
        inside = replace(self.caps, rows=min(self.caps.rows, _MOST_ROWS_IN_A_SECTION))
        cutter, shown = _Cutter(inside, 0, 0), list[Section]()
        for each in part.sections[: self.caps.sections]:
            section = cutter._section(each)
            room -= (size := _characters(section))
            if room < 0:
                break
            self.room -= size
            shown.append(section)
        rest = part.sections[len(shown) :]
        notice = more(len(rest), part.what) if rest else ""
        if members := sum(each.members for each in rest):
            notice = notice.replace(" are left out", f", of {members:,} programs, are left out", 1)
        lost = tuple(each.anchor for each in rest if each.anchor)
        none = self._cut(part.none)
        return replace(part, sections=tuple(shown), notice=notice, lost=lost, none=none)


def _characters(part: object) -> int:
    """Count the characters of a part, which a page has as well: it costs less than writing it."""
    if isinstance(part, str):
        return len(part)
    if isinstance(part, Cell):  # not every format has the rest of it
        return len(part.text)
    if isinstance(part, tuple):
        return sum(map(_characters, part))
    return sum(map(_characters, vars(part).values())) if is_dataclass(part) else 0
