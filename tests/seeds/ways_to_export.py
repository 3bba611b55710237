"""The ways to export a function, for the tests of JAX's document on exporting.

`legacy` and `simplified` are plain exports of the two pipelines, which stock JAX reads; `hoisted`
keeps the constants beside the module.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import engine
from engine import export

WAYS = ("legacy", "simplified", "hoisted")
TABLE = jnp.linspace(0.5, 2.0, 16)
F32 = np.float32


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


@pytest.fixture
def exporting(way):
    """Return a function that exports: `exporting(fun, **options)(*args)`."""

    def exporting(fun, platforms=None, disabled_checks=(), **options):
        side = "legacy" if way == "legacy" else "simplified"
        return export.export(
            engine.jit(fun, constants=side, **options),
            platforms=platforms,
            disabled_checks=disabled_checks,
            hoist_constants=way == "hoisted",
        )

    return exporting


def rehydrated(exported, vjp_order=0):
    return export.deserialize(exported.serialize(vjp_order=vjp_order))


def equal(x, y):
    jax.tree.map(np.testing.assert_array_equal, x, y)


def spec(*shape, sharding=None, dtype=F32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)
