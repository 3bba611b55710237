"""A campaign on a terminal: the headline, a line for each program, and the reasons.

Each reason stands once. What a flip does to a program comes before what tells our pipelines from
stock JAX, and the worst program comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from parity_tests.cli.terminal import ANSWER_STYLES, DRIFT_STYLES, FLIP_STYLES, LETTERS, STYLES
from parity_tests.evidence.tolerance_ladder import worst_rung
from reports.rows import (
    FLIP_OUTCOMES,
    Campaign,
    Comparison,
    DriftAttribution,
    FlipVerdict,
    Observation,
    ProgramRow,
    Side,
    TimeVerdict,
    metrics,
    worst_first,
)
from reports.rows.metric_records import Metric, TerminalColumn
from reports.views.ledger import place
from reports.views.texts import counted, visible

TIME_VERDICTS: tuple[TimeVerdict, ...] = (
    "faster", "slower", "equivalent", "inconclusive", "not measured",
)  # fmt: skip
# Below this the figures are left out, so that the cells that decide are never cut.
_WIDTH_OF_FIGURES = 120
# What takes the place of a rung where outputs do not correspond: the word of the metric.
_OF_TYPES = {"output structure": "structure", "output shapes": "shape", "output dtypes": "dtype"}


def print_campaign(console: Console, campaign: Campaign, *, details: int = 1) -> None:
    """Print the headline; then, unless `details` is 0, the programs, the reasons and the totals.

    With 2 the programs that a flip leaves alone get their reasons, too.
    """
    print_headline(console, campaign)
    if not details:
        return
    programs = worst_first(campaign.programs)
    console.print()
    _print_programs(console, campaign, programs)
    for row in programs:
        if details > 1 or _is_worth_reading(row):
            _print_reasons(console, row, notes=details > 1)
    _print_times(console, campaign)
    _print_totals(console, campaign)


def print_headline(console: Console, campaign: Campaign) -> None:
    """Print whether the default may be flipped, and how our pipelines stand to stock JAX.

    And where two saved campaigns come from, if they were not measured alike.
    """
    headline = campaign.headline
    style = ANSWER_STYLES[headline.flip] if headline.flip else ""
    _say(console, headline.question, style)
    _say(console, headline.agreement)
    for line in campaign.provenance:
        _say(console, line, "yellow")


def print_flip(console: Console, flip: FlipVerdict, *, notes: bool = True) -> None:
    """Print the reasons of a flip verdict, with the lines they are about and what helps.

    Without `notes`, what is no reason against a flip, as a part that was not measured, is left out.
    """
    indent = "    "
    for reason in flip.reasons:
        if reason.kind == "note" and not notes:
            continue
        at = f"{reason.where}: " if reason.where else ""
        _say(console, f"{indent}{at}{reason.what}")
        if reason.action:
            _say(console, f"{indent}  -> {reason.action}")


def _say(console: Console, text: str, style: str = "") -> None:
    """Print text as it is: no markup, no emoji, nothing that a terminal would obey."""
    console.print(
        visible(text), style=style, highlight=False, markup=False, emoji=False, soft_wrap=True
    )


# -- the table of programs -------------------------------------------------------------------------


def _print_programs(console: Console, campaign: Campaign, programs: Sequence[ProgramRow]) -> None:
    table = Table(title=_title(campaign), title_justify="left", pad_edge=False)
    table.add_column("program", overflow="fold")
    table.add_column("flip", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("outputs", no_wrap=True)
    shown = _metrics_shown() if console.width >= _WIDTH_OF_FIGURES else []
    for _, column in shown:
        table.add_column(column.title, justify="right")
    for row in programs:
        table.add_row(
            _plain(row.name),
            f"[{FLIP_STYLES[row.flip.outcome]}]{row.flip.outcome}[/]" if row.flip else "-",
            f"[{STYLES[row.verdict]}]{row.verdict}[/]",
            _outputs(row),
            *(_figures(row, metric, column) for metric, column in shown),
        )
    console.print(table)
    if any("\n" in _outputs(row) for row in programs):
        letters = ", ".join(f"{letter} {side}" for side, letter in LETTERS.items())
        _say(console, f"pairs of sides: {letters}")


def _title(campaign: Campaign) -> str:
    e = campaign.environment
    return f"{', '.join(campaign.sides)} on jax {e.jax}, {e.device_kind}"


def _outputs(row: ProgramRow) -> str:
    """Say how the outputs of each pair stand to each other, in one word where they agree."""
    words: dict[str, str] = {}
    for metric in (*_OF_TYPES, "outputs"):  # a difference in structure has others in its train
        for each in row.comparisons:
            word = _word_for(each) if metric == "outputs" else _OF_TYPES[metric]
            if each.metric == metric and (metric == "outputs" or each.outcome == "different"):
                words.setdefault(f"{LETTERS[each.left]}-{LETTERS[each.right]}", word)
    if len(set(words.values())) <= 1:
        return next(iter(words.values()), "-")
    return "\n".join(f"{pair} {word}" for pair, word in words.items())


def _word_for(outputs: Comparison) -> str:
    if outputs.outcome in ("equal", "different"):
        return worst_rung(outputs.leaves)
    return "-"


def _observation(row: ProgramRow, sides: tuple[Side, ...]) -> Observation | None:
    by_side = {each.side: each for each in row.observations}
    return next((by_side[side] for side in sides if side in by_side), None)


def _metrics_shown() -> list[tuple[Metric, TerminalColumn]]:
    shown = ((metric, metric.terminal) for metric in metrics.METRICS if metric.terminal)
    return sorted(shown, key=lambda each: each[1].place)


def _figures(row: ProgramRow, metric: Metric, column: TerminalColumn) -> str:
    """Write a figure for each group of sides, of the first of them that was run."""
    if not column.groups:
        measured = (metric.read(each) for each in row.observations)
        return next((str(value) for value in measured if value is not None), "-")
    seen = [_observation(row, group) for group in column.groups]
    values = [metric.read(each) if each else None for each in seen]
    return " / ".join("-" if value is None else f"{value:,}" for value in values)


# -- the reasons -----------------------------------------------------------------------------------


def _is_worth_reading(row: ProgramRow) -> bool:
    return row.verdict != "parity" or (row.flip is not None and row.flip.outcome != "safe")


def _print_reasons(console: Console, row: ProgramRow, *, notes: bool) -> None:
    """Print what a flip does to a program and what helps, then what the sides tell besides."""
    flip = f"flip: {row.flip.outcome}; " if row.flip else ""
    style = FLIP_STYLES[row.flip.outcome] if row.flip else STYLES[row.verdict]
    if row.verdict != "parity":
        style = max(style, STYLES[row.verdict], key=_STYLES_WORST_LAST.index)
    _say(console, f"{row.name} ({row.source}): {flip}verdict: {row.verdict}", style)
    said = ""
    if row.flip is not None:
        print_flip(console, row.flip, notes=notes)
        said = "\n".join(r.what for r in row.flip.reasons if notes or r.kind != "note")
    for reason in _told_once(row.reasons, said):
        _say(console, f"    {reason}")
    for each in row.drift:
        if each.evidence not in said:
            _print_drift(console, each)


_STYLES_WORST_LAST = ["green", "cyan", "yellow", "bold red"]


def _told_once(reasons: Sequence[str], said: str) -> Iterator[str]:
    """Join reasons that differ in their pair of sides alone, and leave out what was said before."""
    pairs: dict[str, list[str]] = {}
    for reason in reasons:
        sides, colon, rest = reason.partition(": ")
        is_pair = colon and all(each in LETTERS for each in sides.split(" and "))
        pairs.setdefault(rest if is_pair else reason, []).extend([sides] if is_pair else [])
    for text, of in pairs.items():
        if _finding(text) not in said:
            yield f"{'; '.join(of)}: {text}" if of else text


def _finding(text: str) -> str:
    """Return what a reason says beside its metric, by which an earlier one is recognised."""
    for beginning in ("outputs differ: ", "outputs are equal, though not bitwise: "):
        if text.startswith(beginning):
            return text.removeprefix(beginning).partition("; ")[0]
    return text


def _print_drift(console: Console, drift: DriftAttribution) -> None:
    at = f"{place(drift.file, drift.line)}: " if drift.file else ""
    first = f"{drift.equation}: " if drift.equation else ""
    head = f"    drift of {drift.left} and {drift.right}: {drift.cause}"
    _say(console, head, DRIFT_STYLES[drift.cause])
    _say(console, f"      {at}{first}{drift.evidence}")


def _print_times(console: Console, campaign: Campaign) -> None:
    """Print, where times were judged, how many programs got each verdict, and the alarms."""
    judged = [(row, each) for row in campaign.programs for each in row.times]
    if not judged:
        return
    table = Table(title="times, right against left", title_justify="left", pad_edge=False)
    for column in ("metric", "left", "right"):
        table.add_column(column, no_wrap=True)
    for column in ("margin", *TIME_VERDICTS):
        table.add_column(column, justify="right")
    for metric, left, right in dict.fromkeys((t.metric, t.left, t.right) for _, t in judged):
        these = [t for _, t in judged if (t.metric, t.left, t.right) == (metric, left, right)]
        counts = Counter(each.verdict for each in these)
        table.add_row(
            metric, left, right, f"{these[0].margin:.0%}", *(str(counts[v]) for v in TIME_VERDICTS)
        )
    console.print(table)
    for row, each in judged:
        if each.verdict in ("slower", "faster"):
            _say(
                console,
                f"{each.right} is {each.verdict} than {each.left} in {each.metric} of {row.name}: "
                f"{each.ratio:.2f} times ({each.low:.2f} to {each.high:.2f})",
            )


def _print_totals(console: Console, campaign: Campaign) -> None:
    totals: Counter[str] = Counter(row.verdict for row in campaign.programs)
    texts = (f"[{STYLES[each]}]{totals[each]} {each}[/]" for each in STYLES if totals[each])
    programs = counted(len(campaign.programs), "program")
    console.print(f"{programs}: " + ", ".join(texts), highlight=False)
    flips: Counter[str] = Counter(row.flip.outcome for row in campaign.programs if row.flip)
    if flips:
        texts = (f"[{FLIP_STYLES[o]}]{flips[o]} {o}[/]" for o in FLIP_OUTCOMES if flips[o])
        console.print("the flip: " + "; ".join(texts), highlight=False)


def _plain(text: str) -> str:
    """Return text for a cell of a table, which reads markup."""
    return escape(visible(text))
