"""A benchmark as a document: one line for each figure, with its target beside it."""

from __future__ import annotations

from collections import Counter
from typing import get_args

from reports.document import WORST_FIRST, Cell, Document, Table, Tone, cells, columns
from reports.rows.bench import Bench, BenchLine, Outcome, Unit
from reports.views import figures

_TONES: dict[Outcome, Tone] = {"met": "good", "missed": "bad", "inconclusive": "warn"}


def document(bench: Bench) -> Document:
    """Make the document of a benchmark."""
    return Document(
        answer=answer(bench),
        tone=min(map(_tone, bench.lines), key=WORST_FIRST.index, default=""),
        lines=tuple(facts(bench)),
        parts=(figures_of(bench),),
    )


def answer(bench: Bench) -> str:
    """Count the targets that are met, missed, and neither.

    Example::

        answer(bench) == "targets: 12 met, 0 missed, 1 inconclusive"
    """
    found = Counter(line.outcome for line in bench.lines)
    return f"targets: {', '.join(f'{found[each]} {each}' for each in get_args(Outcome))}"


def figures_of(bench: Bench) -> Table:
    """Make a line for each figure."""
    heads = (
        *("row", "case", "contestants", "figure", "95 % interval"),
        *("target", "outcome", "seen"),
    )
    return Table("Figures", columns(heads), tuple(map(_cells, bench.lines)))


def _cells(line: BenchLine) -> tuple[Cell, ...]:
    medians = " against ".join(_quantity(each, line.unit) for each in line.medians)
    unknown = line.low is None or line.high is None
    return cells(
        str(line.row),
        f"{line.case}: {line.what}",
        line.contestant if line.against is None else f"{line.contestant} / {line.against}",
        _figure(line),
        "" if unknown else f"{line.low:.3g} to {line.high:.3g}",
        _target(line),
        Cell(line.outcome or "", tone=_tone(line)),
        "; ".join(filter(None, (medians, line.note))),
    )


def _tone(line: BenchLine) -> Tone:
    return _TONES[line.outcome] if line.outcome else ""


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
