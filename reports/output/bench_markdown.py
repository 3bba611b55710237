"""A benchmark as a table: one line for each figure, with its target beside it."""

from __future__ import annotations

from reports.output.markdown_text import escape
from reports.rows.bench import Bench, BenchLine, Unit
from reports.views import figures

COLUMNS = ("row", "case", "contestants", "figure", "95 % interval", "target", "outcome", "seen")


def cells(line: BenchLine) -> tuple[str, ...]:
    """Return the texts of a line, one for each of `COLUMNS`.

    Example::

        cells(bench.lines[0])[5:7] == ("at most 1.05", "met")
    """
    unknown = line.low is None or line.high is None
    medians = " against ".join(_quantity(each, line.unit) for each in line.medians)
    return (
        str(line.row),
        f"{line.case}: {line.what}",
        line.contestant if line.against is None else f"{line.contestant} / {line.against}",
        _figure(line),
        "" if unknown else f"{line.low:.3g} to {line.high:.3g}",
        _target(line),
        line.outcome or "",
        "; ".join(filter(None, (medians, line.note))),
    )


def render(bench: Bench) -> str:
    """Render the benchmark as Markdown, with what it was measured with.

    Example::

        Path("bench.md").write_text(render(bench), encoding="utf-8")
    """
    rows = ["| " + " | ".join(escape(cell) for cell in cells(line)) + " |" for line in bench.lines]
    head = [
        "| " + " | ".join(COLUMNS) + " |",
        "|" + " --- |" * len(COLUMNS),
    ]
    return "\n".join([*(f"- {escape(fact)}" for fact in facts(bench)), "", *head, *rows, ""])


def facts(bench: Bench) -> list[str]:
    """Say what the figures were measured with, one text for each subject.

    Example::

        facts(bench)[0] == "jax 0.10.2, jaxlib 0.10.2, numpy 2.3.1, Python 3.11.9"
    """
    with_, question = bench.environment, bench.question
    load = "unknown" if bench.load is None else f"{bench.load:.1f}"
    return [
        f"jax {with_.jax}, jaxlib {with_.jaxlib}, numpy {with_.numpy}, Python {with_.python}",
        f"{with_.system}, {with_.cpu_count} CPUs, {with_.device_count} x {with_.device_kind} "
        f"({with_.backend}); load of the system before the start: {load}",
        f"{bench.created}; rounds of two turns: {question.rounds}; sizes: {question.size}",
    ]


def _figure(line: BenchLine) -> str:
    if line.kind == "ratio":
        fast = line.target is not None and line.target.bound == "at least"
        return figures.humanise_ratio(line.value) + (" as fast" if fast else "")
    return _number(line.value, line)


def _target(line: BenchLine) -> str:
    return "" if line.target is None else f"{line.target.bound} {_number(line.target.value, line)}"


def _number(value: float, line: BenchLine) -> str:
    return figures.humanise_bytes(int(value)) if line.kind == "bytes" else f"{value:.3g}"


def _quantity(value: float, unit: Unit) -> str:
    if unit == "bytes":
        return figures.humanise_bytes(int(value))
    return figures.humanise_seconds(value) if unit == "seconds" else f"{value:,.0f}"
