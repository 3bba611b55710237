"""The records of a planned campaign: where each program stands, and what it comes to as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from pydantic import Field

from reports.rows import metrics
from reports.rows.fail_rules import Status
from reports.rows.headline import agreement_of
from reports.rows.program_row import Environment, ProgramRow
from reports.rows.row import Row, Side

# Every planned program is in exactly one state, so that the states add up to the plan.
State = Literal[
    "not run",
    "lost",
    "unavailable",
    "refused",
    "could not compare",
    "not repeatable",
    "disagree",
    "breaks",
    "agrees here, not proved",
    "placed otherwise",
    "at a price",
    "proved",
    "safe",
]
STATES: tuple[State, ...] = get_args(State)
MEANINGS: Mapping[State, str] = {
    "not run": "planned, and not run yet",
    "lost": "the process or the machine of its task was lost each time",
    "unavailable": "cannot be run in its environment, for something is missing there",
    "refused": "generated, and stock JAX raises on it, too",
    "could not compare": "a side has failed, or the import of its module",
    "not repeatable": "differs from itself when it runs again",
    "disagree": "our pipeline differs from stock JAX in the same mode",
    "breaks": "the flip changes or breaks it",
    "agrees here, not proved": "equal on these arguments; its two forms part, or have no rule",
    "placed otherwise": "the flip places or commits equal outputs elsewhere",
    "at a price": "the flip costs time, memory, or exact bits that are explained",
    "proved": "both forms are one computation, and it was not run: bits and costs are not known",
    "safe": "the flip changes nothing that is judged",
}


class CauseGroup(Row):
    """Programs in one state with one cause: one line, or one symptom and one equation.

    `example` is the program of them that takes least, and `target` loads it. Names are with their
    environment where there are several.
    """

    state: State
    symptom: str
    line: str = ""
    equation: str = ""
    action: str = ""  # the smallest that helps; "" where none is known
    example: str
    place: int  # of the example in the plan
    run: int  # of the example in the store
    target: str = ""
    programs: tuple[str, ...]


class BrokenRule(Row):
    """A rule that programs break, as `--fail-on` has it, and how many programs do."""

    rule: str
    status: Status
    programs: int


class PlanEnvironment(Row):
    """One environment of a campaign; `run` is its number in the store.

    `options` are what `constparity run` is given to run a program in it, as "--jax 0.12.0.1".
    """

    label: str
    run: int
    environment: Environment
    options: str = ""
    states: dict[State, int]
    machines: dict[str, int]  # programs by the machine that measured them
    versions: dict[str, int] = Field(default_factory=dict)  # and by what it measured with


class PlanLibrary(Row):
    """A library of a campaign, whose suite compiles programs of it.

    `left_out` says why it left none; "" where it has some. `failures` are tests that fail and are
    not known to, as "class::test".
    """

    name: str
    version: str
    programs: int = 0
    failures: tuple[str, ...] = ()
    left_out: str = ""


class PlanProof(Row):
    """What a campaign proves first, where its spec asks for that.

    `not_run` counts the programs that are proved and were not run, and `sampled` those that are
    proved and were run all the same. `contradicted` has what a run of these shows that their proof
    or their contract excludes.
    """

    not_run: int
    sampled: int
    contradicted: Mapping[str, str] = Field(default_factory=dict)


class PlanReport(Row):
    """A planned campaign at some moment.

    `differ_from_themselves` has the programs that A/A found, and what differed; they are in the
    state "not repeatable". `not_timed` has the programs that were to be timed and have no times.
    Seconds are sums over all tasks: of the clock, of processors, and, as the `floor`, of what the
    sides took of the processors to trace, lower and compile.
    """

    kind: Literal["planned campaign"] = "planned campaign"
    schema_version: int = 1
    name: str
    digest: str  # of the spec
    shard: str = ""  # "3/8"; "" for the whole plan
    started: str
    finished: str = ""  # "" while programs are not run, or are being timed
    sides: tuple[Side, ...]
    planned: int
    states: dict[State, int]
    environments: tuple[PlanEnvironment, ...]
    libraries: tuple[PlanLibrary, ...] = ()
    causes: tuple[CauseGroup, ...]  # the most severe state first, and in it the largest
    broken: tuple[BrokenRule, ...] = ()  # the rules that programs break, in the order of the spec
    differ_from_themselves: Mapping[str, str] = Field(default_factory=dict)
    not_timed: tuple[str, ...] = ()
    proof: PlanProof | None = None  # None where all programs are run
    # Combinations that the generated programs cover, by kind; empty where there are none.
    coverage: Mapping[str, int] = Field(default_factory=dict)
    tasks: int = 0
    tasks_lost: int = 0
    seconds: float = 0.0
    processor_seconds: float = 0.0
    floor_seconds: float = 0.0


def state_of(row: ProgramRow, *, differs_from_itself: str, is_refused: bool) -> State:
    """Return the state of a program that was run, or that its row says cannot be.

    `differs_from_itself` has what A/A found, as "METRIC: VALUE against VALUE; ...". Where these are
    figures alone, the program breaks no less where its outputs, effects or failures are apart.
    """
    if is_refused:
        return "refused"
    if not row.observations:
        return "unavailable"
    if row.proved_only:
        is_placed = row.flip is not None and row.flip.outcome == "placed otherwise"
        return "placed otherwise" if is_placed else "proved"
    outcome = row.flip.outcome if row.flip else None
    apart = {part.partition(":")[0] for part in differs_from_itself.split("; ") if part}
    hides_all = apart and not (outcome == "different" and apart <= metrics.NAMES)
    if hides_all or row.verdict == "not repeatable":
        return "not repeatable"
    if agreement_of(row) == "differ" and not apart:
        return "disagree"
    if outcome == "different":
        return "breaks"
    if row.is_not_here:
        return "unavailable"
    if outcome == "not repeatable":
        return "not repeatable"
    if outcome == "could not compare" or row.verdict == "could not compare":
        return "could not compare"
    if outcome in ("placed otherwise", "agrees here, not proved"):
        return outcome
    return "safe" if outcome in (None, "safe") else "at a price"
