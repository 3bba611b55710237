"""The lines of the summary, read as a person does."""

import pytest

from parity_tests.advice import advice
from parity_tests.suites.stock_runs.outcomes import have_one_reason, why_of
from parity_tests.suites.stock_runs.plugin import MOST_TESTS, summary_lines
from reports.documents.suite_runs import WHAT_HELPS
from reports.rows.suite_runs import SuiteComparison, SuiteOutcome, SuiteRuns, SuiteVersionChange

PASSED = SuiteOutcome(outcome="passed")


def failed(summary):
    return SuiteOutcome(outcome="failed", summary=summary)


def compared(test, legacy, simplified, interpreter="JAX 0.10.2"):
    return SuiteComparison(test=test, interpreter=interpreter, legacy=legacy, simplified=simplified)


def lines(**lists):
    runs = SuiteRuns(created="2026-01-01", arguments=(), tests=0, sides=(), **lists)
    return list(summary_lines(runs))


def test_differences_that_say_the_same_are_one_group():
    found = (
        compared("a", PASSED, failed("off by 3")),
        compared("b", failed("no consts"), PASSED),
        compared("c", PASSED, failed("off by 4.5e-3")),
    )
    assert lines(differences=found) == [
        "0 alike, 3 different",
        "",
        "different: 3",
        "  2 x jax-legacy passed | jax-simplified failed: off by 3 (JAX 0.10.2)"
        ", with the numbers of the first",
        "    a",
        "    c",
        "  1 x jax-legacy failed: no consts | jax-simplified passed (JAX 0.10.2)",
        "    b",
        WHAT_HELPS,
    ]


TEXT = """
test_it.py:4: in test_step
    step(x)
model.py:9: in step
    return update(weights)
E   ValueError: INVALID_ARGUMENT: {}
model.py:9: ValueError
.venv/lib/python3.11/site-packages/jax/api.py:3: ValueError
"""


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("Attempt to donate a buffer which is also used", "donated"),
        ("Disallowed host-to-device transfer", "on the device"),
        ("Received incompatible devices for jitted computation", "same devices"),
        ("Buffer has been deleted or donated.", "between calls"),
    ],
)
def test_a_test_that_fails_by_what_the_flip_does_is_told_what_helps(message, name):
    fails = SuiteOutcome(outcome="failed", summary="ValueError", text=TEXT.format(message))
    assert why_of(PASSED, fails) == ("model.py:9", advice(name))
    assert why_of(fails, PASSED) == ("", "")
    where, action = why_of(PASSED, fails)
    told = compared("a", PASSED, fails).model_copy(update={"where": where, "action": action})
    other = compared("b", PASSED, failed("assert 0"))
    assert lines(differences=(told,))[-3:] == [
        "  1 x jax-legacy passed | jax-simplified failed: ValueError (JAX 0.10.2)",
        f"    -> model.py:9: {advice(name)}",
        "    a",
    ]
    assert lines(differences=(told, other))[-1] == WHAT_HELPS


def test_what_nobody_knows_has_no_advice():
    fails = SuiteOutcome(outcome="failed", summary="assert 0", text=TEXT.format("no"))
    assert why_of(PASSED, fails) == ("model.py:9", "")


def test_failures_of_both_sides_say_why_once():
    found = tuple(compared(f"t{n}", failed("E"), failed("E")) for n in range(MOST_TESTS + 2))
    told = lines(fail_alike=found)
    assert told[2:4] == ["fails alike on both sides: 12", "  12 x failed: E (JAX 0.10.2)"]
    assert told[-1] == "    and 2 more"


def test_each_interpreter_has_its_groups():
    found = tuple(
        compared("t", PASSED, failed("E"), f"JAX {version}") for version in ("0.10.2", "0.12.0.1")
    )
    assert [line for line in lines(differences=found) if line.startswith("  1 x ")] == [
        "  1 x jax-legacy passed | jax-simplified failed: E (JAX 0.10.2)",
        "  1 x jax-legacy passed | jax-simplified failed: E (JAX 0.12.0.1)",
    ]


def test_interpreters_that_are_not_alike_are_named():
    change = SuiteVersionChange(
        test="t", interpreters=("JAX 0.10.2", "JAX 0.12.0.1"), outcomes=("passed", "failed")
    )
    assert lines(version_changes=(change,))[-2:] == [
        "  1 x passed on JAX 0.10.2, failed on JAX 0.12.0.1",
        "    t",
    ]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (("ValueError: 1.5e-3 at 0x7f01", ""), ("ValueError: 2 at 0x7f99", ""), True),
        (("OSError: /tmp/tmpab12cd_4/x", ""), ("OSError: /tmp/tmpzz12cd_9/x", ""), True),
        (("ValueError: a", ""), ("KeyError: a", ""), False),
        (("ValueError: a", ""), ("ValueError: b", ""), False),
        # Of a message of several lines the summary has the first.
        (
            ("AssertionError:", ">  f()\nE   x: [1, -2]"),
            ("AssertionError:", "E   x: [3,   4]"),
            True,
        ),
        (("AssertionError:", "E   Not equal"), ("AssertionError:", "E   Shapes differ"), False),
    ],
)
def test_a_reason_is_the_exception_and_its_message_numbers_aside(one, other, same):
    left, right = (SuiteOutcome(outcome="failed", summary=s, text=t) for s, t in (one, other))
    assert have_one_reason(left, right) is same
