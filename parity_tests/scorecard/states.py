"""The state of a line: computed from what its program showed in both modes, and nothing else."""

from __future__ import annotations

import doctest

from parity_tests.scorecard.lines import Line
from reports.rows.scorecard import Seen, State

ABSENT = "not in this release"
_SHOWN = ("open", "new")


def state_of(line: Line, off: Seen, on: Seen, before: State | None = None) -> State:
    """Return the state of a line by what flag off and flag on showed.

    `before` is its state on the release before. An error that the program does not state is "not
    known", any other text that it does not state "changed".
    """
    seen = (off, on)
    if all(map(_matches, line.right, seen)):
        return "mended"
    if all(map(_matches, line.fault, seen)):
        return "open" if before in (None, *_SHOWN, "changed", "not known") else "new"
    if all(each.text == ABSENT and not each.failed for each in seen):
        return "not in this release"
    stated = zip(line.fault, line.right, seen, strict=True)
    if any(
        each.failed and not any(_matches(text, each) for text in (fault, right))
        for fault, right, each in stated
    ):
        return "not known"
    return "changed"


def _matches(stated: str, seen: Seen) -> bool:
    """Say whether a text is the stated one, in which "..." stands for any text."""
    return doctest.OutputChecker().check_output(f"{stated}\n", f"{seen.text}\n", doctest.ELLIPSIS)
