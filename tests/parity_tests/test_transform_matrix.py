"""The transform matrix: its cells are programs, and each of them is at parity."""

import jax
import numpy as np
import pytest

from parity_tests import campaign, targets, transform_matrix


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
    """Ours against each other and stock JAX in one mode; `constparity matrix` has all four."""
    sides = ("legacy", "simplified", "jax-legacy")
    result = campaign.run([transform_matrix.__name__], sides=sides, steady_calls=0)
    assert {row.name: row.reasons for row in result.programs if row.verdict != "parity"} == {}
    grid = transform_matrix.grid(result)
    assert grid["scan"]["grad"] == "parity"
    assert grid["while"]["grad"] == "undefined"
    assert {row["export"] for row in grid.values()} == {"not tested"}
