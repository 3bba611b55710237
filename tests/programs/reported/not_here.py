"""Programs that a laptop cannot run: real shapes without values, and meshes of 256 devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

from parity_tests import program

TABLE = jnp.arange(4096.0 * 16).reshape(4096, 16).astype("bfloat16")
COMMITTED = jax.device_put(TABLE, jax.devices()[0])
COUNTS = np.zeros(16, np.float32)
# The default of axis types is not that of each version.
AUTO = AbstractMesh((16, 16), ("x", "y"), axis_types=(AxisType.Auto, AxisType.Auto))
EXPLICIT = AbstractMesh((16, 16), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Explicit))
OTHER = AbstractMesh((8,), ("x",), axis_types=(AxisType.Auto,))
ROWS, BLOCKS = PartitionSpec("x", None), PartitionSpec("x", "y")


def shape(sharding=None):
    return jax.ShapeDtypeStruct((32, 4096), "bfloat16", sharding=sharding)


@program
def shapes_of_a_model():
    weights = {"dense": jax.ShapeDtypeStruct((16, 64), "float32"), "bias": np.ones(64, np.float32)}
    return (lambda w, x: x @ TABLE @ w["dense"] + w["bias"]), (weights, shape())


@program(args=(shape(NamedSharding(AUTO, BLOCKS)),))
def sharded_argument(x):
    return x @ TABLE


@program(args=(shape(NamedSharding(EXPLICIT, ROWS)),))
def explicit_axes(x):
    return jnp.sin(x) @ TABLE


@program(args=lambda: (jnp.ones((32, 4096), "bfloat16"),))
def mapped(x):
    def of_block(block):
        return jax.lax.psum(block @ TABLE[: block.shape[1]], "y")

    over = {"mesh": AUTO, "in_specs": BLOCKS, "out_specs": ROWS}
    return jax.shard_map(of_block, **over)(x)


@program(args=lambda: (jnp.ones((32, 4096), "bfloat16"),))
def constrained(x):
    return jax.lax.with_sharding_constraint(x @ TABLE, NamedSharding(AUTO, ROWS))


@program(args=(shape(NamedSharding(AUTO, BLOCKS)),))
def captures_committed(x):
    return x @ COMMITTED


@program
def states_its_outputs():
    over = NamedSharding(AUTO, ROWS)
    jitted = jax.jit(lambda x: x @ COMMITTED, in_shardings=over, out_shardings=over)
    return jitted, (shape(),)


def count(value):
    COUNTS[0] += 1
    return value


@program(args=(jax.ShapeDtypeStruct((16,), "float32"),))
def writes_to_what_it_captures(x):
    return jax.pure_callback(count, x, x) * COUNTS


@program(args=lambda: (jax.ShapeDtypeStruct(jax.export.symbolic_shape("rows, 16"), "bfloat16"),))
def of_any_number_of_rows(x):
    last, _ = jax.lax.scan(lambda carry, row: (carry + row, ()), TABLE[0], x)
    return jnp.broadcast_to(TABLE[1], x.shape) * x + last


@program
def two_meshes():
    shapes = (shape(NamedSharding(AUTO, ROWS)), shape(NamedSharding(OTHER, ROWS)))
    return (lambda x, y: x @ TABLE + y @ TABLE), shapes
