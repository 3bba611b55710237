"""What a reader should know beside a verdict: checks that failed, and what a program changed.

None of it decides a verdict. A check that failed says nothing of the side, and the programs after
one that changed its process have run in a new process.
"""

from __future__ import annotations

from collections.abc import Iterator

from parity_tests.judge.findings import Findings
from reports.rows import Side

_RAN_ELSEWHERE = "other programs ran in other processes"


def notes(findings: Findings) -> tuple[str, ...]:
    """Return the notes on a program, each once for all the sides that it is about.

    Example::

        notes(findings) == ("legacy: the check 'flag flips' was not made: it raised ...",)
    """
    sides_of: dict[str, list[Side]] = {}
    for observation in findings.observed:
        for check in observation.checks:
            if not check.measured:
                text = f"the check {check.name!r} was not made: {check.statement}"
                sides_of.setdefault(text, []).append(observation.side)
        for change in observation.changed_process:
            sides_of.setdefault(f"{change}; {_RAN_ELSEWHERE}", []).append(observation.side)
    everywhere = {observation.side for observation in findings.observed}
    told = (
        text if set(sides) == everywhere else f"{', '.join(dict.fromkeys(sides))}: {text}"
        for text, sides in sides_of.items()
    )
    return (*told, *of_hazards(findings))


def of_hazards(findings: Findings) -> Iterator[str]:
    """Yield the note that the hazards of a program are not known, where they are not."""
    if findings.no_hazards:
        yield (
            "the hazards of the flip were not detected, for which the program is traced in "
            f"simplified form: {findings.no_hazards}"
        )
