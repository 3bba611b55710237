"""The transform matrix: its cells are programs, and each of them is at parity."""

import jax
import numpy as np
import pytest

from parity_tests import targets
from parity_tests.campaign import run
from parity_tests.campaign.options import CampaignOptions
from parity_tests.corpus import transform_matrix
from parity_tests.observe.environment import describe
from reports.rows import Campaign, Check, Observation, ProgramRow
from reports.rows.check_names import EXPORT


def test_what_is_called_undefined_is_refused_by_jax():
    for construct, transform in transform_matrix.UNDEFINED:
        fun = transform_matrix.TRANSFORMS[transform](transform_matrix.CONSTRUCTS[construct])
        with pytest.raises((ValueError, TypeError)):
            jax.jit(fun)(np.ones(12, np.float32))


def test_every_other_cell_is_a_program():
    names = {each.name for each in targets.load([transform_matrix.__name__])}
    cells = {
        (construct, transform)
        for construct in transform_matrix.CONSTRUCTS
        for transform in transform_matrix.TRANSFORMS
    }
    assert names == {f"{c} under {t}" for c, t in cells - transform_matrix.UNDEFINED}


def test_the_grid_is_at_parity_and_shows_what_is_not_tested():
    """Ours against each other; `constparity matrix` has all four sides."""
    sides = ("legacy", "simplified")
    result = run.run(
        [transform_matrix.__name__],
        CampaignOptions(sides=sides, steady_calls=0, reload=True),
    )
    assert {row.name: row.reasons for row in result.programs if row.verdict != "parity"} == {}
    grid = transform_matrix.grid(result)
    assert grid["scan"]["grad"] == "parity"
    assert grid["while"]["grad"] == "undefined"
    assert {row[way] for row in grid.values() for way in transform_matrix.WAYS} == {"parity"}


def test_a_cell_that_nobody_ran_says_so():
    assert grid_of(row_of())["scan"]["jit"] == "parity"
    assert grid_of(row_of())["scan"]["vmap"] == "not tested"
    assert grid_of(row_of())["scan"]["export"] == "not tested"


@pytest.mark.parametrize(
    ("held", "outcome"),
    [((True, True), "parity"), ((True, False), "difference"), ((False, False), "refused")],
)
def test_a_way_is_what_its_check_came_to_on_all_sides(held, outcome):
    checks = [(Check(name=EXPORT, holds=each, statement=""),) for each in held]
    sides = ("legacy", "simplified")
    observations = [
        Observation(program="p", side=side, checks=each)
        for side, each in zip(sides, checks, strict=True)
    ]
    assert grid_of(row_of(*observations))["scan"]["export"] == outcome


def row_of(*observations):
    return ProgramRow(
        name="scan under jit", source="", summary="", verdict="parity", reasons=(),
        observations=observations, comparisons=(),
    )  # fmt: skip


def grid_of(row):
    result = Campaign(created="", environment=describe(), sides=(), programs=(row,))
    return transform_matrix.grid(result)
