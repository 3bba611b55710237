"""Hazard: a captured array that changes the device, commitment or sharding of the outputs.

In legacy the arguments alone decide where outputs are. In stock simplified a captured array is an
argument too: it commits the outputs if no argument does, and may shard them. Look-alikes: an array
that is not committed, or that is replicated beside committed arguments; a program that states its
devices by itself, in a `shard_map`, a constraint or the options of its `jax.jit`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jax

from parity_tests.advice import advice
from parity_tests.jaxpr.meshes import may_shard_outputs, stated_devices
from parity_tests.observe.hazards.traced_program import (
    TracedProgram,
    hazard_of,
    is_committed,
    named,
)
from reports.rows import Hazard


def find(traced: TracedProgram) -> Iterator[Hazard]:
    """Find the captured arrays that decide where outputs are."""
    if _states(traced.options, "out_shardings"):
        return
    stated = _states(traced.options, "in_shardings") or any(stated_devices(traced.closed))
    is_decided = stated or any(map(is_committed, traced.arguments))
    anchor = traced.committed_devices()
    for use in traced.uses:
        value = use.array.value
        if not is_committed(value) or value.devices() != anchor:
            continue
        if not is_decided:
            yield hazard_of(
                "placement of outputs",
                use,
                "no argument is committed to a device and this array is: legacy returns "
                "uncommitted outputs on the default device, stock simplified outputs that are "
                f"committed to {named(value.devices())}",
                advice("not committed" if len(value.devices()) == 1 else "sharded outputs"),
            )
        elif not value.sharding.is_fully_replicated and may_shard_outputs(traced.closed, value):
            yield hazard_of(
                "placement of outputs",
                use,
                f"the array is sharded over {named(value.devices())}: legacy inlines all of it "
                "on every device, stock simplified keeps its sharding, which the outputs may take "
                "over",
                advice("sharded outputs"),
            )


def _states(options: Mapping[str, Any], name: str) -> bool:
    """Say whether options of `jax.jit` state all shardings of arguments or of outputs."""
    stated = jax.tree.leaves(options.get(name), is_leaf=lambda each: each is None)
    return bool(stated) and all(isinstance(each, jax.sharding.Sharding) for each in stated)
