"""OTT: optimal transport to a captured cloud of points."""

import jax
import jax.numpy as jnp
import numpy as np
from ott.geometry import pointcloud
from ott.solvers import linear


def program():
    """Return the cost of transport and the cloud that moves; 4,000 points of 64 are captured."""
    rng = np.random.default_rng(0)
    target = jnp.array(rng.normal(size=(4_000, 64)), jnp.float32)

    def cost(cloud):
        geometry = pointcloud.PointCloud(cloud, target, epsilon=10.0)
        return linear.solve(geometry, max_iterations=20).reg_ot_cost

    return jax.jit(cost), (jnp.array(rng.normal(size=(500, 64)), jnp.float32),)
