"""The declaration of a metric: how it is read, judged, held to a limit in a flip, and shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from reports.rows import metric_rules
from reports.rows.comparison import TimeMetric
from reports.rows.metric_rules import Rule
from reports.rows.observation import Observation, OutputLeaf
from reports.rows.row import Side

Unit = Literal["count", "bytes", "seconds", "words"]
Read = Callable[[Observation], Any]


@dataclass(frozen=True)
class Larger:
    """Where a flip makes the program "larger": more than a share and a number of bytes more."""

    what: str
    share: float = 0.10
    bytes: int = 2**20
    only_where: Callable[[Observation], bool] = lambda observation: True

    def is_exceeded(self, old: float, new: float) -> bool:
        """Say whether `new` is larger than `old` by more than the limit."""
        return new - old > self.bytes and new - old > self.share * old


@dataclass(frozen=True)
class Figure:
    """A line "heading: label" among the figures of a program; no label, and it is a line alone.

    Lines follow the order of the table, `early` ones first within their heading.
    """

    heading: str
    label: str = ""
    early: bool = False


@dataclass(frozen=True)
class OverviewColumn:
    """A column for each side in the overview of a page, from left to right by `place`.

    `beside` names a metric that is shown in brackets, and that this one should not exceed. A ratio
    is to the side that people have today.
    """

    title: str
    place: int
    beside: str = ""
    as_ratio: bool = False


@dataclass(frozen=True)
class TerminalColumn:
    """A column in the terminal's table of programs, from left to right by `place`.

    It has a figure for each group of sides, of the first of them that was run; without groups it
    has the one figure of the first side that was measured.
    """

    title: str
    place: int
    groups: tuple[tuple[Side, ...], ...] = ()


@dataclass(frozen=True)
class Picture:
    """A picture of the metric: each program before and after a flip, from left to right by `place`.

    `column` heads the same figures in a table. `note` says what a reader must know of them, and
    `sampled` that each is one sample, from which nobody judges by itself.
    """

    title: str
    column: str
    place: int
    note: str = ""
    sampled: bool = False


@dataclass(frozen=True)
class Metric:
    """One metric of an observation.

    `read` returns None where it was not measured. `within` is the rule for two pipelines of one
    mode, `across` the rule for legacy and simplified, `again` the rule for one side measured twice;
    a metric without rules is not compared. Times are listed, and
    judged where rounds were run of the `stage` that takes them; `folding_helps` says that the stage
    is faster where legacy alone folds constants.
    """

    name: str
    read: Read
    unit: Unit = "count"
    within: Rule | None = None
    across: Rule | None = None
    again: Rule = metric_rules.SAME_COUNT
    stage: TimeMetric | None = None
    folding_helps: bool = False
    larger: Larger | None = None
    figure: Figure | None = None
    overview: OverviewColumn | None = None
    terminal: TerminalColumn | None = None
    picture: Picture | None = None

    def of(self, observation: Observation | None) -> Any:
        """Read the metric of a side; None where that was not run."""
        return self.read(observation) if observation else None


@dataclass(frozen=True)
class LeafProperty:
    """A property of an output leaf, and the rule where two sides differ in it.

    Outputs compare only where every property that is of their `type` is equal. A `placement` that
    changes in a flip is a difference for the user, expected or not.
    """

    name: str
    read: Callable[[OutputLeaf], object]
    rule: Rule = metric_rules.ANY_DIFFERENCE
    is_type: bool = False
    is_placement: bool = False
