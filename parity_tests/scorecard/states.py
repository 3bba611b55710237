"""The state of a line: computed from what its program showed in both modes, and nothing else."""

from __future__ import annotations

import doctest
from collections.abc import Iterable
from typing import Literal

from parity_tests.scorecard.lines import Line
from reports.rows.scorecard import Seen, State

ABSENT: Literal["not in this release"] = "not in this release"
_THERE = ("open", "new", "changed", "not known")
_NOT_THERE = ("right", "fixed", ABSENT)


def state_of(line: Line, off: Seen, on: Seen, before: State | None = None) -> State:
    """Return the state of a line by what flag off and flag on showed.

    `before` is its state on the release before. An error that the program does not state is "not
    known", any other text that it does not state "changed".
    """
    seen = (off, on)
    if all(map(_matches, line.right, seen)):
        return "fixed" if before in (*_THERE, "fixed") else "right"
    if all(map(_matches, line.fault, seen)):
        return "new" if before in _NOT_THERE else "open"
    if all(each.text == ABSENT and not each.failed for each in seen):
        return ABSENT
    stated = zip(line.fault, line.right, seen, strict=True)
    if any(each.failed and not _is_one_of(pair, each) for *pair, each in stated):
        return "not known"
    return "changed"


def _is_one_of(stated: Iterable[str], seen: Seen) -> bool:
    return any(_matches(text, seen) for text in stated)


def _matches(stated: str, seen: Seen) -> bool:
    """Say whether a text is the stated one, up to spaces; "..." stands for any text."""
    rules = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(f"{stated}\n", f"{seen.text}\n", rules)
