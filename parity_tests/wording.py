"""Words for reports."""

from __future__ import annotations

import re


def counted(number: int, noun: str) -> str:
    """Put a number before its noun, in the plural where it should be.

    counted(1, "const arg") == "1 const arg"; counted(2, "leaf") == "2 leaves"
    """
    plural = {"leaf": "leaves"}.get(noun, f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"


def without_addresses(text: str) -> str:
    """Leave out the memory addresses of objects, which differ from process to process.

    Also those that JAX has masked in a jaxpr, an X for each digit: their lengths differ too.

    without_addresses("<function f at 0x7f00>") == "<function f>"
    """
    return re.sub(r" at 0x[0-9a-fA-FX]+", "", text)
