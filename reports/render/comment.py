"""A document as a comment on a pull request, which GitHub refuses above 65,536 characters."""

from __future__ import annotations

from dataclasses import replace

from reports.document import Detail, Document
from reports.render.caps import Caps, fitted
from reports.render.links import markdown_link
from reports.render.markdown import COMMENT, written

# In characters, and in bytes for the services that count these. What a workflow adds has room, too.
LIMIT = 64_000
# The last fits whatever the texts are.
CAPS = (
    Caps(sections=300, rows=100, items=200, text=300),
    Caps(sections=100, rows=50, items=50, text=300),
    Caps(sections=50, rows=20, items=10, text=200),
    Caps(sections=25, rows=12, items=5, text=200),
    Caps(sections=10, rows=12, items=3, text=100),
    Caps(sections=3, rows=1, items=2, text=60),
)


def render(document: Document, link: str = "", limit: int = LIMIT) -> str:
    """Render a document as Markdown below `limit` bytes, for any number of programs.

    It says how much it leaves out. `link` is the address of the whole report; raises `ValueError`
    where it is not one of http or https.

    Example::

        len(render(document).encode()) < 65_536
    """
    parts = tuple(each for each in document.parts if not isinstance(each, Detail))
    end = [f"- {markdown_link('The whole report', link)} has all of it."] if link else []
    if document.file:
        command = f"constparity report {document.file} --report html:report.html"
        end.append(f"- `{command}` draws all of it.")
    foot = "\n" + "".join(f"{each}\n" for each in end) if end else ""
    return fitted(
        replace(document, parts=parts), CAPS, lambda each: written(each, COMMENT) + foot, limit
    )
