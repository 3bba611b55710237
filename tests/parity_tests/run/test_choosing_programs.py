"""A campaign over some of the programs of a file: chosen, stopped early, on several processes."""

import pytest
from program_files import program_file

from parity_tests.evidence.saved import Saved
from parity_tests.run import run, self_comparison
from parity_tests.run.options import CampaignOptions
from parity_tests.run.selection import Selection

FILE = str(program_file("tagged_programs"))
STOCK = ("jax-legacy", "jax-simplified")


def options(**changes):
    return CampaignOptions(sides=STOCK, steady_calls=0, **changes)


@pytest.fixture(scope="module")
def stopped():
    """The file, stopped after the first program that differs, on one process."""
    return run.run(
        [FILE], options(processes=2), stops_after=lambda row: row.verdict == "difference"
    )


def test_the_programs_after_the_first_that_fails_are_not_run(stopped):
    rows = {row.name: row for row in stopped.programs}
    assert [rows[name].verdict for name in ("add_one", "add_two")] == ["parity", "difference"]
    # The last may have been done when the one before it was judged.
    assert {*rows, *stopped.not_run} == {"add_one", "add_two", "scan under grad"}
    assert not set(rows) & set(stopped.not_run)


def test_rows_have_the_tags_of_their_declaration(stopped):
    assert [row.tags for row in stopped.programs[:2]] == [("quick",), ("slow", "prng")]


def test_some_programs_on_more_processes_than_sides_and_rounds_are_announced():
    said = []
    result = run.run(
        [FILE],
        options(processes=4, rounds=1, select=Selection(expression="one or grad")),
        announce=said.append,
    )
    assert [row.name for row in result.programs] == ["add_one", "scan under grad"]
    assert result.verdict == "parity"
    [before, text] = said
    assert before == "1 round: a first pass will tell how long they take"
    assert text.startswith("1 round will take ")
    assert "run 2 times more, one process at a time" in text


def test_a_self_comparison_says_how_long_it_takes_after_the_first_run():
    said = []
    found = self_comparison.run(
        [FILE],
        CampaignOptions(sides=("jax-legacy",), select=Selection(tags=("quick",))),
        2,
        announce=said.append,
    )
    assert [row.name for row in found.campaign.programs] == ["add_one"]
    [text] = said
    assert text.startswith("a run took ")
    assert ": 1 more will take " in text


def test_a_run_that_stopped_is_saved_with_the_arrays_of_what_ran(tmp_path):
    targets = [f"{FILE}:{name}" for name in ("add_two", "add_one", "scan_under_grad")]
    saving = options(processes=2, save=tmp_path / "A.json")
    result = run.run(targets, saving, stops_after=lambda row: row.name == "add_two")
    again = Saved.read(tmp_path / "A.json")
    assert [row.name for row in again.campaign.programs] == [row.name for row in result.programs]
    [value] = again.evidence("add_two")["jax-simplified"].outputs
    assert float(value.array) == 5.0
