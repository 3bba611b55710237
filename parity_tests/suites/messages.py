"""What a test that fails on a difference says, and the lines of the terminal's summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.rows.suite import SuiteDifference
from reports.views.suite_texts import captured, headline, what_differs, why_and_what_helps
from reports.views.texts import counted

MOST = 5  # differences, and captured arrays of each, that a message lists


def message_of(differences: Sequence[SuiteDifference]) -> str:
    """Return the message of a failed test: each program that differs, where, by how much, and why.

    Example::

        constparity: legacy and simplified differ in `step` (model.py:12)
          ['loss']: 1.0000001 on legacy, 1.0000005 on simplified; max rel 4e-07, max abs ...
          model.py:14: outputs are different in their values: mismatch at ['loss']: ...
            -> constparity culprit names the captured arrays that it takes
          it captured float32[64,64] (16,384 bytes), first used at model.py:14 in step
    """
    lines = [line for each in differences[:MOST] for line in _lines(each)]
    if more := len(differences) - MOST:
        lines += [f"and {counted(more, 'more difference')}"] if more > 0 else []
    return "\n".join(lines)


def _lines(row: SuiteDifference) -> Iterator[str]:
    yield f"constparity: {headline(row)}"
    if said := what_differs(row):
        yield f"  {said}"
    if row.because:
        yield f"  {row.state}: {row.because}"
    yield from (f"  {line}" for line in why_and_what_helps(row))
    for each in row.captured[:MOST]:
        yield f"  it captured {captured(each)}"
    if (more := len(row.captured) - MOST) > 0:
        yield f"  and {counted(more, 'more array')}"
    if not row.captured:
        yield "  it captured no arrays"
