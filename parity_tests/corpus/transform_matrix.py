"""The transform matrix: one captured array in each construct, under each transformation.

Every cell is a program, so `constparity run parity_tests.corpus.transform_matrix` runs them all,
and `constparity matrix` shows their verdicts as a grid. A cell that nobody runs is in the grid,
too, and says so.
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
from reports.rows import Campaign, ProgramRow, Verdict
from reports.rows.check_names import AGREE, EXPORT, RELOAD

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

# Not transformations of the function but ways of its executable: checks of the cell under jit.
WAYS: Mapping[str, str] = {
    "ahead of time": AGREE,
    "export": EXPORT,
    "cache reload": RELOAD,
}

# What JAX itself does not define, in any mode.
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


def grid(campaign: Campaign) -> dict[str, dict[str, Verdict | str]]:
    """Arrange the verdicts of a campaign over this module: by construct, then by transformation.

    A cell is a verdict, "undefined" where JAX does not define it, "refused" where all sides refuse
    it alike, or "not tested".

        grid(campaign.run(["parity_tests.corpus.transform_matrix"], reload=True))["scan"]["grad"]
    """
    rows = {row.name: row for row in campaign.programs}

    def cell(construct: str, transform: str) -> Verdict | str:
        if (construct, transform) in UNDEFINED:
            return "undefined"
        row = rows.get(f"{construct} under {transform}")
        return row.verdict if row else "not tested"

    return {
        construct: {
            **{transform: cell(construct, transform) for transform in TRANSFORMS},
            **{
                way: _outcome(rows.get(f"{construct} under jit"), check)
                for way, check in WAYS.items()
            },
        }
        for construct in CONSTRUCTS
    }


def _outcome(row: ProgramRow | None, check: str) -> Verdict | str:
    """Say what became of a check on the sides of a program."""
    found = [each for item in (row.observations if row else ()) for each in item.checks]
    held = [each.holds for each in found if each.name == check]
    if not held:
        return "not tested"
    if any(held) != all(held):
        return "difference"
    return "parity" if all(held) else "refused"
