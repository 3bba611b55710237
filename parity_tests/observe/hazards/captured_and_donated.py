"""Hazard: a captured array that is passed as a donated argument as well.

Legacy has inlined its value. Stock simplified passes the same buffer twice, once donated, and XLA
refuses. Look-alikes: another array of equal value that is donated, or the captured array passed
without donation; neither shares a donated buffer.
"""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.advice import advice
from parity_tests.observe.hazards.traced_program import TracedProgram, hazard_of
from reports.rows import Hazard


def find(traced: TracedProgram) -> Iterator[Hazard]:
    """Find the captured arrays that are donated arguments too."""
    donated = {id(leaf) for leaf in traced.donated}
    for use in traced.uses:
        if id(use.array.value) in donated:
            yield hazard_of(
                "captured and donated",
                use,
                "the array is also passed as a donated argument: legacy has inlined its value, "
                "stock simplified fails when it is called (attempt to donate a buffer which is "
                "also used by the same call)",
                advice("donated"),
            )
