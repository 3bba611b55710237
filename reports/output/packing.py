"""Text that waits in a page until somebody asks for it: compressed, and in letters HTML can hold.

A browser unpacks it with `DecompressionStream("deflate-raw")`.
"""

from __future__ import annotations

import base64
import hashlib
import zlib


def packed(text: str) -> str:
    """Return `text`, deflated and in base64.

    Example::

        >>> packed("")
        'AwA='
    """
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    deflated = compressor.compress(text.encode("utf-8")) + compressor.flush()
    return base64.b64encode(deflated).decode("ascii")


def source_hash(text: str) -> str:
    """Return the source of a content security policy that allows `text` as a script or a style.

    Example::

        >>> source_hash("")
        "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    """
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
