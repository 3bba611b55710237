"""How long what comes next will take, in words; nobody knows before a first pass has run."""

from __future__ import annotations

from collections.abc import Callable

# Called with a sentence for the user, before something long begins.
Announce = Callable[[str], object]


def spoken(seconds: float) -> str:
    """Write a time as one would say it.

    Example::

        >>> spoken(3), spoken(200), spoken(4000)
        ('a few seconds', 'about 3 min', 'about 1 h 7 min')
    """
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    parts = [f"{hours} h"] * bool(hours) + [f"{minutes} min"] * bool(minutes)
    return f"about {' '.join(parts)}"
