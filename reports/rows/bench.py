"""The rows of a benchmark: what was asked, every sample, and each figure beside its target.

Times are in seconds, sizes in bytes. A sample is what one process came to, so that the samples of a
contestant are independent of each other.
"""

from __future__ import annotations

from typing import Literal, get_args

from reports.rows import Environment, Row

# The four sides, and the manual way: the constants are arguments of a stock `jax.jit`.
Contestant = Literal["legacy", "jax-legacy", "simplified", "jax-simplified", "manual"]
CONTESTANTS: tuple[Contestant, ...] = get_args(Contestant)

Unit = Literal["seconds", "bytes", "count"]
# "ratio" is of two contestants, "exponent" the slope of a line through logarithms.
Kind = Literal["ratio", "exponent", "bytes", "count"]
Bound = Literal["at most", "below", "at least", "exactly"]
Outcome = Literal["met", "missed", "inconclusive"]


class BenchQuestion(Row):
    """What a benchmark is asked for: rows by number, and in how many rounds of two turns each."""

    rows: tuple[int, ...]
    rounds: int
    size: Literal["quick", "default", "full"] = "default"


class BenchTurn(Row):
    """What one process is asked for: rows on one contestant, on one core where that can be had.

    `devices` is the number of devices that a CPU is to have, None for as many as it has.
    """

    contestant: Contestant
    rows: tuple[int, ...]
    size: Literal["quick", "default", "full"]
    core: int | None = None
    devices: int | None = None


class Sample(Row):
    """What one process measured of one quantity, `what` of `case`, for a row."""

    row: int
    case: str
    what: str
    unit: Unit
    value: float


class TurnTaken(Row):
    """The answer of one process."""

    environment: Environment
    samples: tuple[Sample, ...]


class Samples(Row):
    """All samples of one quantity on one contestant, in the order in which they were taken."""

    row: int
    case: str
    what: str
    contestant: Contestant
    unit: Unit
    values: tuple[float, ...]


class Target(Row):
    """What a figure must reach."""

    bound: Bound
    value: float


class BenchLine(Row):
    """One figure: a contestant against another, or a contestant alone where `against` is None.

    A ratio is the median over the turns of the contestant's sample to the other's, and the other
    way round where the target is "at least": how many times as fast. `low` and `high` are its
    interval, None where there are too few samples and for counts, which are the same in every
    process or a `note` says otherwise.
    `outcome` is "inconclusive" where the interval reaches over the target or is not there, and None
    where there is no target.
    """

    row: int
    case: str
    what: str
    contestant: Contestant
    against: Contestant | None
    kind: Kind
    value: float
    low: float | None = None
    high: float | None = None
    target: Target | None = None
    outcome: Outcome | None = None
    medians: tuple[float, ...] = ()  # of the contestant, and of the other
    unit: Unit
    note: str = ""


class Bench(Row):
    """One benchmark: the root of its JSON report."""

    schema_version: int = 1
    created: str  # ISO 8601, UTC
    environment: Environment
    question: BenchQuestion
    load: float | None  # jobs that were waiting or running in the minute before the start
    lines: tuple[BenchLine, ...]
    samples: tuple[Samples, ...]
