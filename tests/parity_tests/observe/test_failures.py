"""A check that raises is not measured, or has failed where it asks whether something works."""

import sys

import pytest

from parity_tests.observe.failures import attempt
from reports.rows import Check

HOLDS = Check(name="a check", holds=True, statement="it holds")


def test_a_check_that_does_not_raise_says_what_it_found():
    assert attempt("a check", lambda: (HOLDS,)) == (HOLDS,)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (lambda: [].pop(), "it raised IndexError: pop from empty list"),
        (lambda: sys.exit(3), "it raised SystemExit: 3"),
        (lambda: next(iter(())), "it raised StopIteration"),
    ],
)
def test_a_check_that_raises_is_not_measured_unless_that_is_the_question(fault, said):
    [check] = attempt("a check", fault)
    assert (check.name, check.holds, check.measured, check.statement) == (
        "a check",
        True,
        False,
        said,
    )
    [check] = attempt("a check", fault, raised_fails=True)
    assert (check.holds, check.measured, check.statement) == (False, True, said)


def test_what_the_user_asks_to_end_ends():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt("a check", interrupted)
