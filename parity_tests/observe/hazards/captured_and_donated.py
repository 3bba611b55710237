"""Hazard: a captured array that is passed as a donated argument as well.

Legacy has inlined its value. Stock simplified passes the same buffer twice, once donated, and XLA
refuses. An array made by `jax.device_put` of the captured one may have its buffer. Look-alikes:
another array of equal value that is donated, or the captured array passed without donation; neither
shares a donated buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from parity_tests.advice import advice
from parity_tests.jaxpr.captured_uses import CapturedUse
from parity_tests.observe.device_buffers import Held
from parity_tests.observe.hazards.traced_program import TracedProgram, hazard_of, hoisted_uses
from reports.rows import Hazard


def find(traced: TracedProgram) -> Iterator[Hazard]:
    """Find the captured arrays that are donated too, to the program or to a jit within it."""
    yield from _among(traced.uses, traced.donated)
    for jit in traced.donating:
        yield from _among(hoisted_uses(jit.body), jit.donated)


def _among(uses: Sequence[CapturedUse], arrays: Sequence[Any]) -> Iterator[Hazard]:
    donated = Held(arrays)
    for use in uses:
        if use.array.value in donated:
            yield passed_as_well(use)


def passed_as_well(use: CapturedUse) -> Hazard:
    """Return the hazard of a captured array that is a donated argument too."""
    return hazard_of(
        "captured and donated",
        use,
        "the array is also passed as a donated argument: legacy has inlined its value, "
        "stock simplified fails when it is called (attempt to donate a buffer which is "
        "also used by the same call)",
        advice("donated"),
    )


def donated_before(use: CapturedUse) -> Hazard:
    """Return the hazard of a captured array that is gone: another call had it donated."""
    return hazard_of(
        "captured and donated",
        use,
        "the array was deleted or donated to another call: legacy has inlined its value, stock "
        "simplified fails when it is called (the buffer has been deleted or donated)",
        advice("donated"),
    )
