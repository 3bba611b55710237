"""Programs that are not one jitted function, whose Python does something between calls.

The expected outcomes are those of stock JAX, which called each program four times as it is written,
in a process for each mode.
"""

import pytest
from program_files import program_file

from parity_tests.advice import advice
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.rows.check_names import AS_WRITTEN


@pytest.fixture(scope="module")
def rows():
    sides = ("jax-legacy", "jax-simplified")
    options = CampaignOptions(sides=sides, timeout=60.0, attribute=False, steady_calls=0)
    programs = run.run([str(program_file("reported/as_written"))], options).programs
    return {row.name: row for row in programs}


@pytest.mark.parametrize(
    ("name", "said", "action"),
    [
        ("writes_between_calls", "call 2 gives other values", "capture a copy"),
        ("written_after_a_warm_up", "call 1 gives other values", "capture a copy"),
        ("donates_what_another_captured", "call 2 works on jax-legacy and fails", "between calls"),
        ("hands_an_alias_to_a_donating_jit", "call 1 works on jax-legacy and fails", "donated"),
        ("prints_what_it_has_written", "call 2 has other effects", "capture a copy"),
        ("writes_less_than_a_rounding", "call 2 is another than call 1", "capture a copy"),
        ("pmapped_and_written", "call 2 gives other values", "capture a copy"),
        ("holds_a_guard", "call 1 works on jax-legacy and fails", "on the device"),
    ],
)
def test_what_python_does_around_a_jit_breaks_after_the_flip(rows, name, said, action):
    row = rows[name]
    first = row.flip.reasons[0]
    assert (row.flip.outcome, first.action) == ("different", advice(action))
    assert first.what.startswith(f"as it is written, {said}")


@pytest.mark.parametrize(
    "name",
    [
        "writes_where_memory_may_be_shared",
        "writes_into_what_an_inlined_jit_captured",
        "writes_into_an_array_that_came_later",
    ],
)
def test_a_write_that_was_seen_is_never_safe(rows, name):
    """Equal results of one run say nothing: the next one may have the array in shared memory."""
    row = rows[name]
    actions = {each.action for each in row.flip.reasons if each.outcome == "different"}
    assert actions == {advice("capture a copy")}


def test_a_write_after_a_warm_up_is_told_where_both_forms_give_the_same(rows):
    row = rows["written_after_a_warm_up_in_memory_that_is_copied"]
    first = row.flip.reasons[0]
    assert (row.flip.outcome, first.action) == ("different", advice("capture a copy"))
    assert first.what.startswith("NumPy array float32[64]: written to since JAX lowered the ")
    assert first.where.endswith("(NumPy array float32[64])")
    [legacy] = [each.failure for each in row.observations if each.failure]
    assert (legacy.kind, legacy.stage) == ("written to", "count")


@pytest.mark.parametrize(
    "name",
    [
        "puts_its_result_somewhere",
        "counts_its_calls",
        "donates_its_argument",
        "fills_a_buffer_that_it_passes",
        "sets_another_array",
        "writes_into_an_array_that_is_copied",
    ],
)
def test_a_program_that_does_the_same_as_it_is_written_is_safe(rows, name):
    row = rows[name]
    assert (row.verdict, row.flip.outcome) == ("parity", "safe")
    [calls] = [each for each in row.comparisons if each.metric == AS_WRITTEN]
    assert (calls.outcome, calls.detail) == ("equal", "4 calls alike")


def test_a_write_into_what_is_captured_anew_is_not_known(rows):
    flip = rows["writes_and_traces_anew"].flip
    assert (flip.outcome, flip.reasons[0].action) == ("could not compare", advice("capture a copy"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("works_once", "call 2 fails in both forms: RuntimeError: Array has been deleted"),
        ("alternates_the_width", "call 2 fails in both forms: ValueError: Cannot lower jaxpr"),
        ("names_an_object_when_it_fails", "call 3 fails in both forms: RuntimeError: closed: <"),
    ],
)
def test_what_fails_alike_in_both_forms_is_said_and_safe(rows, name, said):
    row = rows[name]
    [fails] = [each for each in row.flip.reasons if each.kind == "failure"]
    assert (row.verdict, row.flip.outcome, fails.action) == (
        "parity",
        "safe",
        advice("fails today"),
    )
    assert fails.what.startswith(f"as it is written, {said}")


@pytest.mark.parametrize(
    "name", ["donates_what_it_is_passed_twice", "donates_what_an_alias_passes_too"]
)
def test_an_argument_that_is_donated_and_passed_again_fails_in_both_forms(rows, name):
    row = rows[name]
    fails = row.flip.reasons[0]
    assert (row.verdict, row.flip.outcome, fails.action) == (
        "parity",
        "could not compare",
        advice("fails today"),
    )
    assert fails.what.startswith("as it is written, call 1 fails in both forms: jax.errors.JaxRun")
    assert rows["is_passed_an_array_twice_and_donates_another"].flip.outcome == "safe"


def test_a_failure_in_and_outside_of_a_trace_is_one_whatever_object_its_message_names(rows):
    [first] = rows["fails_with_an_object_in_its_message"].flip.reasons
    assert first.what.startswith("jax-legacy fails today, alike: exception in trace: RuntimeError")


@pytest.mark.parametrize("name", ["gives_a_number", "gives_an_object"])
def test_a_program_that_no_jit_takes_is_called_all_the_same(rows, name):
    row = rows[name]
    assert row.flip.outcome == "could not compare"
    assert row.flip.reasons[0].what.startswith(
        "what it costs is not known: as it is written it runs, 4 calls alike on both sides"
    )


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("calibrates_once_by_a_set", "CALIBRATED"),
        ("calibrates_once_by_an_attribute", "STATUS"),
        ("calibrates_once_by_the_environment", "$CALIBRATED_WEIGHTS"),
    ],
)
def test_what_happens_once_in_a_process_is_not_called_again(rows, name, kept):
    first = rows[name].flip.reasons[0]
    assert (rows[name].flip.outcome, first.action) == ("could not compare", advice("own state"))
    assert f"its trace has changed {kept}, which it keeps outside" in first.what


def test_a_program_that_does_not_repeat_itself_as_it_is_written_blames_nobody(rows):
    flip = rows["draws_at_each_call"].flip
    assert flip.outcome == "not repeatable", flip.reasons
