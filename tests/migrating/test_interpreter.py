"""The interpreter of docs/use/migrating.md evaluates other programs than its own, in both forms."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import write_migrating as writer
from jax.extend.core import primitives


@pytest.fixture(scope="module")
def interpreter():
    _, _, head, _, fixed = writer.sources(writer.WHOLE)
    names = {}
    exec(f"{head}\n{fixed}", names)
    return names


TABLE = jnp.arange(1.0, 4.0)
MODELS = {
    "checkpoint": lambda x, sin: jax.checkpoint(lambda x: sin(x * TABLE) + x)(x),
    "vmap of cond": lambda x, sin: jax.vmap(
        lambda y: jax.lax.cond(y > 1, lambda y: sin(y) * TABLE, lambda y: y + TABLE, y)
    )(x),
    "scan in scan": lambda x, sin: jax.lax.scan(
        lambda c, y: (
            jax.lax.scan(lambda d, z: (d + sin(z * y), z * TABLE), c, x)[0],
            c + sin(TABLE),
        ),
        x,
        TABLE,
        reverse=True,
    ),
    "gradient": lambda x, sin: jax.grad(lambda x: (jax.jit(sin)(x) * TABLE).sum())(x),
    "custom derivative": lambda x, sin: jax.nn.relu(sin(x) - TABLE),
    "nothing captured": lambda x, sin: (x, sin(x), 2.0),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("is_on", [False, True])
def test_the_interpreter_evaluates_other_programs(interpreter, name, is_on):
    flag, x = "jax_use_simplified_jaxpr_constants", jnp.array([0.5, 1.5, 2.5])
    was_on = getattr(jax.config, flag)
    try:
        jax.config.update(flag, is_on)
        jaxpr = jax.make_jaxpr(lambda x: MODELS[name](x, jnp.sin))(x)
        rules = {primitives.sin_p: lambda x: jnp.sin(x) + 1}
        found = jax.jit(partial(interpreter["evaluate"], rules, jaxpr))(x)
    finally:
        jax.config.update(flag, was_on)
    model = jax.jit(MODELS[name], static_argnames="sin")
    expected = jax.tree.leaves(model(x, sin=rules[primitives.sin_p]))
    assert all(map(np.allclose, found, expected))
    unchanged = jax.tree.leaves(model(x, sin=jnp.sin))
    assert all(map(np.allclose, found, unchanged)) == (name == "gradient")  # of sin + 1


def test_the_interpreter_refuses_a_body_that_it_does_not_know(interpreter):
    mesh, all_of_it = jax.make_mesh((1,), ("i",)), jax.sharding.PartitionSpec()
    sharded = jax.shard_map(jnp.sin, mesh=mesh, in_specs=all_of_it, out_specs=all_of_it)
    with pytest.raises(NotImplementedError, match="shard_map"):
        interpreter["evaluate"]({primitives.sin_p: jnp.cos}, jax.make_jaxpr(sharded)(1.0), 1.0)
