"""The records of a test-suite that ran on both sides of stock JAX, compared test by test."""

from __future__ import annotations

from typing import Literal

from reports.rows.row import Row

StockSide = Literal["jax-legacy", "jax-simplified"]
STOCK_SIDES: tuple[StockSide, ...] = ("jax-legacy", "jax-simplified")
# What JAX's flag is in the environment that a side starts with.
VARIABLES: dict[StockSide, str] = {"jax-legacy": "0", "jax-simplified": "1"}


class SuiteSide(Row):
    """The processes of one side: versions and the flag as they said themselves.

    `flag_at_start` and `flag_at_end` are JAX's own value of the flag when it was first and last
    read, None where nothing imported JAX. `variable` is the flag in their environment, and where it
    was another one than that of the side, that. `ending` says why the last process ended before its
    session did, or otherwise than its tests come to; "" where it did not. `counts` has the tests by
    outcome.
    """

    side: StockSide
    interpreter: str  # the version of JAX, and the path where two have the same version
    executable: str
    python: str
    pytest: str
    jax: str
    jaxlib: str
    variable: str | None
    flag_at_start: bool | None
    flag_at_end: bool | None
    counts: dict[str, int]
    seconds: float
    starts: int
    ending: str

    @property
    def is_proven(self) -> bool:
        """Whether JAX itself said at the end that it ran on this side."""
        return self.flag_at_end is (self.side == "jax-simplified")

    @property
    def doubt(self) -> str:
        """Why JAX's flag may not have been that of the side; "" where it was, or was not read."""
        if self.is_pinned:
            seen = f"{self.flag_at_start} when it was first read"
            if self.flag_at_start is None:
                seen = f"{self.variable or 'unset'} in the environment of what its tests start"
            return f"{seen}: a conftest.py or a plugin sets it, so nothing is compared"
        if self.flag_at_end is None or self.is_proven:
            return ""
        return f"{self.flag_at_end} at the end: a test has changed it"

    @property
    def is_pinned(self) -> bool:
        """Whether its flag was that of the other side from the first on."""
        if self.flag_at_start is None:
            return self.variable not in (None, VARIABLES[self.side])
        return self.flag_at_start is (self.side == "jax-legacy")


class SuiteOutcome(Row):
    """What became of a test on one side.

    `outcome` is a word of pytest, "error at setup", "error at teardown", "crashed", "hung",
    "not collected", "not run" or, where the test itself passed, "1 subtest skipped". `summary` is
    the line that tells why, `text` all that is known. `subtests` are those that passed.
    """

    outcome: str
    summary: str = ""
    text: str = ""
    subtests: int = 0

    @property
    def word(self) -> str:
        """The outcome with its subtests, as in "passed (subtests: 2)"."""
        return f"{self.outcome} (subtests: {self.subtests})" if self.subtests else self.outcome

    def __str__(self) -> str:
        return f"{self.word}: {self.summary}" if self.summary else self.word


class SuiteComparison(Row):
    """One test on both sides of an interpreter, where there is something to say.

    `again` are the outcomes of the second run, on legacy and on simplified; None where it was not
    run again. `where` is the line that raised where simplified fails alone, `action` what helps; ""
    where they are not known. `sets_flag` says that a side had the flag of the other meanwhile.
    """

    test: str
    interpreter: str
    legacy: SuiteOutcome
    simplified: SuiteOutcome
    again: tuple[str, str] | None = None
    where: str = ""
    action: str = ""
    sets_flag: bool = False


class SuiteVersionChange(Row):
    """A test whose two sides are alike in each interpreter, and whose interpreters are not."""

    test: str
    interpreters: tuple[str, ...]
    outcomes: tuple[str, ...]

    def __str__(self) -> str:
        pairs = zip(self.outcomes, self.interpreters, strict=True)
        return ", ".join(f"{outcome} on {name}" for outcome, name in pairs)


class SuiteRuns(Row):
    """A suite on stock JAX: every test is in `alike`, or in the list that its outcome belongs to.

    `alike` counts pairs of a test and an interpreter that has it. `differences` were seen twice;
    `not_repeatable` once. `know_the_flag` are skipped on one side, for the value of JAX's flag, and
    do not fail on the other. `fail_otherwise` fail on both sides, with another exception or another
    message, numbers aside; `fail_alike` with the same. `not_compared` did not run on a side.
    `set_the_flag` are alike, and a fixture or the test has set JAX's flag: one side ran twice.
    `left_out` counts the tests that were not reported, for the run was stopped by Ctrl-C or `-x`.

    Example::

        reports.load_result("suite.json").differences
    """

    kind: Literal["suite-runs"] = "suite-runs"
    schema_version: int = 1
    created: str  # ISO 8601, UTC
    arguments: tuple[str, ...]
    tests: int
    sides: tuple[SuiteSide, ...]
    left_out: int = 0
    alike: int = 0
    set_the_flag: tuple[SuiteComparison, ...] = ()
    differences: tuple[SuiteComparison, ...] = ()
    not_repeatable: tuple[SuiteComparison, ...] = ()
    know_the_flag: tuple[SuiteComparison, ...] = ()
    fail_otherwise: tuple[SuiteComparison, ...] = ()
    fail_alike: tuple[SuiteComparison, ...] = ()
    not_compared: tuple[SuiteComparison, ...] = ()
    version_changes: tuple[SuiteVersionChange, ...] = ()

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the sides are not known to be alike, whatever the outcomes of their tests."""
        found = [f"{each.side} ran with the other flag" for each in self.sides if each.is_pinned]
        endings: dict[str, set[str]] = {}
        for side in self.sides:
            endings.setdefault(side.interpreter, set()).add(side.ending)
        # Tests that differ, or did not run, explain their end.
        explained = {each.interpreter for each in (*self.differences, *self.not_compared)}
        unlike = [name for name, each in endings.items() if len(each) > 1 and name not in explained]
        found += [f"the processes of both sides end otherwise ({name})" for name in unlike]
        if self.tests and len(self.set_the_flag) == self.tests * len(endings):
            found.append("every test sets JAX's flag, so nothing was compared")
        return tuple(found)
