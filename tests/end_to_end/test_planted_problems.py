"""Fifty programs with a planted problem of a flip are named, and fifty without raise no alarm."""

import pytest
from flipped import answer_and_exit, flipped
from program_files import program_file

from parity_tests.advice import advice

pytestmark = pytest.mark.deep

# By the first word of a program's name: the answer, the exit status, and the words of its reason.
EXPECTED = {
    "value": ("no", 1, "outputs are"),
    "type": ("no", 1, "output "),
    "fails": ("no", 1, "works on jax-legacy and fails on jax-simplified"),
    "effect": ("no", 1, "effects"),
    "later": ("no", 1, "call"),
    "leaves": ("yes, at a price", 0, "left"),
    "costs": ("yes, at a price", 0, ""),
    "reads": ("no", 1, "read"),
    "donated": ("no", 1, "Attempt to donate a buffer which is also used by the same call"),
    "magnifies": ("no", 1, "cause: constant folding"),
}


@pytest.fixture(scope="module")
def campaign():
    return flipped(*(program_file(f"trust/fifty_{kind}") for kind in ("problems", "without")))


def programs_of(campaign, file):
    found = [row for row in campaign.programs if file in row.source or file in row.target]
    assert len(found) == 50
    return found


def named(row):
    """What a program came to, and whether the right reason is among its reasons."""
    words = EXPECTED[row.name.partition("_")[0]][2]
    return any(words in reason.what for reason in row.flip.reasons if reason.outcome != "safe")


def test_each_planted_problem_is_named_with_its_reason_and_exit_status(campaign):
    rows = programs_of(campaign, "fifty_problems.py")
    found = {row.name: (*answer_and_exit(campaign, row), named(row)) for row in rows}
    expected = {row.name: (*EXPECTED[row.name.partition("_")[0]][:2], True) for row in rows}
    assert found == expected


def test_a_captured_array_that_is_donated_is_told_what_helps(campaign):
    rows = programs_of(campaign, "fifty_problems.py")
    rows = [row for row in rows if row.name.startswith("donated")]
    assert {row.flip.reasons[0].action for row in rows} == {advice("donated")}


def test_fifty_look_alikes_raise_no_alarm(campaign):
    rows = programs_of(campaign, "fifty_without.py")
    found = {row.name: answer_and_exit(campaign, row) for row in rows}
    assert found == {row.name: ("yes", 0) for row in rows}
