"""A test-suite as a document: the answer, what differs, then the programs and the lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from reports.document import (
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
    Tone,
    cells,
    columns,
    with_rows,
)
from reports.documents import proofs
from reports.rows.flip import FlipVerdict
from reports.rows.suite import SuiteDifference, SuiteProgram, SuiteResult
from reports.views import flip
from reports.views.suite_texts import (
    answer,
    entry,
    headline,
    measured,
    not_seen,
    ran,
    rule,
    state_of,
    states,
    what_differs,
)
from reports.views.texts import counted


def document(result: SuiteResult) -> Document:
    """Make the document of a suite, the programs first that differ."""
    of: dict[str, list[SuiteDifference]] = {}
    for each in result.differences:
        of.setdefault(each.program, []).append(each)
    anchors = {program: f"program-{number}" for number, program in enumerate(of, 1)}
    sections = [_section(anchors[program], rows) for program, rows in of.items()]
    sections.sort(key=lambda section: WORST_FIRST.index(section.tone))
    said, tone = answer(result)
    asked = "Does this test-suite see a difference between the pipelines?"
    return Document(
        question=_OF_PROOFS if result.is_proof else asked,
        answer=said,
        tone=tone,
        lines=tuple(_lines(result)),
        parts=(
            Heading("Differences"),
            Sections(tuple(sections), "programs that differ", none="None."),
            *with_rows(
                _rules(result),
                _not_shadowed(result),
                _known(result),
                _baseline(result),
                _lost(result),
            ),
            Detail((Heading("Programs"), _programs(result, of, anchors))),
        ),
        file="SUITE.json",
    )


_OF_PROOFS = "Are both forms of each program that this test-suite jits one computation?"


def _lines(result: SuiteResult) -> Iterator[str]:
    yield ran(
        result, compared=f", and {counted(result.compared_tests, 'test')} compared at least one"
    )
    yield not_seen(result)[0].upper() + not_seen(result)[1:]
    if said := states(result):
        yield f"Differences: {said}"
    if not result.is_proof:
        yield measured(result)
    yield f"{'Traced' if result.is_proof else 'Measured'} with {_facts(result)}"


def _facts(result: SuiteResult) -> str:
    found = result.versions
    device = found.device_kind or found.backend or "no device"
    return (
        f"constparity {found.constparity} · jax {found.jax} · jaxlib {found.jaxlib} · "
        f"numpy {found.numpy} · Python {found.python} · {device}"
    )


def _programs(
    result: SuiteResult, of: dict[str, list[SuiteDifference]], anchors: dict[str, str]
) -> Table:
    found = [(each, *state_and_tone(each, of.get(each.identity, ()))) for each in result.programs]
    found.sort(key=lambda each: WORST_FIRST.index(each[2]))
    rows = tuple(
        cells(
            Cell(each.name, link=anchors.get(each.identity, "")),
            Cell(state, tone=tone),
            each.source,
            ", ".join(each.arguments),
            f"{each.equations:,}",
            f"{each.captured:,}",
            f"{each.captured_bytes:,}",
            _note(each),
        )
        for each, state, tone in found
    )
    heads = (
        *columns(("program", "legacy and simplified", "source", "arguments")),
        *columns(("equations", "arrays captured", "bytes"), numeric=True),
        Column("why" if result.is_proof else "not compared each time, because"),
    )
    return Table("Programs that the tests ran", heads, rows, what="programs")


def state_and_tone(
    program: SuiteProgram, differences: Sequence[SuiteDifference]
) -> tuple[str, Tone]:
    """Return the state of a program in words, and its tone; `differences` are those of it."""
    if program.proof is None or differences:
        return state_of(program, differences)
    tone = proofs.TONES[program.proof.answer]
    is_noted = tone == "good" and proofs.is_told(program.proof)
    return proofs.state_of(program.proof), "note" if is_noted else tone


def _note(program: SuiteProgram) -> str:
    if program.proof is not None:
        return "; ".join(proofs.reasons_of(program.proof))
    if program.not_compared:
        return "; ".join(program.not_compared)
    return "captured nothing: both sides run one executable" if program.one_executable else ""


def _section(anchor: str, rows: Sequence[SuiteDifference]) -> Section:
    first = min(rows, key=lambda row: row.state == "known")
    bad = any(each.state != "known" for each in rows)
    tests = {each.test or "outside of tests" for each in rows}
    source = first.source or "an unknown place"
    said = f"In {counted(len(tests), 'test')}, as {min(tests)}; defined at {source}."
    return Section(
        title=first.name,
        state="different" if bad else "known difference",
        tone="bad" if bad else "warn",
        anchor=anchor,
        is_open=bad,
        parts=Later(
            lambda: (
                Paragraph(said),
                _differences(rows),
                *_why(first),
                _captured(first) if first.captured else Paragraph("It captured no arrays."),
            )
        ),
    )


def _differences(rows: Sequence[SuiteDifference]) -> Table:
    made = tuple(
        cells(
            each.test or "outside of tests",
            each.phase,
            what_differs(each) or headline(each),
            Cell(each.state, tone="warn" if each.state == "known" else "bad"),
            each.because,
        )
        for each in rows
    )
    heads = columns(("test", "phase", "difference", "state", "because"))
    return Table("Differences", heads, made, what="differences")


def _why(row: SuiteDifference) -> Iterator[Table]:
    """Yield the table of why, and what helps: the one that `constparity run` has of a program."""
    if row.reasons:
        outcome = row.reasons[0].outcome
        yield flip.reasons(
            FlipVerdict(left=row.left, right=row.right, outcome=outcome, reasons=row.reasons)
        )


def _captured(row: SuiteDifference) -> Table:
    made = tuple(
        cells(
            f"{each.file}:{each.line}" if each.file else "not known",
            each.function,
            each.aval,
            f"{each.bytes:,}",
            f"{each.uses:,}",
        )
        for each in row.captured
    )
    heads = (
        *columns(("first used at", "in", "array")),
        *columns(("bytes", "uses"), numeric=True),
    )
    return Table("Arrays that it captured", heads, made, what="arrays")


def _not_shadowed(result: SuiteResult) -> Table:
    reasons = Counter(why for each in result.programs for why in each.not_compared)
    whole = [(Cell(each), Cell("")) for each in result.outside]
    single = [
        (Cell(why), Cell(counted(count, "program")))
        for why, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    ]
    rows = (*whole, *single)
    heads = columns(("why", "how many"))
    title = "What was not proved, and why" if result.is_proof else "What was not shadowed, and why"
    return Table(title, heads, rows, what="reasons")


def _known(result: SuiteResult) -> Table:
    tones: dict[str, Tone] = {"known": "warn", "fixed": "bad", "expired": "bad"}
    rows = [
        (Cell(each.state, tone=tones.get(each.state, "")), Cell(entry(each)))
        for each in result.known
    ]
    rows.sort(key=lambda row: WORST_FIRST.index(row[0].tone))
    heads = columns(("state", "entry"))
    return Table("Lists of known differences", heads, tuple(rows), what="entries")


def _rules(result: SuiteResult) -> Table:
    rows = tuple(
        (
            Cell("broken" if each.broken_by else "kept", tone="bad" if each.broken_by else "good"),
            Cell(rule(each)),
        )
        for each in (result.measured.rules if result.measured else ())
    )
    return Table("Rules on the collected programs", columns(("state", "rule")), rows)


def _baseline(result: SuiteResult) -> Table:
    rows = tuple(
        cells(
            each.program, each.accepted or "no entry", each.found or "did not run", each.what_to_do
        )
        for each in result.baseline
    )
    heads = columns(("program", "accepted", "found", "what to do"))
    return Table("Programs that are not as in the baseline", heads, rows, what="programs")


def _lost(result: SuiteResult) -> Table:
    rows = tuple(cells(each.worker, each.test, each.what) for each in result.lost)
    heads = columns(("process", "test", "what"))
    return Table("Processes that ended early", heads, rows, what="processes")
