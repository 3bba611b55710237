"""The captured arrays of a program and the hazards of the flip, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from reports.document import NOTHING, Cell, Column, Table, Tone, cells
from reports.rows import (
    CapturedArray,
    FlipReason,
    FlipVerdict,
    Hazard,
    Observation,
    ProgramRow,
    Side,
)
from reports.views import figures
from reports.views.texts import cut, type_of

_MAX_LISTED = 8
# What every page shows of reasons: the first, and of their texts the beginning.
_REASONS_SHOWN = 20
_TEXT_SHOWN = 500
_VALUE_LENGTH = 120
_UNUSUAL: dict[str, Tone] = {"not found": "warn", "unused": "note", "folded": "note"}


def ledger(row: ProgramRow, sides: Sequence[Side]) -> Table:
    """Make a line for each captured array, largest first, and a column for its fate on each side.

    Arrays of two sides are one where type and content agree, and their order among equals: places
    and shardings may be known on one side alone.

    Example::

        ledger(campaign.programs[0], ("jax-legacy", "jax-simplified")).rows[0][-1].text
        # "hoisted 3 times"
    """
    by_side = {item.side: numbered(item) for item in row.observations}
    arrays: dict[Hashable, CapturedArray] = {}
    for side in sides:
        for key, array in by_side.get(side, {}).items():
            arrays.setdefault(key, array)
    shown = sorted(arrays, key=lambda key: -arrays[key].bytes)
    rows = [
        (*_array(arrays[key]), *(_fate(by_side.get(side, {}).get(key)) for side in sides))
        for key in shown
    ]
    columns = (
        Column("first used at"),
        Column("array"),
        Column("size", numeric=True),
        Column("sharding"),
        Column("uses", numeric=True),
        *(Column(side) for side in sides),
    )
    caption = "Captured arrays, and what became of each"
    return Table(caption, columns, tuple(rows), what="arrays")


def hazards(found: Sequence[Hazard]) -> Table:
    """Make a line for each kind of hazard: what may change in a flip, where, and the fix."""
    rows = [
        cells(
            Cell(group[0].kind, tone="warn"),
            Cell(
                listed([place(each.file, each.line) for each in group]),
                code=next((each.code for each in group if each.code), ""),
            ),
            listed([each.array for each in group]),
            group[0].what,
            group[0].fix,
        )
        for group in grouped(found)
    ]
    titles = ("hazard", "where", "array", "what may change", "smallest fix")
    columns = tuple(Column(title) for title in titles)
    return Table("Hazards of the flip", columns, tuple(rows), what="hazards")


def shown_by(flip: FlipVerdict | None, hazard: Hazard) -> tuple[FlipReason, ...]:
    """Return the reasons of a verdict that tell a hazard on every page."""
    reasons = flip.reasons[:_REASONS_SHOWN] if flip else ()
    return tuple(each for each in reasons if said_by(each, hazard, _TEXT_SHOWN))


def said_by(reason: FlipReason, hazard: Hazard, length: int | None = None) -> bool:
    """Say whether a reason, or the first `length` characters of its texts, tells a hazard whole."""
    where = reason.where[:length]
    return (
        hazard.what in reason.what[:length]
        and hazard.fix == reason.action
        and hazard.array in where
        and place(hazard.file, hazard.line) in where
    )


def grouped(found: Sequence[Hazard]) -> list[tuple[Hazard, ...]]:
    """Group the hazards that say the same of several arrays."""
    groups: dict[tuple[str, str, str], list[Hazard]] = {}
    for hazard in found:
        groups.setdefault((hazard.kind, hazard.what, hazard.fix), []).append(hazard)
    return [tuple(group) for group in groups.values()]


def place(file: str, line: int) -> str:
    """Format a place as editors read it.

    Example::

        >>> place("model.py", 12), place("", 0)
        ('model.py:12', 'unknown')
    """
    return f"{cut(file, _VALUE_LENGTH)}:{line}" if file else "unknown"


def listed(texts: Sequence[str]) -> str:
    """List each text once, and count those beyond the first few.

    Example::

        >>> listed(["model.py:3", "model.py:3", "model.py:7"])
        'model.py:3, model.py:7'
    """
    unique = [cut(text, _VALUE_LENGTH) for text in dict.fromkeys(texts)]
    more = f" and {len(unique) - _MAX_LISTED} more" if len(unique) > _MAX_LISTED else ""
    return ", ".join(unique[:_MAX_LISTED]) + more


def numbered(observation: Observation) -> dict[Hashable, CapturedArray]:
    """Return the captured arrays of a side by keys that the same arrays have on other sides."""
    seen: Counter[Hashable] = Counter()
    found: dict[Hashable, CapturedArray] = {}
    for array in observation.ledger:
        alike = (array.sha256, array.dtype, array.shape)
        found[alike, seen[alike]] = array
        seen[alike] += 1
    return found


def _array(array: CapturedArray) -> tuple[Cell, ...]:
    function = f" in {array.function}" if array.function else ""
    sharding = array.sharding
    return (
        Cell(place(array.file, array.line) + function, code=array.code),
        Cell(type_of(array)),
        figures.bytes_cell(array.bytes),
        Cell(cut(sharding, _VALUE_LENGTH), sharding) if sharding else NOTHING,
        figures.count_cell(array.uses),
    )


def _fate(array: CapturedArray | None) -> Cell:
    if array is None:
        return NOTHING
    times = "" if array.copies == 1 else f" {array.copies} times"
    text = f"{array.fate}{times}" if array.copies else array.fate
    if array.alike > 1:
        text = f"{array.fate}: {array.copies} of equal value for {array.alike} arrays"
    # Passed more often than there are arrays: the const args that stock JAX duplicates.
    duplicated = array.fate == "hoisted" and array.copies > array.alike
    tone = "warn" if duplicated else _UNUSUAL.get(array.fate, "")
    if array.note:
        text = f"{text} ({cut(array.note, _VALUE_LENGTH)})"
    return Cell(text, tone=tone)
