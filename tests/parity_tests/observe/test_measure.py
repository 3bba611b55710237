"""Measuring a program on a side of ours: every check of that side holds."""

import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests.observe import measure
from parity_tests.program import from_function, program


@pytest.mark.parametrize("side", ["legacy", "simplified"])
def test_our_sides_hold_every_check(side):
    table, array = jnp.arange(20.0), np.arange(20, dtype=np.float32)
    marked = from_function(program(args=(1.0,))(lambda x: x * table + array), "here:fun")
    observation = measure.measure(marked, side).observation
    assert observation.failure is None, observation.failure
    assert [each for each in observation.checks if not each.holds] == []
    names = {each.name for each in observation.checks}
    assert names >= {"calls agree", "recompiles", "dispatch in C++", "writes into captured arrays"}
    assert ("flag flips" in names) == (side == "legacy")
    assert ("const arg buffers" in names) == (side == "simplified")
