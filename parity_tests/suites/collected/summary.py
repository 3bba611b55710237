"""The lines of the terminal's summary of a suite that was collected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parity_tests.suites.collected.index import NAME, CollectedProgram
from reports.views.texts import counted

_MOST = 20  # reasons that the summary lists; the index lists every program


def summary_lines(
    folder: str, rows: Sequence[CollectedProgram], stopped: str = ""
) -> Iterator[str]:
    """Yield how many programs were written where, and which were not and why."""
    written = [row for row in rows if row.file]
    if written:
        yield f"{counted(len(written), 'program')} written: constparity run {folder}"
    elif not rows:
        yield "no program ran, so none was written"
    reasons: dict[str, list[CollectedProgram]] = {}
    for row in rows:
        for lost in row.lost:
            reasons.setdefault(f"written without {lost}", []).append(row)
        if row.why:
            reasons.setdefault(f"not written: {row.why}", []).append(row)
    by_size = sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0]))
    for reason, found in by_size[:_MOST]:
        what, _, why = reason.partition(": ")
        yield f"{what}: {_programs(found)}{': ' if why else ''}{why}"
    if (more := len(by_size) - _MOST) > 0:
        yield f"and {counted(more, 'more reason')}, in {folder}/{NAME}"
    if stopped:
        yield f"ERROR: collecting stopped: {stopped}"


def _programs(rows: Sequence[CollectedProgram]) -> str:
    first = f"{rows[0].name} ({rows[0].source})" if rows[0].source else rows[0].name
    return f"{counted(len(rows), 'program')}, as {first}" if len(rows) > 1 else first
