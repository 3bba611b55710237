"""The transform matrix: one captured array in each construct, under each transformation.

Every cell is a program, so `constparity run parity_tests.transform_matrix` runs them all.
`constparity matrix` shows their verdicts as a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, PartitionSpec

from parity_tests.program import program

_Function = Callable[[Any], Any]

TABLE = np.linspace(0.5, 1.5, 12, dtype=np.float32)


def _cond(x: Any) -> Any:
    return lax.cond(x.sum() > -1e9, lambda v: v * TABLE, lambda v: v - TABLE, x)


def _custom_jvp(x: Any) -> Any:
    fun = jax.custom_jvp(lambda v: v * TABLE)
    fun.defjvp(lambda primals, tangents: (fun(*primals), tangents[0] * TABLE))
    return fun(x)


def _custom_vjp(x: Any) -> Any:
    fun = jax.custom_vjp(lambda v: v * TABLE)
    fun.defvjp(lambda v: (v * TABLE, None), lambda _, cotangent: (cotangent * TABLE,))
    return fun(x)


def _custom_vmap(x: Any) -> Any:
    fun = jax.custom_batching.custom_vmap(lambda v: v * TABLE)
    fun.def_vmap(lambda size, batched, v: (v * TABLE, True))
    return fun(x)


def _shard_map(x: Any) -> Any:
    mesh = jax.make_mesh((1,), ("i",), axis_types=(AxisType.Auto,))
    spec = PartitionSpec("i")
    return jax.shard_map(lambda v: v * TABLE, mesh=mesh, in_specs=spec, out_specs=spec)(x)


CONSTRUCTS: Mapping[str, _Function] = {
    "no construct": lambda x: x * TABLE,
    "jit": lambda x: jax.jit(lambda v: v * TABLE)(x),
    "scan": lambda x: lax.scan(lambda c, row: (c * row + TABLE, row), x, TABLE[:3])[0],
    "while": lambda x: lax.fori_loop(0, jnp.int32(2), lambda _, c: c * TABLE, x),
    "cond": _cond,
    "switch": lambda x: lax.switch(1, [lambda v: v, lambda v: v * TABLE, lambda v: -v], x),
    "checkpoint": lambda x: jax.checkpoint(lambda v: jnp.sin(v * TABLE))(x),
    "custom_jvp": _custom_jvp,
    "custom_vjp": _custom_vjp,
    "custom_vmap": _custom_vmap,
    "shard_map": _shard_map,
    "output alone": lambda x: (x * 2, TABLE)[1] + 0 * x,
}

TRANSFORMS: Mapping[str, Callable[[_Function], _Function]] = {
    "jit": lambda fun: fun,
    "jit of jit": lambda fun: jax.jit(jax.jit(fun)),
    "grad": lambda fun: jax.grad(lambda x: fun(x).sum()),
    "jvp": lambda fun: lambda x: jax.jvp(fun, (x,), (x,)),
    "hessian": lambda fun: jax.hessian(lambda x: fun(jnp.sin(x)).sum()),
    "vmap": lambda fun: lambda x: jax.vmap(fun)(jnp.stack([x, 2 * x])),
    "checkpoint": lambda fun: jax.grad(lambda x: jax.checkpoint(fun)(x).sum()),
    "scan": lambda fun: lambda x: lax.scan(lambda c, _: (fun(c), None), x, None, length=2)[0],
    "cond": lambda fun: lambda x: lax.cond(x[0] > -1e9, fun, lambda v: v, x),
}

# Pairs that JAX itself does not define, in any mode.
UNDEFINED = {
    ("while", "grad"), ("while", "checkpoint"), ("while", "hessian"),
    ("custom_vjp", "jvp"),
    ("custom_vmap", "grad"), ("custom_vmap", "checkpoint"), ("custom_vmap", "hessian"),
}  # fmt: skip


def _cell(construct: str, transform: str) -> Callable[[], Any]:
    def build() -> Any:
        return TRANSFORMS[transform](CONSTRUCTS[construct]), (np.ones(12, np.float32),)

    build.__name__ = f"{construct} under {transform}"
    build.__qualname__ = build.__name__
    return program(build)


for _construct in CONSTRUCTS:
    for _transform in TRANSFORMS:
        if (_construct, _transform) not in UNDEFINED:
            _name = f"{_construct}_under_{_transform}".replace(" ", "_")
            globals()[_name] = _cell(_construct, _transform)
