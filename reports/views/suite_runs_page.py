"""A test-suite on both sides of stock JAX as a page: tables and sentences, before any markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.rows.suite_runs import SuiteComparison, SuiteOutcome, SuiteRuns, SuiteSide
from reports.views.cells import Cell, Table, Tone, columns
from reports.views.texts import counted, cut, left_out

MAX_TESTS = 2000  # lines of a table
# The processes of stock JAX show no programs, so what a test differs by is not known here.
WHAT_HELPS = (
    "why, and what helps: pytest --constparity=both on these tests names captured arrays; "
    "constparity lint names code that reads jaxprs or JAX's flag"
)
_NAME_LENGTH = 200
_TEXT_LENGTH = 500
_OUTPUT_LENGTH = 8000


@dataclass(frozen=True)
class JudgedTest:
    """A test that is not simply alike: what became of it on each side."""

    anchor: str
    name: str
    verdict: str
    tone: Tone
    interpreter: str
    said: tuple[tuple[str, str], ...]  # the side, and its outcome with the reason
    again: str  # "" where it was not run again
    texts: tuple[tuple[str, str], ...]  # the side, and all that pytest said of it there

    @property
    def open(self) -> bool:
        """Whether a reader should see it at once."""
        return self.tone == "bad"


@dataclass(frozen=True)
class RunsPage:
    """A whole report on the runs: the answer, the sides, the tests, then a section for each."""

    title: str
    tone: Tone
    lines: tuple[str, ...]
    sides: Table
    tables: tuple[Table, ...]
    sections: tuple[JudgedTest, ...]


def suite_runs_page(runs: SuiteRuns) -> RunsPage:
    """Make the page of a suite that ran on both sides of stock JAX, what differs first.

    Example::

        suite_runs_page(runs).title == "alike on both sides"
    """
    title, tone = answer(runs)
    tests = list(judged(runs))
    anchors = [f"test-{number}" for number in range(1, len(tests) + 1)]
    sections = tuple(_section(anchor, *each) for anchor, each in zip(anchors, tests, strict=True))
    tables = (_tests(sections), _fail_alike(runs), _version_changes(runs))
    return RunsPage(
        title=title,
        tone=tone,
        lines=tuple(_lines(runs)),
        sides=_sides(runs.sides),
        tables=tuple(table for table in tables if table.rows),
        sections=sections,
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
    if runs.left_out or not runs.tests:
        return "stopped early" if runs.left_out else "no test ran", "warn"
    if runs.not_repeatable:
        said = ("differed once and not again", "differed once and not again")
        return _counted(len(runs.not_repeatable), *said), "warn"
    if runs.fail_alike:
        return f"alike on both sides, where {counted(len(runs.fail_alike), 'test')} fail", "warn"
    return "alike on both sides", "good"


def judged(runs: SuiteRuns) -> Iterator[tuple[SuiteComparison, str, Tone]]:
    """Yield the tests of which a reader should know, the worst first, with a verdict each.

    Example::

        [verdict for _, verdict, _ in judged(runs)] == ["different", "fails otherwise"]
    """
    kinds: tuple[tuple[Sequence[SuiteComparison], str, Tone], ...] = (
        (runs.differences, "different", "bad"),
        (runs.not_compared, "not compared", "bad"),
        (runs.fail_otherwise, "fails otherwise", "bad"),
        (runs.not_repeatable, "not repeatable", "warn"),
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


def is_another_side(side: SuiteSide) -> bool:
    """Say whether JAX's own flag was not that of the side when its processes ended."""
    return side.flag_at_end is not None and not side.is_proven


def doubt_of(side: SuiteSide) -> str:
    """Return why a side may not be what it should be; "" where it is."""
    doubts = []
    if is_another_side(side):
        doubts.append(f"its flag was {side.flag_at_end} at the end: a test has changed it")
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
        "fail alike": runs.fail_alike,
    }
    if said := ", ".join(f"{len(found):,} {name}" for name, found in counts.items() if found):
        yield f"Not simply alike: {said}"
    if runs.differences:
        yield WHAT_HELPS[0].upper() + WHAT_HELPS[1:]
    if runs.left_out:
        yield f"Stopped early: {counted(runs.left_out, 'test')} not among these"
    if runs.arguments:
        yield f"Arguments of pytest: {cut(' '.join(runs.arguments), _TEXT_LENGTH)}"


def _counted(number: int, one: str, several: str) -> str:
    return f"{counted(number, 'test')} {one if number == 1 else several}"


def _sides(sides: Sequence[SuiteSide]) -> Table:
    rows = tuple(
        (
            Cell(each.side),
            Cell(f"JAX {each.jax}, jaxlib {each.jaxlib}, Python {each.python}"),
            Cell("not read" if each.flag_at_end is None else str(each.flag_at_end)),
            Cell(", ".join(f"{count:,} {word}" for word, count in each.counts.items())),
            Cell(f"{each.seconds:.1f}"),
            Cell(cut(doubt_of(each), _TEXT_LENGTH), tone="warn"),
        )
        for each in sides
    )
    heads = (
        *columns(("side", "versions", "flag at the end", "outcomes")),
        *columns(("seconds",), numeric=True),
        *columns(("to know",)),
    )
    return Table("The sides, as they said themselves", heads, rows)


def _tests(sections: Sequence[JudgedTest]) -> Table:
    shown = sections[:MAX_TESTS]
    rows = tuple(
        (
            Cell(each.name, link=each.anchor),
            Cell(each.verdict, tone=each.tone),
            *(Cell(cut(text, _TEXT_LENGTH)) for _, text in each.said),
            Cell(each.interpreter),
        )
        for each in shown
    )
    heads = columns(("test", "verdict", "jax-legacy", "jax-simplified", "interpreter"))
    notice = left_out(sections, shown, "tests")
    return Table("Tests that are not simply alike", heads, rows, notice)


def _fail_alike(runs: SuiteRuns) -> Table:
    shown = runs.fail_alike[:MAX_TESTS]
    rows = tuple(
        (
            Cell(cut(each.test, _NAME_LENGTH)),
            Cell(cut(str(each.legacy), _TEXT_LENGTH)),
            Cell(each.interpreter),
        )
        for each in shown
    )
    heads = columns(("test", "on both sides", "interpreter"))
    notice = left_out(runs.fail_alike, shown, "tests")
    return Table("Tests that fail alike on both sides", heads, rows, notice)


def _version_changes(runs: SuiteRuns) -> Table:
    shown = runs.version_changes[:MAX_TESTS]
    rows = tuple(
        (
            Cell(cut(each.test, _NAME_LENGTH)),
            Cell(
                ", ".join(
                    f"{outcome} on {name}"
                    for outcome, name in zip(each.outcomes, each.interpreters, strict=True)
                )
            ),
        )
        for each in shown
    )
    notice = left_out(runs.version_changes, shown, "tests")
    title = "Tests that are alike on both sides, and not in all interpreters"
    return Table(title, columns(("test", "outcomes")), rows, notice)


def _section(anchor: str, row: SuiteComparison, verdict: str, tone: Tone) -> JudgedTest:
    return JudgedTest(
        anchor=anchor,
        name=cut(row.test, _NAME_LENGTH),
        verdict=verdict,
        tone=tone,
        interpreter=row.interpreter,
        said=tuple((side, cut(str(outcome), _TEXT_LENGTH)) for side, outcome in sides_of(row)),
        again=again_of(row),
        texts=tuple(
            (side, cut(outcome.text, _OUTPUT_LENGTH))
            for side, outcome in sides_of(row)
            if outcome.text
        ),
    )
