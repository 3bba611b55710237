"""A document in Markdown, GitHub's dialect: as a step summary, and for comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reports.document import (
    Cell,
    Code,
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
from reports.output.caps import Caps, fitted
from reports.views.texts import from_package_on, visible

# GitHub rejects step summaries above 1 MiB; some of it is left to what else a job writes there.
LIMIT_BYTES = 1000 * 1024
CAPS = (
    Caps(sections=500, rows=2000, items=200, text=1000),
    Caps(sections=500, rows=500, items=50, text=500),
    Caps(sections=500, rows=100, items=20, text=200),
    Caps(sections=0, rows=5, items=5, text=60),
)

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# An underscore between letters is text in GitHub's dialect, and names are full of them.
# "@" before a name would call its owner, "#" before a number would link an issue: a comment within
# the two changes nothing for the reader.
_CALLING = re.compile(r"@(?=[A-Za-z0-9])|#(?=[0-9])")
_SPECIAL = re.compile(r"[\\`*\[|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
# What makes a heading, a list or a line of what begins with it.
_BEGINNING = re.compile(r"^(?=[#+=-])|^(\d+)(?=[.)])")


@dataclass(frozen=True)
class Style:
    """How documents are written: the level of the title, whether sections are folded.

    Tables of more than `open_rows` are folded.
    """

    level: int
    is_folded: bool
    open_rows: int


PAGE = Style(level=1, is_folded=False, open_rows=60)
COMMENT = Style(level=3, is_folded=True, open_rows=12)


def render(document: Document, limit_bytes: int = LIMIT_BYTES) -> str:
    """Render a document as a page of Markdown of less than `limit_bytes`."""
    return fitted(document, CAPS, lambda each: written(each, PAGE), limit_bytes)


def written(document: Document, style: Style) -> str:
    """Write a whole document in a style; `reports.output.caps` has cut it before."""
    blocks = [f"{'#' * style.level} constparity: {escape(document.answer)}"]
    if document.lines:
        blocks.append("\n".join(f"- {_begun(each)}" for each in document.lines))
    return "\n\n".join([*blocks, *_blocks(document.parts, style)]) + "\n"


def _blocks(parts: Iterable[Part], style: Style) -> Iterator[str]:
    """Yield blocks of Markdown, which an empty line divides."""
    for part in parts:
        match part:
            case Table():
                yield _table(part, style)
            case Items():
                yield from _list(part)
            case Paragraph():
                yield _begun(part.text)
            case Heading():
                text = escape(part.text)
                yield f"**{text}**" if style.is_folded else f"{'#' * (style.level + 1)} {text}"
            case Code():
                yield fenced(part.text)
            case Section():
                yield _folded(part, style)
            case Sections():
                yield from _sections(part, style)


def _sections(part: Sections, style: Style) -> Iterator[str]:
    for each in part.sections:
        if style.is_folded or part.is_folded:
            yield _folded(each, style)
            continue
        state = f"{each.state}: " if each.state else ""
        yield f"{'#' * (style.level + 2)} {escape(state + each.title)}"
        yield from _blocks(each.parts, style)
    if part.notice:
        yield f"**Cut here:** {escape(part.notice)}"
    elif not part.sections and part.none:
        yield _begun(part.none)


def _folded(section: Section, style: Style) -> str:
    state = f"<b>{inline_html(section.state)}:</b> " if section.state else ""
    return _details(f"{state}{inline_html(section.title)}", _blocks(section.parts, style))


def _details(summary: str, blocks: Iterator[str]) -> str:
    return "\n\n".join([f"<details><summary>{summary}</summary>", *blocks, "</details>"])


def _list(part: Items) -> Iterator[str]:
    if part.lines:
        yield "\n".join(f"- {_line(each)}" for each in part.lines)
    if part.notice:
        yield f"*{escape(part.notice)}*"


def _line(line: Line) -> str:
    if not line.strong:
        return _begun(line.text)
    return f"**{escape(line.strong)}** {escape(line.text)}".rstrip()


def _table(table: Table, style: Style) -> str:
    heads = "".join(f" {escape(each.title)} |" for each in table.columns)
    rules = "".join(" ---: |" if each.numeric else " :--- |" for each in table.columns)
    rows = (f"|{''.join(f' {_cell(each)} |' for each in row)}" for row in table.rows)
    text = "\n".join((f"|{heads}", f"|{rules}", *rows))
    blocks = [text, f"*{escape(table.notice)}*"] if table.notice else [text]
    if not table.caption:
        return "\n\n".join(blocks)
    if table.is_folded or len(table.rows) > style.open_rows:
        return _details(inline_html(table.caption), iter(blocks))
    return "\n\n".join([f"**{escape(table.caption)}**", *blocks])


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    return f"**{text}**" if cell.tone == "bad" and text else text


# -- texts, escaped whatever they hold -------------------------------------------------------------


def escape(text: str) -> str:
    r"""Escape `text` as Markdown that shows it, whatever it holds, on one line in one table cell.

    It is not safe at the beginning of a line, where `#` and `-` have a meaning: `_begun` is.

    Example::

        >>> escape("a|b\n<script> `x` rank_4 __init__")
        'a\\|b<br>&lt;script&gt; \\`x\\` rank_4 \\_\\_init\\_\\_'
    """
    text = _shown(text).strip().translate(_ENTITIES)
    text = _SPECIAL.sub(lambda match: "\\" + match[0], text)
    return _CALLING.sub(lambda match: match[0] + "<!-- -->", text).replace("\n", "<br>")


def _begun(text: str) -> str:
    r"""Escape `text` for the beginning of a line, a list item's too."""
    return _BEGINNING.sub(r"\1\\", escape(text))


def inline_html(text: str) -> str:
    """Escape `text` for an element of HTML, where GitHub reads no Markdown, on one line.

    Example::

        >>> inline_html("<b> `x` by @jax\\n")
        '&lt;b&gt; &#96;x&#96; by @<!-- -->jax'
    """
    text = _shown(text).translate(_ENTITIES).replace("\n", " ")
    text = _CALLING.sub(lambda match: match[0] + "<!-- -->", text)
    return text.replace("`", "&#96;")


def fenced(text: str) -> str:
    """Fence `text` as a code block that nothing in it can close.

    Example::

        >>> print(fenced("a\\n```"))
        ````text
        a
        ```
        ````
    """
    text = _shown(text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _shown(text: str) -> str:
    return from_package_on(visible(text)).strip("\n")
