"""A campaign over some of the programs of a file: chosen, stopped early, on several processes."""

import pytest
from program_files import program_file

from parity_tests.campaign import run, self_comparison
from parity_tests.campaign.options import CampaignOptions
from parity_tests.campaign.selection import Selection

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
    # It may have been under way on one side; then it is left out as well.
    last = rows["scan under grad"]
    assert last.reasons == ("the run stopped after add_two",) or last.verdict == "parity"


def test_rows_have_the_tags_of_their_declaration(stopped):
    assert [row.tags for row in stopped.programs] == [("quick",), ("slow", "prng"), ()]


def test_some_programs_on_more_processes_than_sides_and_rounds_are_announced():
    said = []
    result = run.run(
        [FILE],
        options(processes=4, rounds=1, select=Selection(expression="one or grad")),
        announce=said.append,
    )
    assert [row.name for row in result.programs] == ["add_one", "scan under grad"]
    assert result.verdict == "parity"
    [text] = said
    assert text.startswith("1 round will take ")
    assert "run 2 times more, one process at a time" in text


def test_the_first_run_of_a_self_comparison_says_how_long_the_others_take():
    said = []
    found = self_comparison.run(
        [FILE],
        side="jax-legacy",
        runs=2,
        timeout=60,
        select=Selection(tags=("quick",)),
        announce=said.append,
    )
    assert [row.name for row in found.campaign.programs] == ["add_one"]
    [text] = said
    assert text.startswith("a run took ")
    assert ": 1 more will take " in text
