"""The rows of experiments on one program: what was asked, and what was found.

An experiment compares variants of one pipeline, where a campaign compares sides. The result of a
campaign can have sweeps of its programs; the others stand beside it. Sizes are in bytes, times in
seconds.
"""

from __future__ import annotations

from typing import Literal

from reports.rows.program_row import Environment, Verdict
from reports.rows.row import PlacedArray, Row

# In what variants of a program may differ.
CulpritMetric = Literal["outputs", "compile", "memory", "call"]
# The rung that outputs must be worse than, to count as different.
Beyond = Literal["bitwise", "ulp", "tolerance"]


class CulpritQuestion(Row):
    """Which captured arrays make a difference in `metric` by being hoisted.

    `beyond` is the rung that outputs must be worse than, `factor` the ratio that memory and times
    must reach in either direction, `samples` how often a time is measured for its median.
    """

    metric: CulpritMetric
    beyond: Beyond = "bitwise"
    factor: float = 1.5
    samples: int = 5


class Culprit(PlacedArray):
    """One captured array that must be hoisted for the difference to arise."""


class CulpritFound(Row):
    """What became of a `CulpritQuestion`; `arrays` is empty but for a difference.

    A program that could not be compared has arrays, too, where it differs beside what it reads.
    """

    program: str
    source: str
    question: CulpritQuestion
    verdict: Verdict
    reasons: tuple[str, ...]
    arrays: tuple[Culprit, ...] = ()
    fails: bool = False  # with arrays hoisted, where it runs with all of them inlined
    candidates: int  # captured arrays above the embed threshold
    variants: int  # of the program that were compared with the all-inlined one


class SweepQuestion(Row):
    """Which embed thresholds, in bytes, a program is measured under; `samples` as above."""

    thresholds: tuple[int, ...]
    samples: int = 5


class ProgramFigures(Row):
    """What was counted and timed of one variant of a program; times are medians."""

    const_args: int
    text_bytes: int  # of the StableHLO
    inlined_bytes: int  # of non-scalar stablehlo.constant, of any size
    optimised_constant_bytes: int  # in the optimised HLO
    argument_bytes: int | None  # const args included
    temporary_bytes: int | None
    call_seconds: float


class SweepPoint(ProgramFigures):
    """One program under one embed threshold.

    Thresholds that hoist the same arrays make one program and share its figures. An embedded array
    is inlined once per use, as in JAX, and counted as often.
    """

    threshold: int
    compile_seconds: float
    dispatch_seconds: float  # until a call returns, which may be before its results are there


class Sweep(Row):
    """One program over the embed threshold.

    `recommended` is None where the threshold does not matter, or it is not known whether it does,
    and where `precompute_constants` is recommended instead: with "auto" under the threshold of
    `preamble`.
    """

    schema_version: int = 1
    created: str  # ISO 8601, UTC
    environment: Environment
    program: str
    source: str
    digest: str = ""  # SHA-256 of the file of `source`
    points: tuple[SweepPoint, ...]
    call_noise: float  # how far the figures are from themselves, as a ratio less 1
    compile_noise: float
    recommended: int | None
    preamble: SweepPoint | None = None  # under the smallest threshold; None where it has no work
    precompute_constants: Literal["off", "auto"] = "off"
    reason: str


class TuneQuestion(Row):
    """Within which bounds a constant policy is looked for; `samples` as above.

    A program with inlined arrays may take `compile_factor` times as long to lower and compile as
    with all arrays hoisted; an array above `most_bytes` is never inlined, and of more
    than `most_arrays` only the largest are tried.
    """

    samples: int = 5
    compile_factor: float = 2.0
    most_bytes: int = 64 * 2**20
    most_arrays: int = 32


# "not needed" would be faster alone, and is not beside what is proposed.
TuneOutcome = Literal[
    "inlined", "not needed", "no faster", "compiles too long", "too large", "not tried"
]


class TunedArrays(PlacedArray):
    """The captured arrays that one key of a table names: one, or all that no key tells apart."""

    key: str
    count: int
    outcome: TuneOutcome


TunePointKind = Literal["all hoisted", "alone", "path", "all inlined", "preamble"]


class TunePoint(ProgramFigures):
    """One program with the arrays of some keys inlined, and all others hoisted.

    "path" is all hoisted and one array more at a time, "alone" has one array each, and
    "all inlined" has all that were tried. "preamble" has all hoisted, with
    `precompute_constants="auto"`.
    """

    kind: TunePointKind
    inlined: tuple[str, ...]  # keys
    array_bytes: int  # of the captured arrays that are inlined
    first_seconds: float  # to lower and compile; the function is traced once for all points


class Tuning(Row):
    """A constant policy that was looked for; `proposal` is a table, empty where all are hoisted.

    All points were measured in turns with each other, after the path had been found.
    """

    schema_version: int = 1
    created: str  # ISO 8601, UTC
    environment: Environment
    program: str
    source: str
    question: TuneQuestion
    arrays: tuple[TunedArrays, ...]  # largest first
    points: tuple[TunePoint, ...]
    call_noise: float  # of the points, how far they are from themselves, as a ratio less 1
    first_noise: float
    proposal: dict[str, Literal["inline", "hoist"]]
    precompute_constants: Literal["off", "auto"] = "off"  # part of the proposal
    reason: str
