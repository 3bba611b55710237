"""What a command captured as a document: each line that captures arrays, the largest first."""

from __future__ import annotations

import shlex

from reports.document import Cell, Column, Document, Heading, Paragraph, Part, Table, cells, items
from reports.rows.sites import Captured, Sites
from reports.views.figures import bytes_cell, humanise_bytes
from reports.views.texts import counted

_NAMES_SHOWN = 3
_NOT_REACHED = (
    "JAX captures these arrays by itself, outside of any jitted function: in control flow, "
    "checkpoints and derivatives, and under jax.pmap. Their programs and copies are not counted."
)


def document(sites: Sites) -> Document:
    """Make the document of what a command captured."""
    return Document(
        question="What did the command capture, and where?",
        answer=headline(sites),
        tone="note" if sites.captured else "good",
        lines=tuple(facts(sites)),
        parts=(captured_table(sites), *_others(sites)),
    )


def headline(sites: Sites) -> str:
    """Say how much is captured at how many lines, and what legacy makes of it.

    Example::

        headline(sites) == (
            "sites: 8 captured arrays at 3 lines, 1.1 MiB in all; legacy inlines 10 copies, "
            "4.1 MiB in all, into 4 programs"
        )
    """
    found = sites.captured
    if not found:
        size = f" of {humanise_bytes(sites.min_bytes)} or more" if sites.smaller else ""
        return f"sites: no captured array{size} that a flip would hoist"
    arrays = counted(sum(each.arrays for each in found), "captured array")
    lines = counted(len({(each.file, each.line) for each in found}), "line")
    copies = counted(sum(each.copies for each in found), "copy")
    programs = counted(sites.lowered, "program")
    size, copied = (
        humanise_bytes(sum(sizes))
        for sizes in zip(*((each.all_bytes, each.copied_bytes) for each in found), strict=True)
    )
    return (
        f"sites: {arrays} at {lines}, {size} in all; legacy inlines {copies}, {copied} in all, "
        f"into {programs}"
    )


def facts(sites: Sites) -> list[str]:
    """Say what was run and how it ended, and what of it was read."""
    versions = ", ".join(f"JAX {each}" for each in dict.fromkeys(sites.processes))
    said = [
        f"{shlex.join(sites.command)}: {sites.ended}, after {sites.seconds:.0f} s; "
        f"{counted(len(sites.processes), 'process')} with {versions}"
    ]
    if sites.status:
        said.append("The command failed or was interrupted: it may capture more")
    if sites.smaller:
        below = humanise_bytes(sites.min_bytes)
        said.append(f"{counted(sites.smaller, 'array')} below {below} left out (--min-bytes)")
    said += [f"A process was not read: {each}" for each in sites.not_read]
    return said


def captured_table(sites: Sites) -> Table:
    """Make a row for the arrays of one type at one line."""
    return Table(
        "Captured arrays",
        (
            Column("captured at"), Column("arrays"), Column("size", numeric=True),
            Column("captured by"), Column("read by", numeric=True),
            Column("lowered", numeric=True), Column("copies in legacy", numeric=True),
            Column("copied", numeric=True),
        ),
        tuple(map(_row, sites.captured)),
        what="lines",
    )  # fmt: skip


def _row(found: Captured) -> tuple[Cell, ...]:
    count = f"{found.arrays:,} x " if found.arrays > 1 else ""
    return cells(
        Cell(place_of(found), code=found.code),
        Cell(f"{count}{found.array}", ", ".join(found.sites)),
        bytes_cell(found.all_bytes),
        Cell(names_of(found.programs), ", ".join(found.programs)),
        f"{found.uses:,}",
        f"{found.lowered:,}",
        f"{found.copies:,}",
        bytes_cell(found.copied_bytes),
    )


def place_of(found: Captured) -> str:
    """Return the line and the function that capture an array."""
    return f"{found.file}:{found.line} ({found.function})" if found.file else found.function


def names_of(programs: tuple[str, ...]) -> str:
    """Name the first functions without their places, and say how many more there are.

    Example::

        names_of(("step at model.py:12", "loss at model.py:40")) == "step, loss"
    """
    names = list(dict.fromkeys(each.partition(" at ")[0] for each in programs))
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _others(sites: Sites) -> tuple[Part, ...]:
    parts: list[Part] = []
    if fixed := [f"{place_of(each)}: {each.fixed}" for each in sites.captured if each.fixed]:
        parts += [Heading("Not flipped by themselves"), items(fixed)]
    if sites.not_reached:
        parts += [Heading("Out of reach"), Paragraph(_NOT_REACHED), items(sites.not_reached)]
    return tuple(parts)
