"""Long names on several lines, broken where a reader expects it."""

from __future__ import annotations

_SEPARATORS = "_-./:"


def folded(name: str, width: int) -> str:
    r"""Break a name into lines of at most `width` characters, after a separator where it has one.

    Example::

        >>> folded("other_order_of_bits", 18)
        'other_order_of_\nbits'
    """
    width = max(width, 1)
    lines = []
    for line in name.split("\n"):
        rest = line
        while len(rest) > width:
            # A space that does not fit is not missed.
            ends = [rest.rfind(" ", 0, width + 1), *(rest.rfind(c, 0, width) for c in _SEPARATORS)]
            end = max(ends) + 1
            # A line of a few characters is worse than a word that is cut.
            end = end if end > width // 3 else width
            lines.append(rest[:end].rstrip(" "))
            rest = rest[end:]
        lines.append(rest)
    return "\n".join(lines)
