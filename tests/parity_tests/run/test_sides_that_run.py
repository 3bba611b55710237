"""A campaign under a JAX that the engine refuses: our own sides are refused or left out."""

import pytest

from parity_tests.processes.protocol import Listing
from parity_tests.run.collection import Collected, SidesError, with_sides_that_run
from parity_tests.run.options import CampaignOptions
from reports.rows import SIDES
from tests.helpers.built_campaigns import ENVIRONMENT

STOCK = ("jax-legacy", "jax-simplified")


def sides(options, version, announced=None, *, has_flag=True):
    say = (lambda text: None) if announced is None else announced.append
    environment = ENVIRONMENT.model_copy(update={"jax": version})
    collected = Collected(Listing(environment=environment, has_flag=has_flag))
    return with_sides_that_run(options, collected, say).sides


def test_all_sides_run_under_a_jax_that_the_engine_knows():
    assert sides(CampaignOptions(), "0.10.2") == SIDES


def test_own_sides_are_refused_with_the_reason():
    with pytest.raises(SidesError, match="cannot run legacy and simplified: constparity's"):
        sides(CampaignOptions(), "0.99.0")
    with pytest.raises(SidesError, match=r"cannot run simplified: .*this is jax 0\.99\.0"):
        sides(CampaignOptions(sides=("simplified", "jax-simplified")), "0.99.0")


def test_own_sides_that_nobody_asked_for_are_left_out_and_announced():
    announced = []
    options = CampaignOptions(sides_may_miss=True)
    assert sides(options, "0.99.0", announced) == STOCK
    [said] = announced
    assert said.startswith("legacy and simplified are left out: constparity's engine")


def test_no_side_would_be_left():
    options = CampaignOptions(sides=("legacy", "simplified"), sides_may_miss=True)
    with pytest.raises(SidesError, match="cannot run legacy and simplified"):
        sides(options, "0.99.0")


def test_stock_sides_run_under_any_jax():
    announced = []
    options = CampaignOptions(sides=STOCK)
    for version in ("0.8.0", "0.10.2", "0.99.0"):
        assert sides(options, version, announced) == STOCK
    assert announced == []


def test_the_sides_that_can_run_are_named():
    with pytest.raises(SidesError, match=r"; jax-legacy and jax-simplified can run$"):
        sides(CampaignOptions(), "0.99.0")


def test_a_jax_without_the_flag_has_nothing_to_flip():
    announced = []
    options = CampaignOptions(sides_may_miss=True)
    found = sides(options, "0.10.2", announced, has_flag=False)
    assert found == ("legacy", "simplified", "jax-legacy")
    assert announced == ["jax-simplified is left out: jax 0.10.2 has no flag to be flipped"]
    with pytest.raises(SidesError, match=r"no flag to be flipped; jax-legacy can run"):
        sides(CampaignOptions(sides=STOCK), "0.6.2", has_flag=False)
    with pytest.raises(SidesError, match="cannot run legacy and simplified and jax-simplified"):
        sides(options, "0.6.2", has_flag=False)
