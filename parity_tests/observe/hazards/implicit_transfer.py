"""Hazard: a captured array that a call moves to a device, which the user's transfer guard forbids.

Legacy has inlined the value. Stock simplified passes an array of NumPy's, or one that lies on
another device, as an argument of the first call: an implicit transfer. Look-alikes: an array of
JAX's on the device of the call, or a guard that only logs, or a guard that is in force when arrays
are made and not when the program is called.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from parity_tests.advice import advice
from parity_tests.observe.hazards.traced_program import TracedProgram, hazard_of, is_committed
from reports.rows import Hazard

_FORBIDS = ("disallow", "disallow_explicit")


def find(traced: TracedProgram) -> Iterator[Hazard]:
    """Find the captured arrays that the guard stops."""
    devices = traced.committed_devices()
    for use in traced.uses:
        value = use.array.value
        if isinstance(value, np.ndarray):
            where, fix = "host to device", advice("on the device")
        elif devices and not is_committed(value) and value.devices() != devices:
            where, fix = "device to device", "capture jax.device_put(a, device of the arguments)"
        else:
            continue
        if traced.guards[where] in _FORBIDS:
            yield hazard_of(
                "implicit transfer",
                use,
                f"the transfer guard forbids transfers from {where}: legacy has inlined the value, "
                "stock simplified transfers the array when it is first called, and fails",
                fix,
            )
