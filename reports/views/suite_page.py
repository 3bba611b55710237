"""A test-suite as a page: its tables and sentences, before any markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.rows.flip import FlipVerdict
from reports.rows.suite import SuiteDifference, SuiteProgram, SuiteResult
from reports.views import flip
from reports.views.cells import Cell, Column, Table, Tone, columns
from reports.views.suite_texts import (
    NOT_SEEN,
    answer,
    entry,
    headline,
    measured,
    rule,
    state_of,
    states,
    what_differs,
)
from reports.views.texts import counted, cut, left_out

MAX_PROGRAMS = 2000  # lines of the table
_MAX_ROWS = 60  # of the table of one program
_NAME_LENGTH = 120
_TEXT_LENGTH = 500
_WORST_FIRST: tuple[Tone, ...] = ("bad", "warn", "note", "good", "")


@dataclass(frozen=True)
class SuiteSection:
    """A program that differs: how, in which tests, and which arrays it captured."""

    anchor: str
    name: str
    source: str
    verdict: str
    tone: Tone
    tables: tuple[Table, ...]
    first: str  # how it differs, in the first of its tests
    tests: str

    @property
    def open(self) -> bool:
        """Whether a reader should see it at once."""
        return self.tone == "bad"


@dataclass(frozen=True)
class SuitePage:
    """A whole report on a suite: the answer, the tables, then a section for what differs."""

    title: str
    tone: Tone
    lines: tuple[str, ...]
    facts: str
    programs: Table
    tables: tuple[Table, ...]  # what was not shadowed, lists, baseline, lost processes
    sections: tuple[SuiteSection, ...]


def suite_page(result: SuiteResult) -> SuitePage:
    """Make the page of a suite, the programs first that differ.

    Example::

        suite_page(load_suite("suite.json")).title == "no difference in 12 compared programs"
    """
    of: dict[str, list[SuiteDifference]] = {}
    for each in result.differences:
        of.setdefault(each.program, []).append(each)
    sections = sorted(
        (_section(f"program-{number}", rows) for number, rows in enumerate(of.values(), 1)),
        key=lambda section: _WORST_FIRST.index(section.tone),
    )
    anchors = dict(zip(of, (f"program-{number}" for number in range(1, len(of) + 1)), strict=True))
    title, tone = answer(result)
    return SuitePage(
        title=title,
        tone=tone,
        lines=tuple(_lines(result)),
        facts=_facts(result),
        programs=_programs(result, of, anchors),
        tables=tuple(
            table
            for table in (
                _rules(result),
                _not_shadowed(result),
                _known(result),
                _baseline(result),
                _lost(result),
            )
            if table.rows
        ),
        sections=tuple(sections),
    )


def _lines(result: SuiteResult) -> Iterator[str]:
    yield (
        f"{counted(len(result.programs), 'program')} of {counted(result.tests, 'test')} ran on "
        f"both pipelines, and {counted(result.compared_tests, 'test')} compared at least one; the "
        f"tests saw {result.sees}"
    )
    yield NOT_SEEN[0].upper() + NOT_SEEN[1:]
    if said := states(result):
        yield f"Differences: {said}"
    yield measured(result)


def _facts(result: SuiteResult) -> str:
    found = result.versions
    device = found.device_kind or found.backend or "no device"
    return (
        f"constparity {found.constparity} · jax {found.jax} · jaxlib {found.jaxlib} · "
        f"numpy {found.numpy} · Python {found.python} · {cut(device, _NAME_LENGTH)}"
    )


def _programs(
    result: SuiteResult, of: dict[str, list[SuiteDifference]], anchors: dict[str, str]
) -> Table:
    rows = [
        (_WORST_FIRST.index(tone), each, Cell(said, tone=tone))
        for each in result.programs
        for said, tone in [state_of(each, of.get(each.identity, ()))]
    ]
    rows.sort(key=lambda row: row[0])
    shown = rows[:MAX_PROGRAMS]
    cells = tuple(
        (
            Cell(cut(each.name, _NAME_LENGTH), link=anchors.get(each.identity, "")),
            state,
            Cell(cut(each.source, _NAME_LENGTH)),
            Cell(cut(", ".join(each.arguments), _NAME_LENGTH)),
            Cell(f"{each.equations:,}"),
            Cell(f"{each.captured:,}"),
            Cell(f"{each.captured_bytes:,}"),
            Cell(_note(each)),
        )
        for _, each, state in shown
    )
    heads = (
        *columns(("program", "legacy and simplified", "source", "arguments")),
        *columns(("equations", "arrays captured", "bytes"), numeric=True),
        Column("not compared each time, because"),
    )
    return Table("Programs that the tests ran", heads, cells, left_out(rows, shown, "programs"))


def _note(program: SuiteProgram) -> str:
    if program.not_compared:
        return cut("; ".join(program.not_compared), _TEXT_LENGTH)
    return "captured nothing: both sides run one executable" if program.one_executable else ""


def _section(anchor: str, rows: Sequence[SuiteDifference]) -> SuiteSection:
    first = min(rows, key=lambda row: row.state == "known")
    bad = any(each.state != "known" for each in rows)
    tests = {each.test or "outside of tests" for each in rows}
    return SuiteSection(
        anchor=anchor,
        name=cut(first.name, _NAME_LENGTH),
        source=cut(first.source, _NAME_LENGTH),
        verdict="different" if bad else "known difference",
        tone="bad" if bad else "warn",
        tables=(_differences(rows), *_why(first), _captured(first)),
        first=cut(what_differs(first) or headline(first), _TEXT_LENGTH),
        tests=f"{counted(len(tests), 'test')}, as {cut(min(tests), _NAME_LENGTH)}",
    )


def _differences(rows: Sequence[SuiteDifference]) -> Table:
    cells = tuple(
        (
            Cell(cut(each.test or "outside of tests", _TEXT_LENGTH)),
            Cell(each.phase),
            Cell(cut(what_differs(each) or headline(each), _TEXT_LENGTH)),
            Cell(each.state, tone="warn" if each.state == "known" else "bad"),
            Cell(cut(each.because, _TEXT_LENGTH)),
        )
        for each in rows[:_MAX_ROWS]
    )
    heads = columns(("test", "phase", "difference", "state", "because"))
    return Table("Differences", heads, cells, left_out(rows, cells, "differences"))


def _why(row: SuiteDifference) -> Iterator[Table]:
    """Yield the table of why, and what helps: the one that `constparity run` has of a program."""
    if row.reasons:
        outcome = row.reasons[0].outcome
        yield flip.reasons(
            FlipVerdict(left=row.left, right=row.right, outcome=outcome, reasons=row.reasons)
        )


def _captured(row: SuiteDifference) -> Table:
    cells = tuple(
        (
            Cell(f"{cut(each.file, _NAME_LENGTH)}:{each.line}" if each.file else "not known"),
            Cell(cut(each.function, _NAME_LENGTH)),
            Cell(cut(each.aval, _NAME_LENGTH)),
            Cell(f"{each.bytes:,}"),
            Cell(f"{each.uses:,}"),
        )
        for each in row.captured[:_MAX_ROWS]
    )
    heads = (
        *columns(("first used at", "in", "array")),
        *columns(("bytes", "uses"), numeric=True),
    )
    return Table("Arrays that it captured", heads, cells, left_out(row.captured, cells, "arrays"))


def _not_shadowed(result: SuiteResult) -> Table:
    reasons = Counter(why for each in result.programs for why in each.not_compared)
    whole = [(Cell(cut(each, _TEXT_LENGTH)), Cell("")) for each in result.outside]
    single = [
        (Cell(cut(why, _TEXT_LENGTH)), Cell(counted(count, "program")))
        for why, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    ]
    rows = tuple([*whole, *single])
    shown = rows[:_MAX_ROWS]
    heads = columns(("why", "how many"))
    return Table("What was not shadowed, and why", heads, shown, left_out(rows, shown, "reasons"))


def _known(result: SuiteResult) -> Table:
    tones: dict[str, Tone] = {"known": "warn", "fixed": "bad", "expired": "bad"}
    rows = [
        (Cell(each.state, tone=tones.get(each.state, "")), Cell(cut(entry(each), _TEXT_LENGTH)))
        for each in result.known
    ]
    rows.sort(key=lambda row: _WORST_FIRST.index(row[0].tone))
    shown = tuple(rows[:_MAX_ROWS])
    heads = columns(("state", "entry"))
    return Table("Lists of known differences", heads, shown, left_out(rows, shown, "entries"))


def _rules(result: SuiteResult) -> Table:
    rows = tuple(
        (
            Cell("broken" if each.broken_by else "kept", tone="bad" if each.broken_by else "good"),
            Cell(cut(rule(each), _TEXT_LENGTH)),
        )
        for each in (result.measured.rules if result.measured else ())
    )
    return Table("Rules on the collected programs", columns(("state", "rule")), rows)


def _baseline(result: SuiteResult) -> Table:
    rows = tuple(
        (
            Cell(cut(each.program, _TEXT_LENGTH)),
            Cell(each.accepted or "no entry"),
            Cell(each.found or "did not run"),
            Cell(cut(each.what_to_do, _TEXT_LENGTH)),
        )
        for each in result.baseline[:_MAX_ROWS]
    )
    heads = columns(("program", "accepted", "found", "what to do"))
    notice = left_out(result.baseline, rows, "programs")
    return Table("Programs that are not as in the baseline", heads, rows, notice)


def _lost(result: SuiteResult) -> Table:
    rows = tuple(
        (Cell(cut(each.worker, _NAME_LENGTH)), Cell(cut(each.test, _TEXT_LENGTH)), Cell(each.what))
        for each in result.lost[:_MAX_ROWS]
    )
    heads = columns(("process", "test", "what"))
    notice = left_out(result.lost, rows, "processes")
    return Table("Processes that ended early", heads, rows, notice)
