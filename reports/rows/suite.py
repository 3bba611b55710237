"""The rows of a test-suite that ran on both pipelines: its programs, and where they differ."""

from __future__ import annotations

from typing import Literal

from reports.rows.claims import Claim
from reports.rows.comparison import LeafComparison, Rung
from reports.rows.flip import FlipReason
from reports.rows.proofs import ProgramProof
from reports.rows.row import Row, Side

# What a difference can be in, as lists of known differences call it.
SuiteMetric = Literal["outputs", "sharding", "committed", "failure", "proof"]
# "known": accepted by an entry of a list or by a baseline; "expired": by an entry no longer valid.
DifferenceState = Literal["new", "known", "expired"]
# "known": it matched a difference; "fixed": it matched none although its tests ran; "not judged":
# it matched none, and its tests did not all run.
EntryState = Literal["known", "fixed", "expired", "not judged"]


class SuiteArray(Row):
    """An array that a program captured, and the user's line that uses it first."""

    file: str  # "" where the place is not known
    line: int
    function: str
    aval: str  # as in "float32[64,64]"
    bytes: int
    uses: int


class SuiteProgram(Row):
    """A program that the tests ran: a jitted function, for arguments of given types.

    `identity` tells it from all others of the run, and is the same in each run. `rung` is the worst
    that any of its runs stands on, None where none was compared; `not_compared` says why not all
    were. `proof` is there where programs were proved, and not compared.
    """

    identity: str
    name: str
    source: str  # "file:line" of the function
    arguments: tuple[str, ...]  # avals
    equations: int
    captured: int  # arrays
    captured_bytes: int
    one_executable: bool  # both sides run the same one: nothing that they could differ in
    rung: Rung | None
    not_compared: tuple[str, ...] = ()
    test: str = ""  # the first, by node id, of the tests that ran it; "" outside of tests
    proof: ProgramProof | None = None

    @property
    def is_judged(self) -> bool:
        """Whether something is known of it: a run was compared, or its traces were."""
        return self.rung is not None or self.proof is not None


class SuiteFailure(Row):
    """What became of a call on a side: an exception, as its type and its first line."""

    side: Side
    error: str  # "" where the side works


class SuiteDifference(Row):
    """A difference between the sides in one program, seen by one test.

    One of `leaf`, `property`, `failures` and `claim` is given: output values, a property of an
    output (its sharding), that a side failed, or what the proof comes to: that both forms are two
    computations, or what a rule of `--constparity-fail` names. With none of them our pipelines
    agree, and the flip of stock JAX breaks the program: `left` and `right` are its sides, and
    `reasons` say why.
    """

    test: str  # node id; "" outside of tests
    phase: str  # "setup", "call", "teardown"; "" outside of tests
    program: str  # its identity
    name: str
    source: str
    left: Side
    right: Side
    leaf: LeafComparison | None = None
    left_value: str = ""
    right_value: str = ""
    property: str = ""
    failures: tuple[SuiteFailure, ...] = ()
    claim: Claim | None = None  # that refutes the program, or that a rule names
    captured: tuple[SuiteArray, ...] = ()
    arguments: tuple[str, ...] = ()  # of the program
    state: DifferenceState = "new"
    because: str = ""  # the reason of the entry that makes it known or expired
    reasons: tuple[FlipReason, ...] = ()  # why, and what helps, as `constparity run` says it


def is_of_stock(row: SuiteDifference) -> bool:
    """Say whether the flip of stock JAX breaks the program, and our pipelines agree."""
    return row.leaf is None and row.claim is None and not row.property and not row.failures


def metric_of(row: SuiteDifference) -> SuiteMetric:
    """Return what the sides differ in, as lists of known differences call it.

    A function, for the field `property` hides the decorator of that name.
    """
    if row.claim is not None:
        return "proof"
    if row.failures or is_of_stock(row):
        return "failure"
    if row.leaf is not None:
        return "outputs"
    return "committed" if row.property.startswith("committed") else "sharding"


