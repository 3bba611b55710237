"""The grid of the transform matrix: every cell is at parity, or says why it is not."""

import os

import pytest

from parity_tests import transform_matrix
from parity_tests.cli import matrix_grid
from parity_tests.observe.environment import describe
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from parity_tests.run.selection import Selection
from reports.rows import Campaign, Check, Observation, ProgramRow
from reports.rows.check_names import EXPORT

# Each construct under jit, whose cells have the other ways as well, and its derivative.
FEW = "grad or (jit and not of)"


def test_the_grid_is_at_parity_and_shows_what_is_not_tested():
    """Ours against each other; `constparity matrix` has all four sides.

    CONSTPARITY_WHOLE_CORPUS=1 runs all transformations, which takes three times as long.
    """
    is_whole = bool(os.environ.get("CONSTPARITY_WHOLE_CORPUS"))
    options = CampaignOptions(
        sides=("legacy", "simplified"),
        steady_calls=0,
        reload=True,
        select=Selection(expression="" if is_whole else FEW),
    )
    result = run.run([transform_matrix.__name__], options)
    assert {row.name: row.reasons for row in result.programs if row.verdict != "parity"} == {}
    grid = matrix_grid.grid(result)
    assert grid["scan"]["grad"].verdict == "parity"
    assert grid["while"]["grad"].text == "undefined"
    assert {row[way].verdict for row in grid.values() for way in matrix_grid.WAYS} == {"parity"}


def test_a_cell_that_nobody_ran_says_so():
    assert grid_of(row_of())["scan"]["jit"].verdict == "parity"
    assert grid_of(row_of())["scan"]["vmap"].text == "not tested"
    assert grid_of(row_of())["scan"]["export"].text == "not tested"


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
    assert grid_of(row_of(*observations))["scan"]["export"].text == outcome


def row_of(*observations):
    return ProgramRow(
        name="scan under jit", source="", summary="", verdict="parity", reasons=(),
        observations=observations, comparisons=(),
    )  # fmt: skip


def grid_of(row):
    result = Campaign(created="", environment=describe(), sides=(), programs=(row,))
    return matrix_grid.grid(result)
