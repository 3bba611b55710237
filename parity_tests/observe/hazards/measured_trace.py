"""Hazards off the trace of a measurement, so that no program is traced once more for them.

Stock JAX after the flip has traced it already. But JAX traces a function once: what another program
of the process has called is not traced again, and what the function reads is not read again. So
this holds until the first read of a process; from then on each program is traced anew. Turned down:
to trace each anew under settings of its own. That also compiles anew what a trace computes, and
took a twentieth of a campaign of small programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from parity_tests.evidence.hazards_found import HazardsFound
from parity_tests.observe import failures, import_reads
from parity_tests.observe.hazards.detection import of_trace
from parity_tests.observe.hazards.traced_program import traced_program
from parity_tests.observe.jaxpr_reads import recording
from parity_tests.own_jit import OwnJit


class MeasuredTraces:
    """What the traces of a process tell of hazards, as long as no program of it reads anything.

    `has_read` says that one did: nothing need be watched any more.
    """

    def __init__(self) -> None:
        self.has_read = False
        self._found: HazardsFound | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch a block that imports a program, or measures it in simplified form on stock JAX."""
        self._found = None
        with recording() as reads:
            yield
        # Of two recordings, one within the other, the outer one misses reads of modules.
        if reads or import_reads.has_read():
            self.has_read = True

    def note(self, own: OwnJit, traced: Any) -> None:
        """Detect the hazards of a program that has just been traced in such a block.

        Nobody else holds its arrays then, so who holds them tells who can write to them.
        """
        # A detector asks the program's own trees and arrays, which may raise.
        try:
            self._found = HazardsFound(hazards=of_trace(traced_program(own, traced)))
        except Exception as error:  # noqa: BLE001
            self._found = HazardsFound(not_detected=failures.it_raised(error))

    def found(self) -> HazardsFound | None:
        """Return the hazards of the program of the last block; None where its trace cannot tell.

        Example::

            with traces.watching():
                measure(program, "jax-simplified", on_traced=traces.note)
            traces.found()
        """
        return None if self.has_read else self._found
