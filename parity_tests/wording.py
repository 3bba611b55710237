"""Words for reports."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Put a number before its noun, in the plural where it should be.

    counted(1, "const arg") == "1 const arg"; counted(2, "leaf") == "2 leaves"
    """
    plural = {"leaf": "leaves"}.get(noun, f"{noun}s")
    return f"{number} {noun if number == 1 else plural}"
