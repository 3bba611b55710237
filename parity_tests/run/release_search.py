"""Search the releases between two by halves: where is the first that changes something?"""

from __future__ import annotations

from collections.abc import Sequence

from reports.rows.grid import Grid


def first_change(grid: Grid, releases: Sequence[str]) -> tuple[int, int] | None:
    """Return the places of two releases between which something changes, the first such pair.

    A change is news of a side, its time among them, or another flip verdict.

    Example::

        first_change(grid, ["0.11.0", "0.11.1", "0.11.2"]) == (0, 1)
    """
    pairs = [(each.before, each.after) for each in grid.changes if each.is_news]
    flips = [change for row in grid.programs for change in row.changes]
    pairs += [(each.before.version, each.after.version) for each in flips]
    places = [(releases.index(before), releases.index(after)) for before, after in pairs]
    return min(places, key=lambda each: (each[1], -each[0]), default=None)


def said_of_search(
    releases: Sequence[str], pair: tuple[int, int] | None, asked: Sequence[str]
) -> str:
    """Say which release is the first that changes something, or what stands in the way.

    Example::

        said_of_search(["0.11.0", "0.11.1"], (0, 1), ["0.11.0", "0.11.1"])
        # "the first release after 0.11.0 that changes something is 0.11.1, of 2 releases"
    """
    if pair is None:
        return f"no release changes anything, of those that were run: {', '.join(asked)}"
    before, after = releases[pair[0]], releases[pair[1]]
    if pair[1] - pair[0] > 1:
        return f"something changes between {before} and {after}, and none between them was run"
    return f"the first release that changes something is {after}, after {before}"
