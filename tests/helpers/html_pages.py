"""Reads HTML pages as a test sees them: balanced tags, attributes, text, and what is packed."""

from __future__ import annotations

import base64
import re
import zlib
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}
_PACKED = re.compile(
    r'<script type="application/octet-stream" class="packed"[^>]*>([^<]*)</script>'
)
_COLUMNS = re.compile(r'(?<=<script type="application/octet-stream" id="extra">)([^<]*)')


class Page(HTMLParser):
    """Reads a page, insists on balanced tags, and keeps what the tests ask for."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):  # <circle/> in SVG
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        self.texts.append(" ".join(data.split()))

    def values(self, attribute: str) -> list[str]:
        return [value or "" for name, value in self.attributes if name == attribute]


def unpacked(data: str) -> str:
    """The text that a page keeps as `data`."""
    return zlib.decompress(base64.b64decode(data), -zlib.MAX_WBITS).decode("utf-8")


def whole(text: str) -> str:
    """The page with its packed programs in their places, as a browser shows all of it."""
    with_columns = _COLUMNS.sub(lambda found: unpacked(found[1]).replace("<", "&lt;"), text)
    return _PACKED.sub(lambda found: unpacked(found[1]), with_columns)
