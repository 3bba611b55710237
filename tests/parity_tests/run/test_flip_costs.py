"""Programs that cost more after a flip, run for real: each is named, its look-alikes are not."""

import re

import pytest
from program_files import line_with, program_file

from parity_tests.advice import advice
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.rows.headline import headline

PRICE, UNPROVED = "safe but slower or larger", "agrees here, not proved"


@pytest.fixture(scope="module")
def rows():
    options = CampaignOptions(sides=("jax-legacy", "jax-simplified"))
    result = run.run([str(program_file("trust/costs"))], options)
    return {row.name: row for row in result.programs}


def prices(row):
    return [each.what for each in row.flip.reasons if each.outcome == PRICE]


def test_a_call_whose_work_was_folded_is_slower_without_rounds(rows):
    row = rows["folded_call"]
    assert (row.verdict, row.flip.outcome) == ("parity", PRICE)
    [call] = [each for each in row.flip.reasons if each.what.startswith("each call takes ")]
    assert re.fullmatch(
        r"each call takes [\d,.]+x as long: XLA no longer folds `(cos|sin)` and 17 more; "
        r".* after .*; measured again .* after .* and .* after .*",
        call.what,
    )
    assert "costs.py:" in call.where
    assert call.action == advice("compute once")
    [hazard] = [each for each in prices(row) if each.startswith("folded by legacy alone: ")]
    assert hazard.endswith("at every call, about 13 million operations")


def test_the_largest_price_is_first_and_drift_is_last(rows):
    row = rows["closure"]
    reasons = [each for each in row.flip.reasons if each.outcome != "safe"]
    assert row.flip.outcome == PRICE
    assert [each.kind for each in (reasons[0], reasons[-1])] == ["time", "outputs"]
    assert re.fullmatch(
        r"closure: \S*costs.py:\d+ \([\d.]+ MiB of results\): each call takes [\d,.]+x as long: "
        r"XLA no longer folds `sin` and \d+ more → "
        r'engine\.jit\(f, constants="simplified", precompute_constants="auto"\) computes them '
        "once, .*",
        headline([rows[name] for name in ("gradient_through_a_loop", "closure")]).first,
    )


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("work_3_times", "tanh 1 before and 3 after"),
        ("work_10_times", "dot_general 1 before and 10 after"),
    ],
)
def test_work_that_no_captured_array_explains_is_named(rows, name, named):
    row = rows[name]
    assert (row.verdict, row.flip.outcome) == ("difference", UNPROVED)
    [work] = prices(row)
    assert work.startswith("the program computes more after the flip")
    assert named in work


def test_an_array_that_stays_inlined_is_named_with_its_line(rows):
    row = rows["inlined_by_its_lowering"]
    assert (row.verdict, row.flip.outcome) == ("difference", PRICE)
    [reason] = [each for each in row.flip.reasons if "still inlined" in each.what]
    assert reason.what.startswith("not hoisted and still inlined: 1 captured array of 256 B")
    line = line_with(program_file("trust/costs"), "if _flipped() else x * TABLE")
    assert reason.where.endswith(f"costs.py:{line} (float32[8,8])")


def test_work_that_xla_left_out_before_is_counted(rows):
    row = rows["a_branch_that_legacy_drops"]
    assert (row.verdict, row.flip.outcome) == ("parity", PRICE)
    [reason] = [each for each in row.flip.reasons if each.what.startswith("XLA counts ")]
    assert reason.what == (
        "XLA counts 25 million floating-point operations of a call after the flip and 0 before"
    )
    line = line_with(program_file("trust/costs"), "jnp.where(EVERYWHERE")
    assert reason.where.endswith(f"costs.py:{line}")


@pytest.mark.parametrize(
    "name",
    [
        "a_mask_that_is_an_argument",
        "same_work_on_the_argument",
        "gradient_through_a_loop",
        "inlined_by_its_lowering_in_both_forms",
    ],
)
def test_what_only_looks_like_a_price_is_none(rows, name):
    assert (rows[name].verdict, rows[name].flip.outcome) == ("parity", "safe")


def test_the_same_in_other_words_costs_nothing_and_is_not_proved(rows):
    row = rows["other_words"]
    assert (row.verdict, row.flip.outcome, prices(row)) == (UNPROVED, UNPROVED, [])
