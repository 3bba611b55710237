"""A planned campaign as a page: its tables and sentences, before any markup."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.rows.plan import MEANINGS, STATES, CauseGroup, PlanLibrary, PlanReport, State
from reports.views.cells import Cell, Table, Tone, columns
from reports.views.texts import counted, cut

MEMBERS_SHOWN = 200
_NAME_LENGTH = 120
_NAMES_IN_A_LINE = 5
_LIBRARIES_SHOWN = 20
_TEXT_LENGTH = 400
_LINE_LENGTH = 1000
TONES: dict[State, Tone] = {
    "not run": "warn", "lost": "warn", "unavailable": "", "refused": "",
    "could not compare": "warn", "not repeatable": "warn", "disagree": "bad", "breaks": "bad",
    "placed otherwise": "warn", "at a price": "note", "safe": "good",
}  # fmt: skip

# What the answer names, the worst first.
_SAID: dict[State, str] = {
    "disagree": "disagree with stock JAX",
    "breaks": "break",
    "placed otherwise": "placed otherwise",
    "not run": "not run yet",
    "lost": "lost",
    "could not compare": "could not be compared",
    "not repeatable": "do not repeat themselves",
}


@dataclass(frozen=True)
class CauseSection:
    """One cause: what was seen, what helps, and its programs, of which the first are shown."""

    number: int
    state: State
    tone: Tone
    title: str
    facts: tuple[tuple[str, str], ...]  # a word, and what it is
    members: tuple[str, ...]
    programs: int

    @property
    def notice(self) -> str:
        """How many of its programs are not named; "" where all are."""
        left = self.programs - len(self.members)
        return f"{left:,} more programs have this cause; the JSON report names them" if left else ""


@dataclass(frozen=True)
class PlanPage:
    """A whole report: the answer, the states that add up to the plan, then the causes."""

    title: str
    tone: Tone
    lines: tuple[str, ...]
    states: Table
    environments: Table
    sections: tuple[CauseSection, ...]


def plan_page(report: PlanReport) -> PlanPage:
    """Make the page of a planned campaign, what is most severe first.

    Example::

        plan_page(plan_report(Path("runs.db"))).title == "1,204 of 10,000 programs break"
    """
    title, tone = _answer(report)
    options = {each.run: each.options for each in report.environments}
    return PlanPage(
        title=title,
        tone=tone,
        lines=tuple(_lines(report)),
        states=_states(report),
        environments=_environments(report),
        sections=tuple(
            _section(number, each, options.get(each.run, ""))
            for number, each in enumerate(report.causes, 1)
        ),
    )


def _answer(report: PlanReport) -> tuple[str, Tone]:
    """Say the worst of it in one line, with everything that is not known beside it."""
    title, tone = _answer_of_programs(report)
    if not (left_out := sum(bool(each.left_out) for each in report.libraries)):
        return title, tone
    libraries = counted(left_out, "library")
    return f"{title}; {libraries} left out", "warn" if tone == "good" else tone


def _answer_of_programs(report: PlanReport) -> tuple[str, Tone]:
    states, whole = report.states, f"of {counted(report.planned, 'program')}"
    parts = [
        (f"{states[state]:,} {words}", TONES[state])
        for state, words in _SAID.items()
        if states.get(state)
    ]
    if report.not_timed:
        parts.append((f"{len(report.not_timed):,} not timed", "warn"))
    if not parts:
        unavailable = states.get("unavailable", 0)
        rest = f"; {unavailable:,} unavailable" if unavailable else ""
        return f"nothing breaks, {whole}{rest}", "good"
    return f"{whole}: {', '.join(text for text, _ in parts)}".removeprefix("of "), parts[0][1]


def _lines(report: PlanReport) -> Iterator[str]:
    name = f"Campaign {report.name}" + (f", shard {report.shard}" if report.shard else "")
    ended = f"ended {report.finished}" if report.finished else "has not ended"
    yield f"{name}: begun {report.started}, {ended}. Sides: {', '.join(report.sides)}"
    yield from broken_rules(report)
    yield from _libraries(report.libraries)
    if report.differ_from_themselves:
        yield _against_themselves(report)
    if report.not_timed:
        count = len(report.not_timed)
        what = "was to be timed and has" if count == 1 else "were to be timed and have"
        yield f"{counted(count, 'program')} {what} no times: {_first(report.not_timed)}"
    if report.causes:
        groups = counted(len(report.causes), "cause")
        yield f"What is not safe has {groups}; programs of one cause are listed together"
    if report.coverage:
        yield _coverage(report.coverage)
    if report.tasks:
        were = "was" if report.tasks_lost == 1 else "were"
        lost = f", of which {report.tasks_lost:,} {were} lost" if report.tasks_lost else ""
        yield (
            f"{counted(report.tasks, 'task')}{lost}, {report.processor_seconds:,.0f} s of "
            f"processor time, of which its sides traced, lowered and compiled for "
            f"{report.floor_seconds:,.0f} s"
        )


def broken_rules(report: PlanReport) -> list[str]:
    """Say which rules programs break.

    Example::

        broken_rules(report) == ["fails on different: 3 programs"]
    """
    return [f"fails on {each.rule}: {counted(each.programs, 'program')}" for each in report.broken]


def _libraries(libraries: Sequence[PlanLibrary]) -> Iterator[str]:
    """Say which libraries left no programs and why, and of which tests fail."""
    told = [
        *(f"Left out: {_named(each)}: {each.left_out}" for each in libraries if each.left_out),
        *(
            f"Unexpected failures: {counted(len(each.failures), 'test')} of {_named(each)}: "
            f"{_first(each.failures)}"
            for each in libraries
            if each.failures
        ),
    ]
    yield from (cut(each, _LINE_LENGTH) for each in told[:_LIBRARIES_SHOWN])
    if (more := len(told) - _LIBRARIES_SHOWN) > 0:
        yield f"{more:,} more lines on libraries are left out; the JSON report has them"


def _named(library: PlanLibrary) -> str:
    return f"library {library.name} {library.version}"


def _against_themselves(report: PlanReport) -> str:
    """Name the programs that A/A set apart."""
    names = _first(list(report.differ_from_themselves))
    return f"Not repeatable, for they differ where {report.sides[0]} runs twice: {names}"


def _first(names: Sequence[str]) -> str:
    """Name the first of some, and say how many more there are."""
    shown = ", ".join(cut(each, _NAME_LENGTH) for each in names[:_NAMES_IN_A_LINE])
    more = len(names) - _NAMES_IN_A_LINE
    return f"{shown} and {more:,} more" if more > 0 else shown


def _coverage(coverage: Mapping[str, int]) -> str:
    counts = ", ".join(f"{coverage.get(kind, 0):,} of {what}" for kind, what in _COVERED.items())
    possible = coverage.get("possible transformation", 0)
    return f"The generated programs cover combinations: {counts}; {possible:,} of the first exist"


_COVERED = {
    "transformation": "a construct under a transformation",
    "nesting": "a construct in another",
    "constant": "a kind of constant in a construct",
}


def _states(report: PlanReport) -> Table:
    heads = (
        *columns(("state",)),
        *columns(("programs",), numeric=True),
        *columns(("what it means",)),
    )
    rows = [
        (Cell(state, tone=TONES[state]), Cell(f"{report.states[state]:,}"), Cell(MEANINGS[state]))
        for state in reversed(STATES)
        if report.states.get(state)
    ]
    whole = (Cell("all"), Cell(f"{sum(report.states.values()):,}"), Cell("the plan"))
    return Table("Each program is in one state", heads, (*rows, whole))


def _environments(report: PlanReport) -> Table:
    found = [state for state in reversed(STATES) if report.states.get(state)]
    heads = (
        *columns(("environment", "python", "device")),
        *columns(("programs", *found), numeric=True),
        *columns(("machines", "measured with")),
    )
    rows = tuple(
        (
            Cell(f"jax {each.environment.jax}"),
            Cell(each.environment.python),
            Cell(cut(each.environment.device_kind, _NAME_LENGTH)),
            Cell(f"{sum(each.states.values()):,}"),
            *(Cell(f"{each.states.get(state, 0):,}") for state in found),
            Cell(cut(_with_counts(each.machines), _TEXT_LENGTH)),
            Cell(cut(_with_counts(each.versions), _TEXT_LENGTH)),
        )
        for each in report.environments
    )
    return Table("Environments, and the machines that measured", heads, rows)


def _with_counts(programs: dict[str, int]) -> str:
    if len(programs) == 1:
        return next(iter(programs))
    return "; ".join(f"{name} ({count:,})" for name, count in programs.items())


def _section(number: int, cause: CauseGroup, options: str) -> CauseSection:
    shown = cause.programs[:MEMBERS_SHOWN]
    can_run = cause.target and cause.state != "unavailable"
    command = f"{shlex.join(['constparity', 'run', cause.target])} {options}".strip()
    facts: Sequence[tuple[str, str]] = (
        ("What helps", cause.action),
        ("Line", cause.line),
        ("First equation that differs", cause.equation),
        ("Smallest example", cause.example),
        ("Run it", command if can_run else ""),
    )
    return CauseSection(
        number=number,
        state=cause.state,
        tone=TONES[cause.state],
        title=f"{counted(len(cause.programs), 'program')}: "
        f"{cut(cause.symptom or MEANINGS[cause.state], _TEXT_LENGTH)}",
        facts=tuple((word, cut(what, _TEXT_LENGTH)) for word, what in facts if what),
        members=tuple(cut(each, _NAME_LENGTH) for each in shown),
        programs=len(cause.programs),
    )
