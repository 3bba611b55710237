"""The records of a store of runs: what lists, comparisons and trends are made of.

They are read off the rows of a campaign once, when it is stored; the JSON of the rows stays beside
them and is the truth.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from reports.rows.comparison import TimeSamples
from reports.rows.flip import FlipOutcome
from reports.rows.headline import FLIP_ANSWERS, FlipAnswer
from reports.rows.program_row import Environment, Verdict
from reports.rows.row import Row, Side

# The metrics of a side that a store has beside the JSON, by the name that trends are asked for.
KEY_METRICS: Mapping[str, str] = {
    "compile": "compile seconds",
    "first-call": "first call seconds",
    "call": "call seconds",
    "hlo": "StableHLO bytes",
    "executable": "serialized bytes",
    "constants": "device memory of constants",
    "temporaries": "temporary bytes",
    "host-memory": "peak host memory of compiling",
    "const-args": "const args",
    "equations": "jaxpr equations",
}


@dataclass(frozen=True)
class Commit:
    """The commit of the user's repository, and whether files in it were changed since."""

    id: str
    date: str  # ISO 8601, of the committer
    is_dirty: bool = False

    def __str__(self) -> str:
        return self.id[:10] + "+" * self.is_dirty


@dataclass(frozen=True)
class RunBegin:
    """What is known of a run before its first program; `machine` is a name that the user may give.

    `settings` are the options and variables that figures depend on, `planned` the names of the
    programs.
    """

    started: str  # ISO 8601, UTC
    environment: Environment
    sides: tuple[Side, ...]
    machine: str = ""
    commit: Commit | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    planned: tuple[str, ...] = ()


@dataclass(frozen=True)
class StoredRun:
    """One run: `finished` is "" for one that was interrupted or killed, or is still at work.

    A run whose settings are None was written before they were kept. `id` is None for a file.
    """

    id: int | None
    started: str
    finished: str
    schema_version: int
    environment: Environment
    sides: tuple[Side, ...]
    machine: str
    commit: Commit | None
    settings: Mapping[str, str] | None
    programs: int
    planned: int
    answers: Mapping[FlipAnswer, int] = field(default_factory=dict)
    question: str = ""
    file: str = ""

    @property
    def label(self) -> str:
        """How messages name the run."""
        return self.file if self.id is None else f"run {self.id}"

    @property
    def is_complete(self) -> bool:
        """Whether the run came to all of its programs: it was not killed, and not stopped by -x."""
        return bool(self.finished) and self.programs >= self.planned

    @property
    def answer(self) -> FlipAnswer | None:
        """The worst answer of its programs; None where no flip was judged."""
        return max(self.answers, key=FLIP_ANSWERS.index, default=None)


@dataclass(frozen=True)
class StoredSide:
    """One program on one side: its failure, or the key metrics and digests of its outputs."""

    failure: str = ""
    outputs: str = ""
    output_types: str = ""  # a digest of the paths, shapes and types of the leaves
    figures: Mapping[str, float] = field(default_factory=dict)  # by the name of the metric


@dataclass(frozen=True)
class StoredProgram:
    """One program of a run.

    `reasons` are those of the flip that are not safe, each with what it is about: "time call", and
    pairs besides the flip that are apart, as a "difference".
    """

    name: str
    source: str
    digest: str
    verdict: Verdict
    flip: FlipOutcome | None
    reason: str
    reasons: tuple[tuple[FlipOutcome | Verdict, str], ...]
    sides: Mapping[Side, StoredSide]
    is_final: bool = True  # False: judged before the rounds and the second runs of the campaign
    samples: tuple[TimeSamples, ...] = ()


# -- two runs --------------------------------------------------------------------------------------

ProgramChangeOutcome = Literal[
    "newly different",
    "worse",
    "gone",
    "not comparable",
    "newly fixed",
    "better",
    "new",
    "within noise",
]
CHANGE_OUTCOMES: tuple[ProgramChangeOutcome, ...] = get_args(ProgramChangeOutcome)


class ProgramChange(Row):
    """What became of one program from the left run to the right one.

    `reasons` led to the outcome; `notes` were seen besides, and judged by nobody.
    """

    name: str
    outcome: ProgramChangeOutcome
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ComparedRun(Row):
    """A run as a comparison names it; `created` is when it began, as `history` shows it."""

    label: str
    created: str
    machine: str
    commit: str
    environment: Environment
    programs: int


class RunComparison(Row):
    """Two runs compared; `provenance` says what they were not measured alike in."""

    schema_version: int = 1  # of this record, which is the JSON report of a comparison
    left: ComparedRun
    right: ComparedRun
    provenance: tuple[str, ...]
    programs: tuple[ProgramChange, ...]

    def counts(self) -> dict[ProgramChangeOutcome, int]:
        """Count the programs by outcome, the outcomes in their order."""
        return {
            outcome: count
            for outcome in CHANGE_OUTCOMES
            if (count := sum(each.outcome == outcome for each in self.programs))
        }


# -- trends ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TrendPoint:
    """A value of one run."""

    run: int
    label: str  # the commit, the version of JAX or the date
    value: float


@dataclass(frozen=True)
class TrendLine:
    """A line of points that may be compared: one machine, its versions alike unless they are asked.

    `name` is the side, or the answer whose programs are counted.
    """

    name: str
    machine: str
    versions: str
    points: tuple[TrendPoint, ...]


@dataclass(frozen=True)
class Trend:
    """The values of one metric over runs, and in `notes` what was left out.

    `order` has the numbers of the runs as they stand along the axis.
    """

    title: str
    unit: str
    lines: tuple[TrendLine, ...]
    order: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
