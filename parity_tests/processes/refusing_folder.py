"""Folders that refuse files, because a disk is full or went away.

`constparity run` goes on with what it has, and says what is missing. A task of a planned campaign
must not: what is missing there would pass for what was run. So each refusal is noted, and whoever
runs a task asks for them at its end.
"""

from __future__ import annotations

_refusals: list[OSError] = []


def note_refusal(error: OSError) -> None:
    """Note that a folder did not take a file, where the campaign goes on without it.

    Example::

        note_refusal(error)
    """
    _refusals.append(error)


def refusals() -> tuple[OSError, ...]:
    """Return the refusals since this process started, in order.

    Example::

        before = len(refusals())
        run_sides(jobs, SIDES, folder, RunOptions())
        refusals()[before:]
    """
    return tuple(_refusals)
