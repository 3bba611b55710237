"""The address of a whole report, as a comment links to it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

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
