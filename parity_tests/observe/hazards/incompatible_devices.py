"""Hazard: a captured array that is committed to other devices than the call, or its `shard_map`.

Legacy inlines its value wherever the arguments are. Stock simplified passes it as an argument, and
JAX refuses arguments on different devices. Look-alikes: a captured array that is not committed,
which JAX moves, or one on the devices of the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.advice import advice
from parity_tests.jaxpr.meshes import stated_devices
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
        **{f"a {name} runs on": devices for name, devices in stated_devices(traced.closed)},
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
                    advice("same devices" if len(own) == 1 else "same mesh"),
                )
