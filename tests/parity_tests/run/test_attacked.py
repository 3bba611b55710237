"""Programs that were named wrongly once are told what decides, and which line to look at."""

import pytest
from program_files import line_with, program_file

from parity_tests.run import run
from parity_tests.run.options import CampaignOptions

FILE = program_file("trust/attacked")
NAME = "tests/programs/trust/attacked.py"
READ = f"{NAME}:{line_with(FILE, '# reads the flag')}"


@pytest.fixture(scope="module")
def rows():
    options = CampaignOptions(sides=("jax-legacy", "jax-simplified"), timeout=60.0, steady_calls=8)
    return {row.name: row for row in run.run([str(FILE)], options).programs}


@pytest.mark.parametrize("name", ["another_tree"])
def test_the_read_is_the_cause_where_only_the_tree_of_the_results_differs(rows, name):
    reason, *prices = rows[name].flip.reasons
    assert not [each for each in prices if each.outcome == "different"]  # a busy machine has times
    assert (reason.outcome, reason.where.split(" (")[0]) == ("different", READ)
    assert reason.action.startswith("do not read the flag")


def test_a_constant_that_a_scatter_adds_makes_another_program(rows):
    [read] = [each for each in rows["value_of_a_scatter"].hazards if each.kind == "reads the flag"]
    assert read.changes_program


def test_a_read_that_decides_a_time_is_named_and_not_called_harmless(rows):
    flip = rows["slow_trace"].flip
    assert flip.outcome == "safe but slower or larger"
    action = f"no captured array is hoisted: find out what the read at {READ} decides"
    assert [each.action for each in flip.reasons if each.outcome != "safe"] == [action]
    assert "nothing" not in [each.action for each in flip.reasons]


def test_an_exception_in_a_callback_is_named_with_its_own_line(rows):
    reason = rows["fails_in_a_callback"].flip.reasons[0]
    assert reason.where == f"{NAME}:{line_with(FILE, '# raises in a callback')}"
    assert "KeyError: 'at call', in a callback" in reason.what


@pytest.mark.parametrize("name", ["fails_in_a_callback", "fails_in_lowering"])
def test_no_culprit_is_looked_for_where_nothing_is_captured(rows, name):
    flip = rows[name].flip
    assert flip.outcome == "different"
    assert not any("culprit" in each.action for each in flip.reasons)


def test_a_captured_array_that_is_written_to_is_named(rows):
    flip = rows["writes_to_what_it_captured"].flip
    assert flip.outcome == "different"
    assert "the program writes to it" in flip.reasons[0].what
    assert not any("culprit" in each.action for each in flip.reasons)
    line = f"{NAME}:{line_with(FILE, '# captures what is written')}"
    written = [each for each in flip.reasons if "the program writes to it" in each.what]
    assert all(each.where.startswith(line) for each in written)
    assert written[0].action.startswith("capture a copy")


def test_a_change_that_only_our_check_brings_about_spares_the_next_program(rows):
    observed = {each.side: each.changed_process for each in rows["sets_a_variable"].observations}
    did = "sets the environment variable ATTACKED_FACTOR"
    assert observed == {
        "jax-legacy": (f"the program, traced in simplified form, {did}",),
        "jax-simplified": (f"the program {did}",),
    }
    after = rows["after_sets_a_variable"]
    assert (after.verdict, after.flip.outcome) == ("parity", "safe")
