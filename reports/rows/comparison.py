"""The rows of one comparison: a metric, an output leaf or a time on two sides."""

from __future__ import annotations

from typing import Literal, get_args

from reports.rows.row import Row, Side

Rung = Literal["bitwise", "ulp", "tolerance", "arbiter", "mismatch"]


class LeafComparison(Row):
    """One output leaf on two sides; `rung` is the strictest rung that it stands on."""

    path: str
    rung: Rung
    max_abs: float
    max_rel: float
    max_ulp: int | None
    mismatch_share: float
    first_index: tuple[int, ...] | None
    passing_rtol: float | None  # the relative tolerance that would have passed
    note: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether NaN or an infinity stands against something else, which no tolerance passes."""
        return self.passing_rtol is None


ComparisonOutcome = Literal[
    "equal", "expected difference", "different", "not compared", "not judged"
]


class Comparison(Row):
    """One metric on two sides."""

    metric: str
    left: Side
    right: Side
    outcome: ComparisonOutcome
    left_value: str
    right_value: str
    detail: str = ""
    leaves: tuple[LeafComparison, ...] = ()


TimeMetric = Literal[
    "trace", "lower", "compile", "cached compile", "first call", "call", "dispatch"
]
TIME_METRICS: tuple[TimeMetric, ...] = get_args(TimeMetric)
TimeVerdict = Literal["faster", "slower", "equivalent", "inconclusive", "not measured"]


class TimeSamples(Row):
    """The times of one stage of a program on a side: one sample of each process, in order."""

    side: Side
    metric: TimeMetric
    seconds: tuple[float, ...]


class TimeComparison(Row):
    """The times of one stage on two sides; a ratio above 1 says that `right` takes longer."""

    metric: TimeMetric
    left: Side
    right: Side
    verdict: TimeVerdict
    ratio: float  # of the medians
    low: float | None  # the bootstrap interval of the ratio
    high: float | None
    p_value: float | None  # Mann-Whitney, corrected over the programs
    margin: float  # how far a side is from itself, as a ratio less 1
    samples: tuple[int, int]


class Growth(Row):
    """How the time of a stage grows with the size n of a program: as n to the power `exponent`.

    It is that from the smaller to the larger of `sizes`, the two largest that were measured. `low`
    and `high` are None for too few samples.
    """

    program: str  # without the size
    side: Side
    metric: TimeMetric
    sizes: tuple[int, int]
    exponent: float
    low: float | None
    high: float | None
    samples: int  # of each size, in pairs: one process takes both

    @property
    def is_known(self) -> bool:
        """Whether the samples tell one power from the next."""
        return self.low is not None and self.high is not None and self.high - self.low <= 1
