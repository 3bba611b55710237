"""Hazard: a captured array that is passed as a donated argument as well.

Legacy has inlined its value. Stock simplified passes the same buffer twice, once donated, and XLA
refuses. An array made by `jax.device_put` of the captured one may have its buffer. Look-alikes:
another array of equal value that is donated, or the captured array passed without donation; neither
shares a donated buffer.
"""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.jaxpr.captured_uses import CapturedUse
from parity_tests.observe import device_buffers
from parity_tests.observe.hazards.traced_program import TracedProgram, hazard_of
from reports.rows import Hazard

_FIX = "capture a copy, jnp.array(a), or do not donate that argument"


def find(traced: TracedProgram) -> Iterator[Hazard]:
    """Find the captured arrays that are donated arguments too."""
    ids, buffers = set(map(id, traced.donated)), device_buffers.of(traced.donated).keys()
    for use in traced.uses:
        value = use.array.value
        if id(value) in ids or device_buffers.of([value]).keys() & buffers:
            yield passed_as_well(use)


def passed_as_well(use: CapturedUse) -> Hazard:
    """Return the hazard of a captured array that is a donated argument too."""
    return hazard_of(
        "captured and donated",
        use,
        "the array is also passed as a donated argument: legacy has inlined its value, "
        "stock simplified fails when it is called (attempt to donate a buffer which is "
        "also used by the same call)",
        _FIX,
    )


def donated_before(use: CapturedUse) -> Hazard:
    """Return the hazard of a captured array that is gone: another call had it donated."""
    return hazard_of(
        "captured and donated",
        use,
        "the array was deleted or donated to another call: legacy has inlined its value, stock "
        "simplified fails when it is called (the buffer has been deleted or donated)",
        _FIX,
    )
