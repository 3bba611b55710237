"""The tester makes no program unrepeatable that repeats itself."""

import pytest
from program_files import program_file

from parity_tests.run import run
from parity_tests.run.options import CampaignOptions

DRAWN = program_file("reported/drawn_from_the_module")


NAMES = (
    "keeps_a_state", "of_a_generator", "of_a_generator_again", "of_numpy", "of_numpy_again",
    "of_a_count", "of_a_count_again", "of_arguments", "of_arguments_again",
)  # fmt: skip


@pytest.mark.parametrize("sides", [("legacy", "jax-legacy"), ("jax-legacy", "jax-simplified")])
def test_factories_that_draw_from_one_generator_are_built_equally_often_on_all_sides(sides):
    """With times, the hazards are looked for on one side, by one trace more of every program."""
    options = CampaignOptions(sides=sides, steady_calls=1, timeout=60.0, attribute=False)
    campaign = run.run([str(DRAWN)], options)
    assert {row.name: row.verdict for row in campaign.programs} == dict.fromkeys(NAMES, "parity")
