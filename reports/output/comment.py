"""A document as a comment on a pull request, which GitHub refuses above 65,536 characters."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlsplit

from reports.document import Detail, Document
from reports.output.caps import Caps, fitted
from reports.output.markdown import COMMENT, written

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


# -- the address of the whole report ---------------------------------------------------------------

_MOST_CHARACTERS = 2_000
# What RFC 3986 allows in an address; whatever else it is about has to be percent-encoded.
_ALLOWED = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")


def checked_link(text: str) -> str:
    """Return an address that a comment may link to.

    Raises `ValueError` where it is none of http or https, names no host, or has a character that an
    address does not have, such as a space.

    Example::

        >>> checked_link("javascript:alert(1)")
        Traceback (most recent call last):
        ...
        ValueError: illegal link 'javascript:alert(1)': it must begin with https:// or http://
    """
    shown = f"illegal link {text[:100]!r}"
    if not text.lower().startswith(("https://", "http://")):
        raise ValueError(f"{shown}: it must begin with https:// or http://")
    if not _ALLOWED.fullmatch(text):
        raise ValueError(f"{shown}: write characters that are not of an address as %20 and so on")
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"{shown}: it is longer than {_MOST_CHARACTERS:,} characters")
    try:
        host = urlsplit(text).hostname
    except ValueError as error:  # brackets that are no address of IPv6
        raise ValueError(f"{shown}: {error}") from error
    if not host:
        raise ValueError(f"{shown}: it names no host")
    return text


def markdown_link(text: str, address: str) -> str:
    """Return a link in Markdown; raises `ValueError` as `checked_link` does.

    Example::

        >>> print(markdown_link("The report", "https://example.org/a?b=1&c=(2)"))
        [The report](<https://example.org/a?b=1&amp;c=(2)>)
    """
    # In angle brackets, which no address has, all but entities stands for itself.
    return f"[{text}](<{checked_link(address).replace('&', '&amp;')}>)"
