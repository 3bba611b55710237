"""The row of one program on one side in two versions of JAX, with the flag left alone."""

from __future__ import annotations

from typing import Literal, get_args

from reports.rows.comparison import Comparison
from reports.rows.row import Row, Side

VersionOutcome = Literal[
    "equal",
    "within tolerance",
    "fixed failure",
    "same failure",
    "not compared",
    "another failure",
    "different",
    "new failure",
]
VERSION_OUTCOMES: tuple[VersionOutcome, ...] = get_args(
    VersionOutcome
)  # from the best to the worst


class VersionChange(Row):
    """What one side made of a program in two versions, named by the labels of the grid.

    `before` is the last version in which the side has run the program. Where a failure of that
    version is gone, there is a second row: against the last version in which the side worked.
    """

    program: str
    side: Side
    before: str
    after: str
    outcome: VersionOutcome
    detail: str  # how far outputs are apart, or what failed
    # Its source, arguments and captured arrays, if they are others, where outputs are not equal.
    causes: tuple[str, ...] = ()
    judged: tuple[Comparison, ...] = ()  # of outputs, their types and placement, and of effects
    counters: tuple[Comparison, ...] = ()  # that are not equal: shown, and judged by nobody

    @property
    def is_news(self) -> bool:
        """Whether a user should know of it who goes from the one version to the other."""
        return self.outcome not in ("equal", "within tolerance", "same failure")