class SuiteVersions(Row):
    """What the suite ran with."""

    constparity: str
    jax: str
    jaxlib: str
    numpy: str
    python: str
    backend: str  # "" where no program ran
    device_kind: str = ""


class SuiteProcess(Row):
    """A process of the suite that did not end as it should, and the test that it was in."""

    worker: str  # "gw1"; "main" without pytest-xdist
    test: str
    what: str


class SuiteEntry(Row):
    """An entry of a list of known differences."""

    where: str  # "file:line" of the entry
    test: str  # globs; "" for all
    program: str
    metric: SuiteMetric
    reason: str
    issue: str


class SuiteKnown(SuiteEntry):
    """An entry of a list of known differences, and what became of it."""

    valid_until: str  # a date, or "jax 0.13"; "" without an end
    state: EntryState
    matched: int  # differences
    why: str = ""  # not judged, or fixed as far as one can tell: nothing has its name


class SuiteBaselineChange(Row):
    """A program whose state is not the one of the baseline."""

    program: str  # the key in the baseline
    accepted: str  # "" where the baseline has no entry
    found: str  # "" where the program did not run
    what_to_do: str


class SuiteRule(Row):
    """A rule of `--constparity-fail`, and the collected programs that broke it."""

    rule: str
    broken_by: tuple[str, ...]


class SuiteMeasured(Row):
    """What was measured after the tests: a campaign on the programs that were collected.

    With `problem` nothing was, and it says why.
    """

    programs: int
    rounds: int  # of times; 0 where no rule asks for them
    rules: tuple[SuiteRule, ...]
    problem: str = ""


class SuiteResult(Row):
    """One run of a test-suite in shadow mode, or with its programs proved (`mode`).

    `tests` counts the tests that ran at least one program, `compared_tests` those with one that was
    compared. `outside` names what was not shadowed beside single programs, in sentences. `known`
    and `baseline` say what lists of known differences and a baseline made of the differences.
    `for_nothing` counts the tests of a whole suite that passed where nothing was compared or
    proved; it is 0 where something was, and where a part of a suite ran.
    """

    kind: Literal["suite"] = "suite"
    schema_version: int = 1
    mode: str
    sees: Side
    versions: SuiteVersions
    tests: int
    compared_tests: int
    programs: tuple[SuiteProgram, ...]
    differences: tuple[SuiteDifference, ...]
    outside: tuple[str, ...] = ()
    lost: tuple[SuiteProcess, ...] = ()
    known: tuple[SuiteKnown, ...] = ()
    baseline: tuple[SuiteBaselineChange, ...] = ()
    measured: SuiteMeasured | None = None  # without rules
    for_nothing: int = 0

    @property
    def is_proof(self) -> bool:
        """Whether programs were proved, and not run twice and compared."""
        return self.mode == "prove"

    @property
    def broken(self) -> tuple[SuiteRule, ...]:
        """The rules that collected programs broke."""
        rules = self.measured.rules if self.measured else ()
        return tuple(each for each in rules if each.broken_by)

    @property
    def failing(self) -> tuple[SuiteDifference, ...]:
        """The differences that nobody has accepted, or no longer."""
        return tuple(each for each in self.differences if each.state != "known")

    @property
    def accepted(self) -> tuple[SuiteDifference, ...]:
        """The known differences."""
        return tuple(each for each in self.differences if each.state == "known")

    @property
    def fixed(self) -> tuple[SuiteKnown, ...]:
        """The entries of known differences that are to be deleted: nothing differs there."""
        return tuple(each for each in self.known if each.state == "fixed" and not each.why)

    @property
    def misspelt(self) -> tuple[SuiteKnown, ...]:
        """The entries of known differences that are to be fixed: nothing has their name."""
        return tuple(each for each in self.known if each.state == "fixed" and each.why)

    @property
    def fails(self) -> bool:
        """Whether the run is a failure, also where every test has passed."""
        unmeasured = self.measured is not None and self.measured.problem
        lists = self.fixed or self.misspelt or self.baseline
        anything = self.failing or self.lost or lists or self.broken or unmeasured
        return bool(anything or self.for_nothing)
