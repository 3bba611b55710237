"""Jaxprs that libraries keep in params of their primitives are no proof of a side."""

import pytest
from program_files import program_file

from parity_tests.advice import advice
from parity_tests.run import proving
from parity_tests.run import run as campaign
from parity_tests.run.options import PROVED_ON, CampaignOptions

FILE = program_file("reported/jaxprs_of_libraries")


@pytest.fixture(scope="module")
def rows():
    return {row.name: row for row in campaign.run([str(FILE)], CampaignOptions()).programs}


def test_both_are_proved():
    options = CampaignOptions(sides=PROVED_ON)
    proofs = proving.prove([str(FILE)], options)
    assert {each.name: each.answer for each in proofs.programs} == {
        "open_jaxpr": "proved",
        "deep_jaxpr": "proved",
    }


def test_an_open_jaxpr_over_tracers_is_compared(rows):
    row = rows["open_jaxpr"]
    assert (row.verdict, row.flip.outcome) == ("parity", "safe")


def test_an_array_that_jax_does_not_see_costs_a_copy_for_each_use(rows):
    flip = rows["deep_jaxpr"].flip
    assert flip.outcome == "safe but slower or larger"
    size = flip.reasons[0]
    assert (size.kind, size.action) == ("size", advice("pass as argument"))
    assert 1.9 < size.ratio < 2.1
