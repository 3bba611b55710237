"""A closure that legacy compiles for long: the price first, and no compile that changes nothing."""

import io
import re

import pytest
from program_files import program_file
from rich.console import Console

from parity_tests.advice import advice
from parity_tests.cli import run_view
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.rows import observation

STOCK = ("jax-legacy", "jax-simplified")


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def campaign(told):
    """Anything compiles for long here, since nobody waits for half a minute in a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(observation, "LONG_STAGING", 0.0)
        return run.run(
            [str(program_file("reported/large_closure"))],
            CampaignOptions(sides=STOCK, timeout=60.0, steady_calls=0, attribute=True),
            progress=lambda *step: told.append(step[2]),
        )


def test_the_first_lines_have_the_price_what_helps_and_the_gains(campaign):
    console = Console(file=io.StringIO(), width=140)
    run_view.print_campaign(console, campaign)
    answer, first, _, proof, gains, *_ = console.file.getvalue().splitlines()
    price = r"folded by legacy alone: \d equations on captured arrays alone"
    assert answer.startswith("flip: yes, at a price. ")
    assert re.match(rf"first: score: \S+:\d+ \([\d.]+ KiB of results\): {price} ", first)
    assert first.endswith(advice("compute once"))
    assert proof.startswith("proof: 1 of 1 programs proved one computation")
    assert re.match(r"the flip gains: .*StableHLO [\d.]+ MiB to [\d.]+ KiB in score$", gains)


def test_the_program_compiles_as_before_on_each_side_once(campaign, told):
    """What it is attributed to is seen by runs without folding, which compile in no time."""
    [row] = campaign.programs
    [drift] = row.drift
    assert (drift.cause, drift.equation, drift.out_of_time) == ("constant folding", "", False)
    assert "; no equation is named, for to compile as before takes " in drift.evidence
    runs = told[told.index("judging score") + 1 :]
    assert runs[:2] == [
        "attributing the drift of score, at most 60 s",
        "attributing the drift of score: constant folding off, on jax-legacy",
    ]
    assert not [each for each in runs if "as it was" in each or "result" in each]
