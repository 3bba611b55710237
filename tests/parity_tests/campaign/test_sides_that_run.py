"""A campaign under a JAX that the engine refuses: our own sides are refused or left out."""

import pytest

from parity_tests.campaign.options import CampaignOptions
from parity_tests.campaign.sides_that_run import OwnSidesError, with_sides_that_run
from reports.rows import SIDES

STOCK = ("jax-legacy", "jax-simplified")


def sides(options, version, announced=None):
    say = (lambda text: None) if announced is None else announced.append
    return with_sides_that_run(options, version, say).sides


def test_all_sides_run_under_a_jax_that_the_engine_knows():
    assert sides(CampaignOptions(), "0.10.2") == SIDES


def test_own_sides_are_refused_with_the_reason():
    with pytest.raises(OwnSidesError, match="cannot run legacy and simplified: constparity's"):
        sides(CampaignOptions(), "0.99.0")
    with pytest.raises(OwnSidesError, match=r"cannot run simplified: .*this is jax 0\.99\.0"):
        sides(CampaignOptions(sides=("simplified", "jax-simplified")), "0.99.0")


def test_own_sides_that_nobody_asked_for_are_left_out_and_announced():
    announced = []
    options = CampaignOptions(own_sides_may_miss=True)
    assert sides(options, "0.99.0", announced) == STOCK
    [said] = announced
    assert said.startswith("legacy and simplified are left out: constparity's engine")


def test_no_side_would_be_left():
    options = CampaignOptions(sides=("legacy", "simplified"), own_sides_may_miss=True)
    with pytest.raises(OwnSidesError, match="cannot run legacy and simplified"):
        sides(options, "0.99.0")


def test_stock_sides_run_under_any_jax():
    announced = []
    options = CampaignOptions(sides=STOCK)
    for version in ("0.8.0", "0.10.2", "0.99.0"):
        assert sides(options, version, announced) == STOCK
    assert announced == []
