"""Hazard: a captured array that is committed to other devices than the call.

Legacy inlines its value wherever the arguments are. Stock simplified passes it as an argument, and
JAX refuses arguments on different devices. Look-alikes: a captured array that is not committed,
which JAX moves, or one on the devices of the arguments.
"""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.observe.hazards.traced_program import (
    TracedProgram,
    hazard_of,
    is_committed,
    named,
)
from reports.rows import Hazard


def find(traced: TracedProgram) -> Iterator[Hazard]:
    """Find the captured arrays that are committed elsewhere."""
    anchor = traced.committed_devices()
    for use in traced.uses:
        if is_committed(use.array.value) and use.array.value.devices() != anchor:
            yield hazard_of(
                "incompatible devices",
                use,
                f"the array is committed to {named(use.array.value.devices())} and the arguments "
                f"or other captured arrays to {named(anchor)}: legacy inlines its value wherever "
                "the arguments are, stock simplified refuses the call (incompatible devices)",
                "put the array where the arguments are, jax.device_put(a, device), or pass NumPy",
            )
