"""Results of test-suites, built by hand: one with everything in it, and hostile texts."""

from __future__ import annotations

import math

from reports.rows import FlipReason, LeafComparison
from reports.rows.suite import (
    SuiteArray,
    SuiteBaselineChange,
    SuiteDifference,
    SuiteFailure,
    SuiteKnown,
    SuiteMeasured,
    SuiteProcess,
    SuiteProgram,
    SuiteResult,
    SuiteRule,
    SuiteVersions,
)

HOSTILE = (
    "<script>alert(1)</script> `a` | @jax #12 **b**\n# c\n</details>\x00\x1b[31m\u202e\ud800\ufffe"
    " ]]> <![CDATA[ &#0;"
)


def program(identity: str = "a", **changes) -> SuiteProgram:
    given = {
        "identity": identity, "name": "step", "source": "model.py:12", "equations": 3,
        "arguments": ("float32[4]",), "captured": 1, "captured_bytes": 16,
        "one_executable": False, "rung": "bitwise", "test": "test_model.py::test_step",
    }  # fmt: skip
    return SuiteProgram(**given | changes)


def array(line: int = 14, **changes) -> SuiteArray:
    given = {"file": "model.py", "line": line, "function": "step", "aval": "float32[4]"}
    return SuiteArray(**given | {"bytes": 16, "uses": 1} | changes)


def leaf(**changes) -> LeafComparison:
    given = {
        "path": "['loss']", "rung": "mismatch", "max_abs": 1.0, "max_rel": math.inf,
        "max_ulp": None, "mismatch_share": 1.0, "first_index": (0,), "passing_rtol": None,
    }  # fmt: skip
    return LeafComparison(**given | changes)


def reason(**changes) -> FlipReason:
    given = {
        "outcome": "different", "kind": "outputs", "where": "model.py:14",
        "what": "outputs are different in their values: mismatch at ['loss']",
        "action": "constparity culprit names the captured arrays that it takes",
    }  # fmt: skip
    return FlipReason(**given | changes)


def difference(identity: str = "a", **changes) -> SuiteDifference:
    given = {
        "test": "test_model.py::test_step", "phase": "call", "program": identity, "name": "step",
        "source": "model.py:12", "left": "legacy", "right": "simplified", "leaf": leaf(),
        "left_value": "1.0", "right_value": "2.0", "captured": (array(),), "reasons": (reason(),),
    }  # fmt: skip
    return SuiteDifference(**given | changes)


def failure(identity: str = "b", **changes) -> SuiteDifference:
    sides = (("legacy", ""), ("simplified", "ValueError: no"))
    failures = tuple(SuiteFailure(side=side, error=error) for side, error in sides)
    return difference(identity, leaf=None, failures=failures, **changes)


def of_stock(identity: str = "e", **changes) -> SuiteDifference:
    """A program that works on both pipelines, and that the flip of stock JAX breaks."""
    hazard = reason(kind="hazard", subject="captured and donated", what="captured and donated: no",
                    action="capture a copy")  # fmt: skip
    given = {"left": "jax-legacy", "right": "jax-simplified", "leaf": None, "left_value": "",
             "right_value": "", "reasons": (hazard,)}  # fmt: skip
    return difference(identity, **given | changes)


def entry(**changes) -> SuiteKnown:
    given = {
        "where": "known.toml:3", "test": "", "program": "step", "metric": "outputs",
        "reason": "a sum in another order", "issue": "#7", "valid_until": "2027-01-31",
        "state": "known", "matched": 1,
    }  # fmt: skip
    return SuiteKnown(**given | changes)


def result(*programs: SuiteProgram, **changes) -> SuiteResult:
    versions = SuiteVersions(
        constparity="0.1.0", jax="0.10.2", jaxlib="0.10.2", numpy="2.4.0", python="3.12.1",
        backend="cpu", device_kind="cpu",
    )  # fmt: skip
    given = {
        "mode": "both", "sees": "legacy", "versions": versions, "tests": 3, "compared_tests": 2,
        "programs": programs, "differences": (),
    }  # fmt: skip
    return SuiteResult(**given | changes)


def rich() -> SuiteResult:
    """A result with every kind of row in it, and hostile text wherever a user's text can stand."""
    return result(
        program("a", rung="mismatch"),
        program("b", name="loss", rung=None, not_compared=("it has effects: Debug",)),
        program("c", name=HOSTILE, source=f"{HOSTILE}:3", arguments=(HOSTILE,)),
        program("e", name="donates"),
        program("d", one_executable=True, captured=0, captured_bytes=0),
        differences=(
            difference("a"),
            difference("a", test="test_model.py::test_other"),
            failure("b", state="known", because="#7"),
            of_stock("e", name="donates"),
            difference(
                "c", name=HOSTILE, source=f"{HOSTILE}:3", test=HOSTILE, left_value=HOSTILE,
                right_value=HOSTILE, leaf=leaf(path=HOSTILE, note=HOSTILE), state="expired",
                because=HOSTILE, reasons=(reason(what=HOSTILE, where=HOSTILE, action=HOSTILE),),
                captured=(array(file=f"{HOSTILE}.py", function=HOSTILE, aval=HOSTILE),),
            ),
        ),
        outside=(HOSTILE,),
        lost=(SuiteProcess(worker="gw1", test=HOSTILE, what=HOSTILE),),
        known=(
            entry(),
            entry(where="known.toml:9", state="fixed", matched=0),
            entry(where=f"{HOSTILE}:9", reason=HOSTILE, program=HOSTILE, state="expired"),
            entry(state="not judged", matched=0, why="none of its tests ran"),
        ),
        measured=SuiteMeasured(
            programs=2, rounds=5,
            rules=(SuiteRule(rule="slower:20%", broken_by=(HOSTILE,)),
                   SuiteRule(rule="different", broken_by=())),
        ),
        baseline=(
            SuiteBaselineChange(program=HOSTILE, accepted="ulp", found="mismatch", what_to_do="x"),
        ),
    )  # fmt: skip


def large(count: int) -> SuiteResult:
    """A result whose programs all differ, each with long texts."""
    programs = [program(str(number), name=f"step_{number}_" + "x" * 300) for number in range(count)]
    return result(
        *programs,
        differences=tuple(
            difference(
                each.identity, name=each.name, test="t" * 400,
                captured=tuple(array(line, function="f" * 300) for line in range(1, 30)),
            )
            for each in programs
        ),
        outside=tuple(f"{number} {'o' * 600}" for number in range(count)),
        known=tuple(entry(reason="r" * 600, state="fixed") for _ in range(count)),
    )  # fmt: skip
