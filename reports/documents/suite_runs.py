"""A test-suite on both sides of stock JAX as a document, and the sentences about its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from reports.document import (
    Cell,
    Code,
    Detail,
    Document,
    Heading,
    Items,
    Line,
    Paragraph,
    Part,
    Section,
    Sections,
    Table,
    Tone,
    cells,
    columns,
    with_rows,
)
from reports.rows.suite_runs import SuiteComparison, SuiteOutcome, SuiteRuns, SuiteSide
from reports.views.texts import counted

# The processes of stock JAX show no programs, so what a test differs by is not known here.
WHAT_HELPS = (
    "why, and what helps: --constparity-bisect=1 finds the line; constparity lint names code that "
    "reads jaxprs or JAX's flag; pytest --constparity=prove on these tests names captured arrays"
)


def document(runs: SuiteRuns) -> Document:
    """Make the document of a suite that ran on both sides of stock JAX, what differs first."""
    said, tone = answer(runs)
    tests = {f"test-{number}": each for number, each in enumerate(judged(runs), 1)}
    tables = with_rows(_tests(tests), _fail_alike(runs), _version_changes(runs))
    sections = tuple(_section(anchor, *each) for anchor, each in tests.items())
    return Document(
        question="Does a test of this suite see the flip of JAX's flag?",
        answer=said,
        tone=tone,
        lines=tuple(_lines(runs)),
        parts=(
            _sides(runs.sides),
            Heading("Tests"),
            *(tables or [Paragraph("All are alike.")]),
            Detail((Sections(sections, "tests"),)),
        ),
        file="SUITE.json",
    )


def answer(runs: SuiteRuns) -> tuple[str, Tone]:
    """Return what the runs come to, in a few words, and how a reader should take it.

    Example::

        answer(runs) == ("2 tests differ", "bad")
    """
    if runs.differences:
        return _counted(len(runs.differences), "differs", "differ"), "bad"
    if runs.not_compared:
        return _counted(len(runs.not_compared), "was not compared", "were not compared"), "bad"
    if runs.fail_otherwise:
        said = ("fails otherwise on each side", "fail otherwise on each side")
        return _counted(len(runs.fail_otherwise), *said), "bad"
    if runs.faults:
        return runs.faults[0], "bad"
    if runs.left_out or not runs.tests:
        return "stopped early" if runs.left_out else "no test ran", "warn"
    if runs.not_repeatable:
        said = ("differed once and not again", "differed once and not again")
        return _counted(len(runs.not_repeatable), *said), "warn"
    if runs.set_the_flag:
        return _counted(len(runs.set_the_flag), "sets JAX's flag", "set JAX's flag"), "warn"
    if runs.fail_alike:
        return f"alike on both sides, where {counted(len(runs.fail_alike), 'test')} fail", "warn"
    return "alike on both sides", "good"


def judged(runs: SuiteRuns) -> Iterator[tuple[SuiteComparison, str, Tone]]:
    """Yield the tests of which a reader should know, the worst first, with a verdict each."""
    kinds: tuple[tuple[Sequence[SuiteComparison], str, Tone], ...] = (
        (runs.differences, "different", "bad"),
        (runs.not_compared, "not compared", "bad"),
        (runs.fail_otherwise, "fails otherwise", "bad"),
        (runs.not_repeatable, "not repeatable", "warn"),
        (runs.know_the_flag, "knows the flag", "good"),
        (runs.set_the_flag, "sets the flag", "warn"),
    )
    for found, verdict, tone in kinds:
        for each in found:
            yield each, verdict, tone


def sides_of(row: SuiteComparison) -> tuple[tuple[str, SuiteOutcome], ...]:
    """Return the outcomes of a test with the names of their sides."""
    return (("jax-legacy", row.legacy), ("jax-simplified", row.simplified))


def said_of(row: SuiteComparison) -> str:
    """Return what became of a test on both sides, in one line.

    Example::

        said_of(row) == "jax-legacy: passed; jax-simplified: failed: assert 0 (JAX 0.10.2)"
    """
    said = "; ".join(f"{side}: {outcome}" for side, outcome in sides_of(row))
    return f"{said} ({row.interpreter})"


def again_of(row: SuiteComparison) -> str:
    """Return what became of a test when it ran again; "" where it did not."""
    if row.again is None:
        return ""
    legacy, simplified = row.again
    return f"Again in fresh processes: {legacy} on jax-legacy, {simplified} on jax-simplified"


def why_of(row: SuiteComparison) -> str:
    """Return what helps with a test, at the line that raised; "" where that is not known.

    Example::

        why_of(row) == "test_model.py:7: capture a copy made before tracing, jnp.array(a)"
    """
    return ": ".join(filter(None, (row.where, row.action))) if row.action else ""


def doubt_of(side: SuiteSide) -> str:
    """Return why a side may not be what it should be; "" where it is."""
    doubts = []
    if side.doubt:
        doubts.append(f"its flag was {side.doubt}")
    if side.starts > 1:
        doubts.append(f"tests ended {side.starts - 1} of its {side.starts} processes")
    if side.ending:
        doubts.append(side.ending)
    return "; ".join(doubts)


def _lines(runs: SuiteRuns) -> Iterator[str]:
    yield (
        f"{counted(runs.tests, 'test')} on stock JAX, its flag off and on, in fresh processes: "
        f"{runs.alike:,} alike"
    )
    counts = {
        "different": runs.differences,
        "not compared": runs.not_compared,
        "fail otherwise on each side": runs.fail_otherwise,
        "not repeatable": runs.not_repeatable,
        "know the flag, one side skips them for that": runs.know_the_flag,
        "set the flag, so one side ran twice": runs.set_the_flag,
        "fail alike": runs.fail_alike,
    }
    if said := ", ".join(f"{len(found):,} {name}" for name, found in counts.items() if found):
        yield f"Not simply alike: {said}"
    if not all(each.action for each in runs.differences):
        yield WHAT_HELPS[0].upper() + WHAT_HELPS[1:]
    if runs.left_out:
        yield f"Stopped early: {counted(runs.left_out, 'test')} not among these"
    if runs.arguments:
        yield f"Arguments of pytest: {' '.join(runs.arguments)}"


def _counted(number: int, one: str, several: str) -> str:
    return f"{counted(number, 'test')} {one if number == 1 else several}"


def _sides(sides: Sequence[SuiteSide]) -> Table:
    rows = tuple(
        cells(
            each.side,
            f"JAX {each.jax}, jaxlib {each.jaxlib}, Python {each.python}",
            "not read" if each.flag_at_end is None else str(each.flag_at_end),
            ", ".join(f"{count:,} {word}" for word, count in each.counts.items()),
            f"{each.seconds:.1f}",
            Cell(doubt_of(each), tone="warn"),
        )
        for each in sides
    )
    heads = (
        *columns(("side", "versions", "flag at the end", "outcomes")),
        *columns(("seconds",), numeric=True),
        *columns(("to know",)),
    )
    return Table("The sides, as they said themselves", heads, rows)


_Judged = tuple[SuiteComparison, str, Tone]


def _tests(tests: Mapping[str, _Judged]) -> Table:
    rows = tuple(
        (
            Cell(row.test, link=anchor),
            Cell(verdict, tone=tone),
            *(Cell(str(outcome)) for _, outcome in sides_of(row)),
            Cell(row.interpreter),
            Cell(why_of(row)),
        )
        for anchor, (row, verdict, tone) in tests.items()
    )
    heads = columns(
        ("test", "verdict", "jax-legacy", "jax-simplified", "interpreter", "what helps")
    )
    return Table("Tests that are not simply alike", heads, rows, what="tests")


def _fail_alike(runs: SuiteRuns) -> Table:
    rows = tuple(cells(each.test, str(each.legacy), each.interpreter) for each in runs.fail_alike)
    heads = columns(("test", "on both sides", "interpreter"))
    return Table("Tests that fail alike on both sides", heads, rows, what="tests")


def _version_changes(runs: SuiteRuns) -> Table:
    rows = tuple(cells(each.test, str(each)) for each in runs.version_changes)
    title = "Tests that are alike on both sides, and not in all interpreters"
    return Table(title, columns(("test", "outcomes")), rows, what="tests")


def _section(anchor: str, row: SuiteComparison, verdict: str, tone: Tone) -> Section:
    said = [Line(str(outcome), f"{side}:") for side, outcome in sides_of(row)]
    if again := again_of(row):
        said.append(Line(again))
    if why := why_of(row):
        said.append(Line(why, "What helps:"))
    return Section(
        title=row.test,
        state=verdict,
        tone=tone,
        anchor=anchor,
        is_open=tone == "bad",
        parts=(Paragraph(f"On {row.interpreter}."), Items(tuple(said)), *_texts(row)),
    )


def _texts(row: SuiteComparison) -> Iterator[Part]:
    """Yield what pytest said on each side."""
    for side, outcome in sides_of(row):
        if outcome.text:
            yield Paragraph(f"What pytest said on {side}:")
            yield Code(outcome.text)
