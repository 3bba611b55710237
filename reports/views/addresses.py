"""The address of each program within a page: `#program=NAME`, which people send to each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from urllib.parse import quote

from reports.views.texts import visible

# What `encodeURIComponent` of JavaScript leaves as it is, beyond what `quote` does.
_UNRESERVED = "!'()*"


def addresses(names: Sequence[str]) -> list[str]:
    """Return the anchor of each program: its name, and a number where others have it too.

    Example::

        >>> addresses(["step", "a step", "step"])
        ['program=step', 'program=a%20step', 'program=step~2']
    """
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        shown = visible(name)
        seen[shown] += 1
        number = f"~{seen[shown]}" if seen[shown] > 1 else ""
        found.append(f"program={quote(shown + number, safe=_UNRESERVED)}")
    return found
