"""How long what comes next will take, in words; nobody knows before a first pass has run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from reports.rows import Observation
from reports.rows.headline import listed_names

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


def again(what: str, names: Sequence[str], before: Iterable[Observation]) -> str:
    """Say which programs run once more, and how long that takes by their first runs.

    Example::

        again("run again", ["step"], [observation]) == "run again (step), a few seconds"
    """
    times = [each.times for each in before if each.times is not None]
    seconds = sum(each.trace + each.lower + each.compile + each.first_call for each in times)
    return f"{what}{listed_names(names)}{f', {spoken(seconds)}' if times else ''}"
