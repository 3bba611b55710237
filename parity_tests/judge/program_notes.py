"""What a reader should know beside a verdict: checks that failed, and what a program changed.

None of it decides a verdict. A check that failed says nothing of the side, and the programs after
one that changed its process have run in a new process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from parity_tests.judge.findings import Findings
from reports.rows import Observation, Side

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
    return (*_told(sides_of, findings.observed), *of_hazards(findings))


def what_it_changed(observed: Sequence[Observation]) -> str:
    """Say in one line what a program changed for its process; "" where it changed nothing.

    Example::

        what_it_changed(row.observations)
        # "the program closes stdout; other programs ran in other processes"
    """
    sides_of: dict[str, list[Side]] = {}
    for observation in observed:
        for change in observation.changed_process:
            sides_of.setdefault(change, []).append(observation.side)
    return "; ".join([*_told(sides_of, observed), _RAN_ELSEWHERE]) if sides_of else ""


def _told(sides_of: Mapping[str, list[Side]], observed: Sequence[Observation]) -> list[str]:
    """Name the sides of each text, unless it is about all of them."""
    everywhere = {observation.side for observation in observed}
    return [
        text if set(sides) == everywhere else f"{', '.join(dict.fromkeys(sides))}: {text}"
        for text, sides in sides_of.items()
    ]


def of_hazards(findings: Findings) -> Iterator[str]:
    """Yield the note that the hazards of a program are not known, where they are not."""
    if findings.no_hazards:
        yield (
            "the hazards of the flip were not detected, for which the program is traced in "
            f"simplified form: {findings.no_hazards}"
        )
