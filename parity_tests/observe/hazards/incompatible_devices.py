"""Hazard: a captured array that is committed to other devices than the call, or its `shard_map`.

Legacy inlines its value wherever the arguments are. Stock simplified passes it as an argument, and
JAX refuses arguments on different devices. Look-alikes: a captured array that is not committed,
which JAX moves, or one on the devices of the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from parity_tests.jaxpr.bodies import bodies_of, inner
from parity_tests.observe.hazards.traced_program import (
    TracedProgram,
    hazard_of,
    is_committed,
    named,
)
from reports.rows import Hazard


def find(traced: TracedProgram) -> Iterator[Hazard]:
    """Find the captured arrays that are committed elsewhere."""
    others = {
        "the arguments or other captured arrays are committed to": traced.committed_devices(),
        "a shard_map runs on": next(_of_meshes(traced.closed), set()),
    }
    for use in traced.uses:
        if is_committed(use.array.value):
            own = use.array.value.devices()
            apart = next((told for told in others.items() if told[1] and told[1] != own), None)
            if apart is not None:
                yield hazard_of(
                    "incompatible devices",
                    use,
                    f"the array is committed to {named(own)}, and {apart[0]} {named(apart[1])}: "
                    "legacy inlines its value wherever the arguments are, stock simplified refuses "
                    "the call (incompatible devices)",
                    "put the array where the arguments are, jax.device_put(a, device), or pass "
                    "NumPy",
                )


def _of_meshes(body: Any) -> Iterator[set[Any]]:
    """Yield the devices of each `shard_map`, those in bodies included."""
    for equation in inner(body).eqns:
        if equation.primitive.name == "shard_map":
            mesh = equation.params["mesh"]
            if isinstance(mesh, jax.sharding.Mesh):  # an abstract mesh takes the arguments' devices
                yield set(mesh.devices.flat)
        for each in bodies_of(equation):
            yield from _of_meshes(each.jaxpr)
