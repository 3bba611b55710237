"""Campaigns over planted effects, later calls and options of a program's own jit."""

import pytest
from program_files import line_with, program_file

from parity_tests.advice import advice
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.rows import SIDES

EFFECTS, LATER, OWN = (
    program_file(f"trust/{name}") for name in ("effects", "later_calls", "own_jit")
)
SAFE, PRICE, DRIFT, DIFFERENT, UNPROVED = (
    "safe",
    "safe but slower or larger",
    "numerics drift, explained",
    "different",
    "agrees here, not proved",
)


@pytest.fixture(scope="module")
def rows():
    """The programs of effects, and of later calls, of which there are as many as are timed."""
    options = CampaignOptions(sides=("jax-legacy", "jax-simplified"), timeout=60.0, attribute=False)
    few = options.model_copy(update={"steady_calls": 0})
    files = ((EFFECTS, few), (LATER, options))
    return {row.name: row for file, how in files for row in run.run([str(file)], how).programs}


@pytest.fixture(scope="module")
def own():
    """The programs with a jit of their own on all sides."""
    options = CampaignOptions(sides=SIDES, timeout=60.0, steady_calls=3, attribute=False)
    return {row.name: row for row in run.run([str(OWN)], options).programs}


def place(file, text):
    return f"{file.name}:{line_with(file, text)}"


NOTE, OTHER, DOUBLED = (
    place(EFFECTS, f"def {name}(") for name in ("note", "note_other", "doubled")
)
ASKS = place(EFFECTS, "SIMPLIFIED = ")


@pytest.mark.parametrize(
    ("name", "flip", "said", "where"),
    [
        ("other_value", DIFFERENT, "is given other values: argument 0", NOTE),
        ("other_number_of_turns", DIFFERENT, "is called 3 times against 4 times", NOTE),
        ("other_function", DIFFERENT, "is called 1 time against 0 times", NOTE),
        ("other_order", DIFFERENT, "ordered effects are note_other", ""),
        ("other_order_of_values", DIFFERENT, "the first at [0]: 3.0 and 2.0", NOTE),
        ("other_text", DIFFERENT, '"loss 2.0" against "loss 3.0"', place(EFFECTS, "loss {}")),
        ("other_words", DIFFERENT, 'print "loss {}"', place(EFFECTS, "error {}")),
        ("other_tag", DIFFERENT, "with float32[], 'before'", NOTE),
        ("pure_of_other_value", DIFFERENT, "only one side gives it", DOUBLED),
        ("rounded_value", DRIFT, "that is rounding", NOTE),
        ("pure_more_often", PRICE, "is pure and is called 2 times against 3 times", DOUBLED),
    ],
)
def test_an_effect_that_a_flip_changes_is_named(rows, name, flip, said, where):
    row, differs = rows[name], flip == DIFFERENT
    # The programs ask which side they are on, so that their forms part.
    assert row.flip.outcome == (DIFFERENT if differs else UNPROVED)
    assert row.verdict == ("difference" if differs else UNPROVED)
    reason = next(each for each in row.flip.reasons if each.outcome == flip)
    assert said in reason.what
    assert where in (reason.what if differs else reason.where)
    assert row.flip.reasons[0].where.endswith(f"{ASKS} (jax_use_simplified_jaxpr_constants)")
    assert reason.action


@pytest.mark.parametrize(
    ("name", "flip", "said"),
    [
        (
            "wrong_the_fifth_time",
            DIFFERENT,
            "in value, call 5 of jax-simplified; no such call of jax-legacy",
        ),
        (
            "wrong_from_the_tenth_time_on",
            DIFFERENT,
            "in value, call 10 of jax-simplified",
        ),
        (
            "changes_at_another_call",
            DIFFERENT,
            "call 5 of jax-simplified",
        ),
        ("changes_to_another_value", DIFFERENT, "call 4 gives other values: 39 of 40"),
        ("leaves_arrays", PRICE, "calls left 1 array on devices"),
        ("leaves_host_memory", PRICE, "of host memory"),
    ],
)
def test_what_later_calls_do_is_compared(rows, name, flip, said):
    row = rows[name]
    assert (row.verdict, row.flip.outcome) == ("difference", UNPROVED if flip == PRICE else flip)
    # What slows calls as well, as growing does, costs more and comes before it.
    first = next(each for each in row.flip.reasons if each.kind not in ("time", "proof"))
    assert (first.outcome, said in first.what) == (flip, True)


@pytest.mark.parametrize(
    "name",
    [
        "same_effects",
        "leaves_arrays_on_both",
        "keeps_the_last_few",
        "returns_much",
    ],
)
def test_what_only_looks_like_it_is_safe(rows, name):
    row = rows[name]
    assert (row.verdict, row.reasons, row.flip.outcome) == ("parity", (), SAFE)


@pytest.mark.parametrize(
    "name", ["other_order_without_order", "counts_its_calls", "changes_alike", "counts"]
)
def test_effects_that_agree_in_these_calls_are_not_proved(rows, name):
    why = "its two forms part" if "order" in name else "a value of type builtins.range_iterator"
    row = rows[name]
    assert (row.verdict, row.reasons, row.flip.outcome) == (UNPROVED, (), UNPROVED)
    [reason] = [each for each in row.flip.reasons if each.outcome != SAFE]
    assert (reason.outcome, f"not proved: {why}" in reason.what) == (UNPROVED, True)


def test_an_observation_has_the_effects_of_one_call(rows):
    found = {each.kind: each for each in rows["same_effects"].observations[0].effects.found}
    printed, noted = found["debug_print"], found["debug_callback"]
    assert (printed.function, printed.text) == ("x is {} of {name}", ("x is 2.0 of weights",))
    assert (noted.function, noted.ordered, noted.calls) == ("note", True, 1)
    assert noted.types == ("float32[]", "float32[40]")
    assert set(noted.later) == {1}


@pytest.mark.parametrize(
    ("name", "use"),
    [("captured_and_donated", "STATE.sum()"), ("donated_and_kept_unread", "STATE * 2")],
)
def test_a_captured_array_that_is_donated_fails_as_the_hazard_says(own, name, use):
    row = own[name]
    failed = {each.side: each.failure.stage for each in row.observations if each.failure}
    assert failed == {"jax-simplified": "donating call"}
    assert row.flip.outcome == DIFFERENT
    [first, *_] = row.flip.reasons
    assert "Attempt to donate a buffer which is also used" in first.what
    assert f"own_jit.py:{line_with(OWN, use)}" in first.where
    assert first.action == advice("donated")


@pytest.mark.parametrize(
    "name",
    ["donated_alone", "donated_and_static", "static_first_and_last", "sharded", "plain"],
)
def test_own_options_are_kept_on_every_side(own, name):
    row = own[name]
    assert (row.verdict, row.reasons, row.flip.outcome) == ("parity", (), SAFE)
    assert len({each.outputs for each in row.observations}) == 1
    if name.startswith("donated"):
        assert all(each.memory.aliased > 0 for each in row.observations)
