"""A planned campaign as a document: the answer, the states that add up to the plan, the causes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from reports.document import (
    Cell,
    Detail,
    Document,
    Heading,
    Items,
    Later,
    Line,
    Section,
    Sections,
    Table,
    Tone,
    cells,
    columns,
    items,
)
from reports.rows.plan import (
    MEANINGS,
    STATES,
    CauseGroup,
    PlanLibrary,
    PlanProof,
    PlanReport,
    State,
)
from reports.views.texts import counted, cut

_NAME_LENGTH = 120
_NAMES_IN_A_LINE = 5
_OPEN = 3  # causes that a reader sees at once
TONES: dict[State, Tone] = {
    "not run": "warn", "lost": "warn", "unavailable": "", "refused": "",
    "could not compare": "warn", "not repeatable": "warn", "disagree": "bad", "breaks": "bad",
    "agrees here, not proved": "warn", "placed otherwise": "warn", "at a price": "note",
    "proved": "good", "safe": "good",
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
    "agrees here, not proved": "agree here, not proved",
}


def document(report: PlanReport) -> Document:
    """Make the document of a planned campaign, what is most severe first."""
    said, tone = answer(report)
    return Document(
        question="What does the flip come to in this campaign?",
        answer=said,
        tone=tone,
        lines=tuple(lines(report)),
        parts=(
            libraries(report),
            states(report),
            Detail((_environments(report),)),
            Heading("Causes"),
            Sections(causes(report), "causes", none="None."),
        ),
    )


def answer(report: PlanReport) -> tuple[str, Tone]:
    """Say the worst of it in one line, with everything that is not known beside it."""
    title, tone = _answer_of_programs(report)
    if not (left_out := sum(bool(each.left_out) for each in report.libraries)):
        return title, tone
    libraries = counted(left_out, "library")
    return f"{title}; {libraries} left out", "warn" if tone == "good" else tone


def _answer_of_programs(report: PlanReport) -> tuple[str, Tone]:
    found, whole = report.states, f"of {counted(report.planned, 'program')}"
    parts = [
        (f"{found[state]:,} {words}", TONES[state])
        for state, words in _SAID.items()
        if found.get(state)
    ]
    if report.not_timed:
        parts.append((f"{len(report.not_timed):,} not timed", "warn"))
    if report.proof and (wrong := len(report.proof.contradicted)):
        parts.insert(0, (_contradict(wrong), "bad"))
    if not parts:
        unavailable, proved = found.get("unavailable", 0), found.get("proved", 0)
        rest = f"; {proved:,} proved and not run" if proved else ""
        rest += f"; {unavailable:,} unavailable" if unavailable else ""
        return f"nothing breaks, {whole}{rest}", "good"
    return f"{whole}: {', '.join(text for text, _ in parts)}".removeprefix("of "), parts[0][1]


def lines(report: PlanReport) -> Iterator[str]:
    """Yield the sentences below the answer, the broken rules among them."""
    name = f"Campaign {report.name}" + (f", shard {report.shard}" if report.shard else "")
    ended = f"ended {report.finished}" if report.finished else "has not ended"
    yield f"{name}: begun {report.started}, {ended}. Sides: {', '.join(report.sides)}"
    yield from broken_rules(report)
    if report.proof:
        yield from _proof(report.proof, report.planned, report.states.get("proved", 0))
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


def libraries(report: PlanReport) -> Items:
    """Say which libraries left no programs and why, and of which tests fail."""
    out = (
        f"Left out: {_named(each)}: {each.left_out}" for each in report.libraries if each.left_out
    )
    failing = (
        f"Unexpected failures: {counted(len(each.failures), 'test')} of {_named(each)}: "
        f"{_first(each.failures)}"
        for each in report.libraries
        if each.failures
    )
    return items([*out, *failing], "lines on libraries")


def _named(library: PlanLibrary) -> str:
    return f"library {library.name} {library.version}"


def _against_themselves(report: PlanReport) -> str:
    """Name the programs that A/A set apart."""
    names = _first(list(report.differ_from_themselves))
    return f"Not repeatable, for they differ where {report.sides[0]} runs twice: {names}"


def _proof(proof: PlanProof, planned: int, in_state: int) -> Iterator[str]:
    """Say how many programs are proved and were not run, and what those show that were.

    The others than those `in_state` proved have a state that their hazards decide.
    """
    wrong, elsewhere = proof.contradicted, proof.not_run - in_state
    said = (
        f"{proof.not_run:,} of {counted(planned, 'program')} {_are(proof.not_run)} proved and "
        f"{_were(proof.not_run)} not run"
        f"{f' ({elsewhere:,} in another state, by a hazard)' if elsewhere > 0 else ''}; "
        f"{proof.sampled:,} more {_are(proof.sampled)} proved and "
        f"{_were(proof.sampled)} run as a sample"
    )
    if wrong:
        said += f": {_contradict(len(wrong))}"
    elif proof.sampled:
        it = "it does" if proof.sampled == 1 else "they do"
        said += f": {it} not differ in what the proof excludes"
    yield said
    for name, what in wrong.items():
        yield f"A fault of constparity or of JAX, for its proof excludes it: {name}: {what}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _contradict(count: int) -> str:
    return f"{count:,} contradicts its proof" if count == 1 else f"{count:,} contradict their proof"


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


def states(report: PlanReport) -> Table:
    """Count the programs in each state; the counts add up to the plan."""
    heads = (
        *columns(("state",)),
        *columns(("programs",), numeric=True),
        *columns(("what it means",)),
    )
    rows = [
        cells(Cell(state, tone=TONES[state]), f"{report.states[state]:,}", MEANINGS[state])
        for state in reversed(STATES)
        if report.states.get(state)
    ]
    whole = cells("all", f"{sum(report.states.values()):,}", "the plan")
    return Table("Each program is in one state", heads, (*rows, whole))


def _environments(report: PlanReport) -> Table:
    found = [state for state in reversed(STATES) if report.states.get(state)]
    heads = (
        *columns(("environment", "python", "device")),
        *columns(("programs", *found), numeric=True),
        *columns(("machines", "measured with")),
    )
    rows = tuple(
        cells(
            f"jax {each.environment.jax}",
            each.environment.python,
            each.environment.device_kind,
            f"{sum(each.states.values()):,}",
            *(Cell(f"{each.states.get(state, 0):,}") for state in found),
            _with_counts(each.machines),
            _with_counts(each.versions),
        )
        for each in report.environments
    )
    return Table("Environments, and the machines that measured", heads, rows)


def _with_counts(programs: dict[str, int]) -> str:
    if len(programs) == 1:
        return next(iter(programs))
    return "; ".join(f"{name} ({count:,})" for name, count in programs.items())


def causes(report: PlanReport) -> tuple[Section, ...]:
    """Make a section for each cause: what was seen, what helps, and its programs.

    Example::

        causes(report)[0].title == "7 programs: outputs differ"
    """
    options = {each.run: each.options for each in report.environments}
    return tuple(
        Section(
            title=f"{counted(len(each.programs), 'program')}: "
            f"{each.symptom or MEANINGS[each.state]}",
            state=each.state,
            tone=TONES[each.state],
            is_open=number <= _OPEN,
            members=len(each.programs),
            parts=(
                Items(tuple(facts(each, options.get(each.run, "")))),
                Section("Its programs", Later(partial(_members, each))),
            ),
        )
        for number, each in enumerate(report.causes, 1)
    )


def _members(cause: CauseGroup) -> tuple[Items]:
    return (items(cause.programs, "programs of this cause"),)


def facts(cause: CauseGroup, options: str) -> Iterator[Line]:
    """Yield what is known of a cause; `options` are those of its environment."""
    can_run = cause.target and cause.state != "unavailable"
    command = f"{shlex.join(['constparity', 'run', cause.target])} {options}".strip()
    found = {
        "What helps:": cause.action,
        "Line:": cause.line,
        "First equation that differs:": cause.equation,
        "Smallest example:": cause.example,
        "Run it:": command if can_run else "",
    }
    yield from (Line(what, word) for word, what in found.items() if what)
