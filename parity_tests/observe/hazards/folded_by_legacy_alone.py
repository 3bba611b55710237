"""Hazard: work on captured arrays alone, which legacy does once and stock simplified at every call.

XLA folds the work while it compiles if the arrays are inlined, and cannot if they are arguments.
Look-alikes: work that reads an argument, or that only moves elements, or on arrays at or below the
embed threshold, or a loop as a whole, which XLA never folds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from parity_tests.advice import advice
from parity_tests.jaxpr.constant_work import constant_work
from parity_tests.observe.hazards.traced_program import TracedProgram
from reports.rows import Hazard
from reports.views.figures import humanise_bytes, humanise_count
from reports.views.texts import counted


def find(traced: TracedProgram) -> Iterator[Hazard]:
    """Find the equations on captured arrays alone, as one hazard for the whole program."""
    work = constant_work(traced.closed, embed_threshold=traced.embed_threshold)
    if not work.equations:
        return
    names = Counter(equation.primitive.name for equation in work.equations)
    listed = ", ".join(
        f"{name} ({count} times)" if count > 1 else name for name, count in names.most_common(8)
    )
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    yield Hazard(
        kind="folded by legacy alone",
        file=work.place.file,
        line=work.place.line,
        array=f"{humanise_bytes(work.bytes)} of results",
        what=f"{counted(len(work.equations), 'equation')} on captured arrays alone "
        f"({listed}{more}): in legacy XLA computes them once, when it compiles, in stock "
        f"simplified at every call, about {humanise_count(work.operations)} operations",
        fix=advice("compute once"),
        operations=work.operations,
        gist=work.gist,
    )
