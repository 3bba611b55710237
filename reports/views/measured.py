"""What the sides were measured with, in words: each process has told its own versions.

Where all sides of a campaign have the same, one line says so. Else there is a line for each set of
versions, with the sides that it was measured on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reports.rows import SIDES, Campaign, MeasuredWith, Observation, ProgramRow, Side

_OnSides = Counter[Side]  # how many programs each side ran


def versions(measured: MeasuredWith) -> str:
    """Write down what a process ran on.

    Example::

        >>> versions(MeasuredWith(python="3.12.1", jax="0.12.0.1", jaxlib="0.12.0", backend="cpu"))
        'jax 0.12.0.1, jaxlib 0.12.0, Python 3.12.1, backend cpu'
    """
    return (
        f"jax {measured.jax}, jaxlib {measured.jaxlib}, Python {measured.python}, "
        f"backend {measured.backend}"
    )


def measured_with(programs: Sequence[ProgramRow]) -> dict[MeasuredWith, tuple[Side, ...]]:
    """Return each set of versions, and the sides that it was measured on."""
    return {each: _in_order(sides) for each, sides in _told(programs).items() if each is not None}


def are_apart(programs: Sequence[ProgramRow]) -> bool:
    """Say whether not all was measured with the same versions."""
    return len(measured_with(programs)) > 1


def lines_of(campaign: Campaign) -> tuple[str, ...]:
    """Say what a campaign was measured with; nothing of a report that is older than the field.

    Example::

        lines_of(campaign)[0]
        # "measured with jax 0.10.2, jaxlib 0.10.2, Python 3.11.7, backend cpu"
    """
    return campaign.files_measured or tuple(lines(campaign.programs))


def versions_of(observation: Observation) -> str:
    """Write down what one side ran on; "" where its process was lost before it told."""
    return versions(observation.measured_with) if observation.measured_with else ""


def lines(programs: Sequence[ProgramRow]) -> Iterator[str]:
    """Say what programs were measured with, in one line where all sides have the same."""
    found = _told(programs)
    ran = Counter(each.side for row in programs for each in row.observations)
    untold = found.get(None)
    told = [(each, sides) for each, sides in found.items() if each is not None]
    if not told:
        return
    missing = f"; not told by lost processes of {_sides(untold, ran)}" if untold else ""
    if len(told) == 1:
        yield f"measured with {versions(told[0][0])}{missing}"
        return
    for measured, sides in told:
        yield f"{_sides(sides, ran)}: measured with {versions(measured)}"
    if untold:
        yield f"{_sides(untold, ran)}: lost processes did not tell what they measured with"


def _told(programs: Sequence[ProgramRow]) -> dict[MeasuredWith | None, _OnSides]:
    seen = [each for row in programs for each in row.observations]
    found: dict[MeasuredWith | None, _OnSides] = {}
    for each in sorted(seen, key=lambda one: SIDES.index(one.side)):
        found.setdefault(each.measured_with, Counter())[each.side] += 1
    return found


def _sides(sides: _OnSides, ran: _OnSides) -> str:
    """Name sides, and how many of their programs, where it is not all."""
    return ", ".join(
        side if sides[side] == ran[side] else f"{side} ({sides[side]:,} of {ran[side]:,} programs)"
        for side in _in_order(sides)
    )


def _in_order(sides: _OnSides) -> tuple[Side, ...]:
    return tuple(side for side in SIDES if side in sides)
