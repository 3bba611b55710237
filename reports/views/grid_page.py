"""A grid as a page: its tables and sentences, before any markup.

The Markdown and the HTML report are two templates over the `GridPage` that is made here. Tables and
texts have a maximum size, and say how much was left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.rows import Environment, Failure, MeasuredWith, ProgramRow, Side
from reports.rows.grid import Grid
from reports.rows.grid_headline import VersionAnswer
from reports.rows.grid_row import GridCell, GridRow, GridVersion
from reports.rows.version_change import VersionChange
from reports.views import flip
from reports.views.cells import NOTHING, Cell, Column, Table, Tone, columns
from reports.views.grid_cells import (
    SIDE_LINES,
    alike,
    first_changed,
    is_quiet,
    legend,
    lines,
    tone_of,
    worst_first,
)
from reports.views.measured import measured_with
from reports.views.texts import cut, left_out

MAX_PROGRAMS = 500
_WORST_FIRST: tuple[Tone, ...] = ("bad", "warn", "note", "good", "")
_MAX_ROWS = 60
_FRAME = re.compile(r'^ *File "(.+)", line (\d+)', re.MULTILINE)
_NAME_LENGTH = 80
_NAMES_LENGTH = 2000
_TEXT_LENGTH = 500
_VALUE_LENGTH = 120
# What a reader must know of each environment, by the names of its fields. Each process has told
# the first of them, and the process that collected the programs the others.
_TOLD = ("jax", "jaxlib", "python", "backend")
_FACTS = ("numpy", "device_kind")
# Facts in which environments of one grid are expected to differ. The processes of all of them run
# the constparity that started them, whichever is installed beside their JAX.
_OF_VERSIONS = ("jax", "jaxlib", "constparity")


@dataclass(frozen=True)
class GridSection:
    """Programs of which a grid tells the same: what a flip comes to, and what versions change."""

    anchor: str
    name: str
    verdict: str
    tone: Tone
    tables: tuple[Table, ...]
    folded: tuple[Table, ...]

    @property
    def open(self) -> bool:
        """Whether a reader should see it at once."""
        return self.tone == "bad"


@dataclass(frozen=True)
class GridPage:
    """A whole report on a grid: the first screen, then a section for programs with news."""

    title: str
    tone: Tone
    lines: tuple[str, ...]  # of the headline
    created: str
    versions: Table
    grid: Table
    legend: tuple[str, ...]
    failures: Table
    notes: tuple[str, ...]
    sections: tuple[GridSection, ...]


def grid_page(grid: Grid) -> GridPage:
    """Make the page of a grid, the programs first that a flip breaks.

    Example::

        grid_page(load_grid("grid.json")).title == "flip: no on some versions"
    """
    headline, rows = grid.headline, worst_first(grid)
    shown = rows[:MAX_PROGRAMS]
    groups = alike(grid, shown)
    news = [each for each in groups if not is_quiet(grid, each[0])]
    anchors = {each[0].name: f"programs-{number}" for number, each in enumerate(news, 1)}
    return GridPage(
        title=_title(headline.versions),
        tone=flip.ANSWER_TONES[headline.flip] if headline.flip else "",
        lines=(headline.question, headline.verdicts, headline.left_alone),
        created=grid.created,
        versions=_versions(grid),
        grid=_table(grid, groups, anchors, left_out(rows, shown, "programs")),
        legend=legend([line for row in shown for line in lines(grid, row)]),
        failures=failures(grid),
        notes=_notes(grid),
        sections=tuple(_section(grid, each, anchors[each[0].name]) for each in news),
    )


def failures(grid: Grid) -> Table:
    """Make one line for each failure of a side, with its versions and the programs that it befalls.

    Example::

        failures(grid).rows[0][2].text
        # "TypeError: pjit got an unexpected number of arguments"
    """
    found: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for version in grid.versions:
        for row in version.campaign.programs if version.campaign else ():
            for each in row.observations:
                if each.failure is not None:
                    key = (_flag(row, each.side), _said(each.failure), _raised_at(each.failure))
                    found.setdefault(key, {}).setdefault(version.label, []).append(row.name)
    alike: dict[tuple[str, str, str, str, str], list[str]] = {}
    for key, by_version in found.items():
        for label, names in by_version.items():
            alike.setdefault((*key, ", ".join(names), f"{len(names):,}"), []).append(label)
    rows = tuple(
        (
            Cell(", ".join(labels)),
            Cell(flag),
            Cell(cut(said, _TEXT_LENGTH), tone="bad"),
            Cell(raised_at) if raised_at else NOTHING,
            Cell(count),
            Cell(cut(names, _TEXT_LENGTH)),
        )
        for (flag, said, raised_at, names, count), labels in alike.items()
    )
    titles = (
        *columns(("versions", "flag", "failure", "raised at")),
        Column("programs", numeric=True),
        Column("which"),
    )
    shown = rows[:_MAX_ROWS]
    return Table("Failures, as they were raised", titles, shown, left_out(rows, shown, "failures"))


def _flag(row: ProgramRow, side: Side) -> str:
    """Name a side that failed; "alone" says that its program works with the flag off."""
    works = any(each.side == "jax-legacy" and not each.failure for each in row.observations)
    return f"{SIDE_LINES[side]}{' alone' if side == 'jax-simplified' and works else ''}"


def _said(failure: Failure) -> str:
    line = next(iter(failure.message.strip().splitlines()), "")
    return f"{failure.type}: {line}" if line else failure.type


def _raised_at(failure: Failure) -> str:
    """Return the line that raised: of an installed package, else of the user as far as known."""
    frames = _FRAME.findall(failure.traceback)
    _, installed, file = frames[-1][0].rpartition("site-packages/") if frames else ("", "", "")
    return f"{file}:{frames[-1][1]}" if installed else failure.where


def counts_of(answer: VersionAnswer) -> str:
    """Count the programs of a version by what a flip comes to for them.

    Example::

        counts_of(grid.headline.versions[0]) == "7 no; 1 yes"
    """
    return "; ".join(f"{count:,} {each}" for each, count in answer.counts.items()) or "none"


def besides(grid: Grid) -> str:
    """Say in what environments differ beside JAX and jaxlib; "" where they do not.

    Example::

        besides(grid) == "beside JAX and jaxlib, versions differ in python (3.11.7, 3.12.1)"
    """
    found = [each.campaign.environment.model_dump() for each in grid.versions if each.campaign]
    apart = [
        f"{name.replace('_', ' ')} ({', '.join(dict.fromkeys(str(each[name]) for each in found))})"
        for name in (found[0] if found else ())
        if name not in _OF_VERSIONS and len({each[name] for each in found}) > 1
    ]
    return f"beside JAX and jaxlib, versions differ in {'; '.join(apart)}" if apart else ""


# -- the first screen ------------------------------------------------------------------------------


def _title(answers: Sequence[VersionAnswer]) -> str:
    found = {each.flip or "not asked" for each in answers}
    if len(found) == 1:
        return f"flip: {next(iter(found))}"
    worst = next(
        answer for answer in reversed([*flip.ANSWER_TONES, "not asked"]) if answer in found
    )
    return f"flip: {worst} on some versions"


def _versions(grid: Grid) -> Table:
    answers = {each.version: each for each in grid.headline.versions}
    rows = tuple(row for each in grid.versions for row in _version(each, answers[each.label]))
    facts = (name.replace("_", " ") for name in (*_TOLD, *_FACTS))
    return Table("Versions", columns(("version", "flip", "programs", "first", *facts)), rows)


def _version(version: GridVersion, answer: VersionAnswer) -> Iterator[tuple[Cell, ...]]:
    """Yield the line of a version, and lines for its sides where they ran on other versions."""
    programs = version.campaign.programs if version.campaign else ()
    found = version.campaign.environment if version.campaign else None
    told = measured_with(programs)
    of_one = next(iter(told)) if len(told) == 1 else None
    first = of_one or (None if told else found)
    yield (
        Cell(cut(version.label, _NAME_LENGTH)),
        Cell(answer.flip, tone=flip.ANSWER_TONES[answer.flip]) if answer.flip else NOTHING,
        Cell(counts_of(answer)),
        Cell(cut(answer.first, _TEXT_LENGTH)),
        *_facts(first, _TOLD),
        *_facts(found, _FACTS),
    )
    for measured, sides in told.items() if of_one is None else ():
        name = cut(f"{version.label}: {', '.join(sides)}", _NAME_LENGTH)
        empty = [Cell("")] * 3
        yield (Cell(name), *empty, *_facts(measured, _TOLD), *[Cell("")] * len(_FACTS))


def _facts(of: MeasuredWith | Environment | None, names: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(Cell(str(getattr(of, name))) if of else NOTHING for name in names)


def _table(
    grid: Grid, groups: Sequence[Sequence[GridRow]], anchors: dict[str, str], notice: str
) -> Table:
    titles = [each.label for each in grid.versions]
    cells = tuple(
        (
            Cell(_names(rows), link=anchors.get(rows[0].name, "")) if number == 0 else Cell(""),
            Cell(line.label),
            *line.cells,
            _first_change(rows[0]) if number == 0 else Cell(""),
        )
        for rows in groups
        for number, line in enumerate(lines(grid, rows[0]))
    )
    heads = columns(("program", "line", *titles, "verdict first changes"))
    return Table("Programs by version of JAX", heads, cells, notice)


def _names(rows: Sequence[GridRow], length: int = _NAMES_LENGTH) -> str:
    names = ", ".join(row.name for row in rows)
    count = f"{len(rows):,} programs: " if len(rows) > 1 else ""
    return cut(f"{count}{names}", length)


def _first_change(row: GridRow) -> Cell:
    change = row.first_change
    return Cell(first_changed(change) if change else "never")


def _notes(grid: Grid) -> tuple[str, ...]:
    apart = besides(grid)
    return (
        "The line of a flip compares the two sides of the flag on one version. A line of a flag "
        "compares one side with the last version before that has run the program.",
        "Outputs, their types and placement, effects and failures are judged across versions. "
        "Counters are shown with each program, and judged by nobody.",
        *((f"{apart[:1].upper()}{apart[1:]}.",) if apart else ()),
    )


# -- programs of which the same is told ------------------------------------------------------------


def _section(grid: Grid, rows: Sequence[GridRow], anchor: str) -> GridSection:
    first, of_flip = rows[0], lines(grid, rows[0])[0].cells
    return GridSection(
        anchor=anchor,
        name=_names(rows, _NAME_LENGTH),
        verdict=" · ".join(cell.text for cell in of_flip),
        tone=min((cell.tone for cell in of_flip), key=_WORST_FIRST.index),
        tables=_with_rows(_programs(rows), _verdicts(first), _across(grid.changes_of(first.name))),
        folded=_with_rows(_reasons(grid, rows), _counters(grid, rows)),
    )


def _programs(rows: Sequence[GridRow]) -> Table:
    cells = tuple(
        (
            Cell(cut(row.name, _NAME_LENGTH)),
            Cell(cut(row.source, _VALUE_LENGTH)),
            Cell(cut(row.summary, _VALUE_LENGTH)),
        )
        for row in rows[:_MAX_ROWS]
    )
    titles = columns(("program", "source", "summary"))
    return Table("Programs", titles, cells, left_out(rows, cells, "programs"))


def _verdicts(row: GridRow) -> Table:
    changed = {each.after.version for each in row.changes}
    rows = tuple(
        (
            Cell(cell.version),
            Cell(_comes_to(cell), tone=flip.TONES[cell.flip] if cell.flip else "warn"),
            Cell("changed", tone="note") if cell.version in changed else Cell(""),
            Cell(cut(cell.why, _TEXT_LENGTH)) if cell.why else NOTHING,
        )
        for cell in row.cells
    )
    return Table("What a flip comes to", columns(("version", "flip", "", "why")), rows)


def _comes_to(cell: GridCell) -> str:
    return cell.flip or cell.state


def _across(changes: Sequence[VersionChange]) -> Table:
    rows = tuple(
        (
            Cell(SIDE_LINES[each.side]),
            Cell(each.before),
            Cell(each.after),
            Cell(each.outcome, tone=tone_of(each.outcome)),
            Cell(cut(each.detail, _TEXT_LENGTH)),
            Cell(cut("; ".join(each.causes), _TEXT_LENGTH)) if each.causes else Cell(""),
        )
        for each in changes
    )
    titles = ("flag", "from", "to", "outcome", "what", "other inputs")
    return Table("From version to version, the flag left alone", columns(titles), rows)


def _reasons(grid: Grid, rows: Sequence[GridRow]) -> Table:
    """Make one line for each reason that decides a verdict, with what helps."""
    found = [
        (row.name, version.label, reason)
        for row in rows
        for version in grid.versions
        if (of := version.row(row.name)) and of.flip and of.flip.outcome != "safe"
        for reason in of.flip.reasons
        if reason.outcome == of.flip.outcome
    ]
    cells = tuple(
        (
            Cell(cut(name, _NAME_LENGTH)),
            Cell(label),
            Cell(cut(reason.what, _TEXT_LENGTH)),
            Cell(cut(reason.where, _VALUE_LENGTH)) if reason.where else NOTHING,
            Cell(cut(reason.action, _TEXT_LENGTH)) if reason.action else NOTHING,
        )
        for name, label, reason in found[:_MAX_ROWS]
    )
    titles = columns(("program", "version", "reason", "where", "what helps"))
    return Table("Reasons that decide", titles, cells, left_out(found, cells, "reasons"))


def _counters(grid: Grid, rows: Sequence[GridRow]) -> Table:
    found = [
        (row.name, change, each)
        for row in rows
        for change in grid.changes_of(row.name)
        for each in change.counters
    ]
    cells = tuple(
        (
            Cell(cut(name, _NAME_LENGTH)),
            Cell(SIDE_LINES[change.side]),
            Cell(change.before),
            Cell(change.after),
            Cell(each.metric),
            Cell(cut(each.left_value, _VALUE_LENGTH)),
            Cell(cut(each.right_value, _VALUE_LENGTH)),
        )
        for name, change, each in found[:_MAX_ROWS]
    )
    words, numbers = ("program", "flag", "from", "to", "counter"), ("before", "after")
    heads = (*columns(words), *columns(numbers, numeric=True))
    notice = left_out(found, cells, "counters")
    return Table("Counters that change, not judged", heads, cells, notice)


def _with_rows(*tables: Table) -> tuple[Table, ...]:
    return tuple(table for table in tables if table.rows)
