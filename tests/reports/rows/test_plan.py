"""Each row comes to one state, whichever sides differ."""

import pytest

from reports.rows import Comparison
from reports.rows.plan import state_of
from tests.helpers.quick_tasks import row

UNPROVED = "agrees here, not proved"


def differing(left, right):
    return Comparison(
        metric="outputs", left=left, right=right, outcome="different", left_value="1",
        right_value="2",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "safe"),
        ({"flip": "numerics drift, explained"}, "at a price"),
        ({"flip": "placed otherwise"}, "placed otherwise"),
        ({"flip": "different"}, "breaks"),
        ({"flip": "could not compare"}, "could not compare"),
        ({"flip": "not repeatable"}, "not repeatable"),
        ({"verdict": "not repeatable"}, "not repeatable"),
        ({"flip": UNPROVED, "verdict": UNPROVED}, UNPROVED),
        ({"flip": "could not compare", "proved_only": True}, "proved"),
        ({"flip": "placed otherwise", "proved_only": True}, "placed otherwise"),
        ({"observations": ()}, "unavailable"),
        ({"pair": ("simplified", "jax-simplified")}, "disagree"),
        # What our two sides do alike with stock JAX's two is the flip's.
        ({"pair": ("legacy", "simplified"), "flip": "different"}, "breaks"),
    ],
)
def test_a_row_is_in_the_state_that_is_worst(changes, state):
    flip, pair = changes.pop("flip", "safe"), changes.pop("pair", None)
    if pair:
        changes |= {"comparisons": (differing(*pair),), "verdict": "difference"}
    found = row("step", flip).model_copy(update=changes)
    assert state_of(found, differs_from_itself="", is_refused=False) == state
    assert state_of(found, differs_from_itself="", is_refused=True) == "refused"


@pytest.mark.parametrize(
    ("flip", "apart", "state"),
    [
        ("safe", "outputs: bits against bits", "not repeatable"),
        ("safe", "const args: 1 against 2", "not repeatable"),
        ("different", "outputs: bits against bits", "not repeatable"),
        ("different", "const args: 1 against 2; outputs: bits against bits", "not repeatable"),
        ("different", "ValueError in call, then no failure", "not repeatable"),
        # A figure that varies explains no outputs that are apart.
        ("different", "const args: 1 against 2; output bytes: 8 against 16", "breaks"),
    ],
)
def test_what_differs_from_itself_in_figures_alone_breaks_no_less(flip, apart, state):
    assert state_of(row("step", flip), differs_from_itself=apart, is_refused=False) == state
