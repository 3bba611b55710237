"""A grid as a document: its answers, every program on every version, and what changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from reports.document import (
    NOTHING,
    WORST_FIRST,
    Cell,
    Column,
    Detail,
    Document,
    Heading,
    Later,
    Paragraph,
    Section,
    Sections,
    Table,
    cells,
    columns,
    items,
    with_rows,
)
from reports.rows import Environment, Failure, MeasuredWith, ProgramRow, Side
from reports.rows.grid import Grid, VersionAnswer
from reports.rows.grid_row import GridRow, GridVersion, VersionChange
from reports.views import flip, growth
from reports.views.grid_cells import (
    SIDE_LINES,
    alike,
    first_changed,
    is_quiet,
    legend,
    lines,
    of_quiet,
    times_of,
    tone_of,
    worst_first,
)
from reports.views.measured import measured_with

_FRAME = re.compile(r'^ *File "(.+)", line (\d+)', re.MULTILINE)
# What a reader must know of each environment, by the names of its fields. Each process has told
# the first of them, and the process that collected the programs the others.
_TOLD = ("jax", "jaxlib", "python", "backend")
_FACTS = ("numpy", "device_kind")
# Facts in which environments of one grid are expected to differ. The processes of all of them run
# the constparity that started them, whichever is installed beside their JAX.
_OF_VERSIONS = ("jax", "jaxlib", "constparity")


def document(grid: Grid) -> Document:
    """Make the document of a grid, the programs first that a flip breaks."""
    headline, rows = grid.headline, worst_first(grid)
    groups = alike(grid, rows)
    news = [each for each in groups if not is_quiet(grid, each[0])]
    anchors = {each[0].name: f"programs-{number}" for number, each in enumerate(news, 1)}
    quiet = of_quiet(grid, grid.programs)
    words = legend([line for row in rows for line in lines(grid, row)])
    sections = tuple(_section(grid, each, anchors[each[0].name]) for each in news)
    return Document(
        answer=_title(headline.versions),
        tone=flip.ANSWER_TONES[headline.flip] if headline.flip else "",
        lines=(
            *(f"{line}." for line in (headline.question, headline.verdicts, headline.left_alone)),
            *((f"{grid.search[:1].upper()}{grid.search[1:]}.",) if grid.search else ()),
            f"Measured {grid.created}.",
        ),
        parts=(
            _versions(grid),
            _table(grid, groups, anchors),
            *map(Paragraph, words),
            Detail(
                (
                    items(_notes(grid), "notes"),
                    *with_rows(failures(grid)),
                    Heading("Programs"),
                    Sections(
                        sections,
                        "programs",
                        none="None is shown. For all programs a flip is "
                        f"{'; '.join(known for known, _ in quiet) or 'not known'}.",
                    ),
                )
            ),
        ),
        file="RESULT.json",
    )


def failures(grid: Grid) -> Table:
    """Make a line for each failure of a side, with its versions and its programs."""
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
        cells(
            ", ".join(labels),
            flag,
            Cell(said, tone="bad"),
            raised_at or NOTHING,
            count,
            names,
        )
        for (flag, said, raised_at, names, count), labels in alike.items()
    )
    titles = (
        *columns(("versions", "flag", "failure", "raised at")),
        Column("programs", numeric=True),
        Column("which"),
    )
    return Table("Failures, as they were raised", titles, rows, what="failures")


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
    yield cells(
        version.label,
        Cell(answer.flip, tone=flip.ANSWER_TONES[answer.flip]) if answer.flip else NOTHING,
        counts_of(answer),
        answer.first,
        *_facts(first, _TOLD),
        *_facts(found, _FACTS),
    )
    for measured, sides in told.items() if of_one is None else ():
        name = f"{version.label}: {', '.join(sides)}"
        empty = [Cell("")] * 3
        yield (Cell(name), *empty, *_facts(measured, _TOLD), *[Cell("")] * len(_FACTS))


def _facts(of: MeasuredWith | Environment | None, names: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(Cell(str(getattr(of, name))) if of else NOTHING for name in names)


def _table(grid: Grid, groups: Sequence[Sequence[GridRow]], anchors: Mapping[str, str]) -> Table:
    titles = [each.label for each in grid.versions]
    made = tuple(
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
    return Table("Programs by version of JAX", heads, made)


def _names(rows: Sequence[GridRow]) -> str:
    names = ", ".join(row.name for row in rows)
    count = f"{len(rows):,} programs: " if len(rows) > 1 else ""
    return f"{count}{names}"


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
        "On the HTML page a cell shows what is behind its word when pointed at.",
        *((f"{apart[:1].upper()}{apart[1:]}.",) if apart else ()),
        *(f"{line}." for line in growth.lines(grid.campaigns)),
    )


# -- programs of which the same is told ------------------------------------------------------------


def _section(grid: Grid, rows: Sequence[GridRow], anchor: str) -> Section:
    first, of_flip = rows[0], lines(grid, rows[0])[0].cells
    tone = min((cell.tone for cell in of_flip), key=WORST_FIRST.index)
    return Section(
        title=_names(rows),
        state=" · ".join(cell.text for cell in of_flip),
        tone=tone,
        anchor=anchor,
        is_open=tone == "bad",
        parts=Later(
            lambda: with_rows(
                _programs(rows),
                _verdicts(first),
                _across(grid.changes_of(first.name)),
                _reasons(grid, rows),
                _counters(grid, rows),
            )
        ),
    )


def _programs(rows: Sequence[GridRow]) -> Table:
    made = tuple(cells(row.name, row.source, row.summary) for row in rows)
    titles = columns(("program", "source", "summary"))
    return Table("Programs", titles, made, what="programs")


def _verdicts(row: GridRow) -> Table:
    changed = {each.after.version for each in row.changes}
    rows = tuple(
        cells(
            cell.version,
            Cell(cell.flip or cell.state, tone=flip.TONES[cell.flip] if cell.flip else "warn"),
            Cell("changed", tone="note") if cell.version in changed else "",
            cell.why or NOTHING,
        )
        for cell in row.cells
    )
    return Table("What a flip comes to", columns(("version", "flip", "", "why")), rows)


def _across(changes: Sequence[VersionChange]) -> Table:
    rows = tuple(
        cells(
            SIDE_LINES[each.side],
            each.before,
            each.after,
            Cell(each.news or each.outcome, tone=tone_of(each)),
            "; ".join(filter(None, (each.detail, times_of(each)))),
            "; ".join(each.causes),
            each.by_numbers or NOTHING,
        )
        for each in changes
    )
    titles = ("flag", "from", "to", "outcome", "what", "other inputs", "by its digests")
    return Table("From version to version, the flag left alone", columns(titles), rows)


def _reasons(grid: Grid, rows: Sequence[GridRow]) -> Table:
    """Make one line for each reason that decides a verdict, with what helps."""
    made = tuple(
        cells(
            row.name,
            version.label,
            reason.what,
            reason.where or NOTHING,
            reason.action or NOTHING,
        )
        for row in rows
        for version in grid.versions
        if (of := version.row(row.name)) and of.flip and of.flip.outcome != "safe"
        for reason in of.flip.reasons
        if reason.outcome == of.flip.outcome
    )
    titles = columns(("program", "version", "reason", "where", "what helps"))
    return Table("Reasons that decide", titles, made, what="reasons", is_folded=True)


def _counters(grid: Grid, rows: Sequence[GridRow]) -> Table:
    made = tuple(
        cells(
            row.name,
            SIDE_LINES[change.side],
            change.before,
            change.after,
            each.metric,
            each.left_value,
            each.right_value,
        )
        for row in rows
        for change in grid.changes_of(row.name)
        for each in change.counters
    )
    words, numbers = ("program", "flag", "from", "to", "counter"), ("before", "after")
    heads = (*columns(words), *columns(numbers, numeric=True))
    return Table("Counters that change, not judged", heads, made, what="counters", is_folded=True)
