"""Hazard: a captured array that is passed as a donated argument as well.

Legacy has inlined its value. Stock simplified passes the same buffer twice, once donated, and XLA
refuses. Look-alikes: another array of equal value that is donated, or the captured array passed
without donation; neither shares a donated buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from parity_tests.advice import advice
from parity_tests.jaxpr.captured_uses import CapturedUse
from parity_tests.observe.hazards.traced_program import TracedProgram, hazard_of, hoisted_uses
from reports.rows import Hazard


def find(traced: TracedProgram) -> Iterator[Hazard]:
    """Find the captured arrays that are donated too, to the program or to a jit within it."""
    yield from _among(traced.uses, traced.donated)
    for jit in traced.donating:
        yield from _among(hoisted_uses(jit.body), jit.donated)


def _among(uses: Sequence[CapturedUse], arrays: Sequence[Any]) -> Iterator[Hazard]:
    donated = {id(leaf) for leaf in arrays}
    for use in uses:
        if id(use.array.value) in donated:
            yield hazard_of(
                "captured and donated",
                use,
                "the array is also passed as a donated argument: legacy has inlined its value, "
                "stock simplified fails when it is called (attempt to donate a buffer which is "
                "also used by the same call)",
                advice("donated"),
            )
