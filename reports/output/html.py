"""A document as one HTML file that needs nothing else, for reading and for sending around."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reports.document import Document
from reports.output.caps import Caps, fitted
from reports.views.texts import from_package_on, visible

LIMIT_BYTES = 16 * 1024 * 1024  # browsers stay quick, and mail and issue attachments take it
CAPS = (
    Caps(sections=2000, rows=2000, items=200, text=1000),
    Caps(sections=2000, rows=1000, items=50, text=500),
    Caps(sections=2000, rows=100, items=20, text=200),
    Caps(sections=0, rows=5, items=5, text=60),
)
FOLDER = Path(__file__).parents[1]


def render(document: Document, limit_bytes: int = LIMIT_BYTES) -> str:
    """Render a document as one HTML page of less than `limit_bytes`, without scripts."""
    template, style = environment().get_template("document.html"), page_style()
    policy = page_policy((style,), "")

    def write(page: Document) -> str:
        return template.render(page=page, style=Markup(style), policy=policy)

    return fitted(document, CAPS, write, limit_bytes)


def page_policy(styles: Sequence[str], script: str) -> str:
    """Return the content security policy of a page with these styles and this script alone."""
    scripts = f"; script-src {source_hash(script)}" if script else ""
    allowed = f"style-src {' '.join(map(source_hash, styles))}{scripts}"
    return f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"


def source_hash(text: str) -> str:
    """Return the source of a content security policy that allows `text` as a script or a style.

    Example::

        >>> source_hash("")
        "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


@cache
def page_style() -> str:
    """Return the stylesheet of all pages."""
    return (FOLDER / "templates" / "report.css").read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Make the templates of pages and drawings, in which every expression is escaped.

    Nothing reaches a page past `_finalize` and the escaping after it, so a template cannot forget
    to escape. An unknown name in a template is an error.
    """
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["whole"] = _whole
    made.filters["kind"] = lambda part: type(part).__name__
    return made


def _finalize(value: object) -> object:
    # Text from a template is Markup, a str too; `visible` must not undo that.
    return from_package_on(visible(value)) if type(value) is str else value


def _whole(text: str) -> Markup:
    """Escape a text whose paths stay as they are, such as a command."""
    return escape(visible(text))
