"""The engine's fixtures, for tests that cross modules; they are defined in `tests/helpers/`."""

import functools

import jax
import pytest
from engine_fixtures import arguments, side, table, uses_table_everywhere

import engine

__all__ = ["arguments", "side", "table", "uses_table_everywhere"]


@pytest.fixture(params=[*engine.SIDES, "stock"])
def jit(request):
    """Return the function of each side, and `jax.jit`, which checks what the tests expect."""
    if request.param == "stock":
        return jax.jit
    return functools.partial(engine.jit, constants=request.param)
