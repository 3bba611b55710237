"""A campaign on a terminal: the headline, a line for each program, and the reasons.

Each reason stands once. What a flip does to a program comes before what tells our pipelines from
stock JAX, and the worst program comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from parity_tests.cli.reasons_once import told_once
from parity_tests.cli.terminal import (
    ANSWER_STYLES,
    DRIFT_STYLES,
    FLIP_STYLES,
    LETTERS,
    STYLES,
    TONE_STYLES,
    on_one_line,
    say,
    say_traceback,
    say_wrapped,
)
from parity_tests.evidence.tolerance_ladder import worst_rung
from parity_tests.exception_texts import without_ids
from parity_tests.judge.findings import what_it_changed
from reports.document import WORST_FIRST
from reports.rows import (
    FLIP_OUTCOMES,
    VERDICTS,
    Campaign,
    Comparison,
    DriftAttribution,
    FlipReason,
    FlipVerdict,
    Observation,
    ProgramRow,
    Side,
    TimeVerdict,
    metrics,
    worst_first,
)
from reports.rows.metric_records import Metric, TerminalColumn
from reports.views import growth, measured
from reports.views.flip import TONES
from reports.views.ledger import place
from reports.views.program import MARKS
from reports.views.texts import counted, cut, failed, visible

TIME_VERDICTS: tuple[TimeVerdict, ...] = (
    "faster", "slower", "equivalent", "inconclusive", "not measured",
)  # fmt: skip
# Below this the figures are left out, so that the cells that decide are never cut.
_WIDTH_OF_FIGURES = 120
_LENGTH_OF_REASON = 200
_LEAST_WIDTH = 10  # of a verdict, which is broken between its words
# What takes the place of a rung where outputs do not correspond: the word of the metric.
_OF_TYPES = {"output structure": "structure", "output shapes": "shape", "output dtypes": "dtype"}
_BESIDE_EQUAL_VALUES = {"output weak types": "weak type", "output shardings": "sharding"}


def print_campaign(console: Console, campaign: Campaign, *, details: int = 1) -> None:
    """Print the headline; then, unless `details` is 0, the programs, the reasons and the totals.

    With 2 the programs that a flip leaves alone get their reasons, too; else a line says which of
    them changed their process, and which fail today.
    """
    print_headline(console, campaign, gains=bool(details))
    if not details:
        return
    print_measured(console, campaign)
    programs = worst_first(campaign.programs)
    console.print()
    _print_programs(console, campaign, programs)
    for row in programs:
        if details > 1 or _is_worth_reading(row):
            _print_reasons(console, row, notes=details > 1)
        else:
            remarks = _fails_today(row.flip), what_it_changed(row.observations)
            for remark in filter(None, remarks):
                say(console, f"{named(row)}: {remark}")
        print_tracebacks(console, row)
    _print_times(console, campaign)
    for line in growth.lines([("", campaign)]):
        say(console, line)
    if campaign.headline.flip:
        _print_totals(console, campaign)


def print_headline(console: Console, campaign: Campaign, *, gains: bool = False) -> None:
    """Print whether the default may be flipped, what to do first, and how our pipelines stand.

    Where no flip was judged, the number of programs with each verdict comes first. With `gains`,
    what gets faster or smaller comes third. And where two saved campaigns come from, if they were
    not measured alike.
    """
    headline = campaign.headline
    if headline.flip:
        say_wrapped(console, headline.answer, ANSWER_STYLES[headline.flip])
        if headline.first:
            say_wrapped(console, f"first: {headline.first}")
    else:
        _print_totals(console, campaign)
    say_wrapped(console, headline.agreement)
    if gains and headline.proof:
        say_wrapped(console, headline.proof)
    if gains and (gained := "; ".join(_gains(campaign.programs))):
        say_wrapped(console, f"the flip gains: {gained}")
    for line in campaign.provenance:
        say(console, line, "yellow")


def print_measured(console: Console, campaign: Campaign) -> None:
    """Print the versions that all sides were measured with, or those of each side."""
    for line in measured.lines_of(campaign):
        say(console, line)


def print_failing(console: Console, campaign: Campaign, names: Container[str]) -> None:
    """Print a line for each program of these names: where it is, and its worst reason."""
    for row in worst_first(campaign.programs):
        if row.name not in names:
            continue
        flip = f"flip: {row.flip.outcome}; " if row.flip else ""
        reasons = [reason.what for reason in row.flip.reasons] if row.flip else []
        [reason, *_] = [*reasons, *row.reasons, ""]
        why = f": {cut(' '.join(reason.split()), _LENGTH_OF_REASON)}" if reason else ""
        say(console, f"{named(row)}: {flip}verdict: {row.verdict}{why}")
        print_tracebacks(console, row)


def named(row: ProgramRow) -> str:
    """Return the name of a program, on one line, and the line that declares it."""
    return f"{on_one_line(row.name)} ({row.source})"


def print_tracebacks(console: Console, row: ProgramRow) -> None:
    """Print, with --debug, the traceback of each failure, once for sides that fail alike."""
    alike: dict[str, str] = {}
    for failure in filter(None, (each.failure for each in row.observations)):
        alike.setdefault(without_ids(failed(failure)), failure.traceback)
    for traceback in alike.values():
        say_traceback(console, traceback)


def print_flip(console: Console, flip: FlipVerdict, *, notes: bool = True) -> None:
    """Print the reasons of a flip verdict, with the lines they are about, what helps, and gains.

    Without `notes`, what is no reason against a flip, as a part that was not measured, is left out.
    """
    indent = "    "
    shown = [r for r in flip.reasons if r.kind != "gain" and (notes or r.kind != "note")]
    # One thing to do stands once, below all that it helps.
    helped: dict[tuple[str, str], list[FlipReason]] = {(r.where, r.action): [] for r in shown}
    for reason in shown:
        helped[reason.where, reason.action].append(reason)
    for (where, action), reasons in helped.items():
        for reason in reasons:
            at = f"{where}: " if where else ""
            say(console, f"{indent}{at}{indented(reason.what)}")
        if action:
            say(console, f"{indent}  -> {action}")
    if gained := [r.what for r in flip.reasons if r.kind == "gain"]:
        say(console, f"{indent}gains: {'; '.join(gained)}")


# -- the table of programs -------------------------------------------------------------------------


def _print_programs(console: Console, campaign: Campaign, programs: Sequence[ProgramRow]) -> None:
    table = Table(title=_title(campaign), title_justify="left", pad_edge=False)
    table.add_column("program", no_wrap=True)
    table.add_column("flip", min_width=_LEAST_WIDTH)
    table.add_column("verdict", min_width=_LEAST_WIDTH)
    table.add_column("outputs", no_wrap=True)
    shown = _metrics_shown() if console.width >= _WIDTH_OF_FIGURES else []
    for _, column in shown:
        table.add_column(column.title, justify="right")
    for row in programs:
        table.add_row(
            escape(on_one_line(row.name)),
            f"[{FLIP_STYLES[row.flip.outcome]}]{row.flip.outcome}[/]" if row.flip else "-",
            f"[{STYLES[row.verdict]}]{row.verdict}[/]",
            _outputs(row),
            *(_figures(row, metric, column) for metric, column in shown),
        )
    console.print(table, width=max(console.width, _width_of_whole_names(programs)))
    if any("\n" in _outputs(row) for row in programs):
        letters = ", ".join(f"{LETTERS[side]} {side}" for side in campaign.sides)
        say(console, f"pairs of sides: {letters}")


def _width_of_whole_names(programs: Sequence[ProgramRow]) -> int:
    """Return how wide the table is at least, so that no name is split and no word."""
    names = max((len(on_one_line(row.name)) for row in programs), default=0)
    outputs = max((len(line) for row in programs for line in _outputs(row).split("\n")), default=0)
    widths = (max(names, len("program")), _LEAST_WIDTH, _LEAST_WIDTH, max(outputs, len("outputs")))
    return sum(widths) + (len(widths) + 1) + 2 * (len(widths) - 1)


def _title(campaign: Campaign) -> str:
    told = dict.fromkeys(each.jax for each in measured.measured_with(campaign.programs))
    jax = " and ".join(told) or campaign.environment.jax
    return f"{', '.join(campaign.sides)} on jax {jax}, {campaign.environment.device_kind}"


def _outputs(row: ProgramRow) -> str:
    """Say how the outputs of each pair stand to each other, in one word where they agree."""
    words: dict[str, str] = {}
    different: dict[str, set[str]] = {}
    for each in row.comparisons:
        pair = f"{LETTERS[each.left]}-{LETTERS[each.right]}"
        if each.metric == "outputs":
            words.setdefault(pair, _word_for(each))
        if each.outcome == "different":
            different.setdefault(pair, set()).add(each.metric)
    for pair, found in different.items():
        names = _OF_TYPES if words.get(pair) != "bitwise" else _OF_TYPES | _BESIDE_EQUAL_VALUES
        if word := next((word for metric, word in names.items() if metric in found), ""):
            words[pair] = word
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


def _fails_today(flip: FlipVerdict | None) -> str:
    """Say what fails in a safe program before the flip already; "" where nothing does."""
    reasons = flip.reasons if flip else ()
    return next((each.what for each in reasons if each.kind == "failure"), "")


def _print_reasons(console: Console, row: ProgramRow, *, notes: bool) -> None:
    """Print what a flip does to a program and what helps, then what the sides tell besides."""
    flip = f"flip: {row.flip.outcome}; " if row.flip else ""
    tones = [MARKS[row.verdict][1]] if row.verdict != "parity" or not row.flip else []
    tones += [TONES[row.flip.outcome]] if row.flip else []
    style = TONE_STYLES[min(tones, key=WORST_FIRST.index)]
    say(console, f"{named(row)}: {flip}verdict: {row.verdict}", style)
    said = ""
    if row.flip is not None:
        print_flip(console, row.flip, notes=notes)
        said = "\n".join(r.what for r in row.flip.reasons if notes or r.kind != "note")
    for reason in told_once(row.reasons, row.flip, in_full=notes):
        say(console, f"    {indented(reason)}")
    for each in row.drift:
        if each.evidence not in said:
            _print_drift(console, each)


def _print_drift(console: Console, drift: DriftAttribution) -> None:
    at = f"{place(drift.file, drift.line)}: " if drift.file else ""
    first = f"{drift.equation}: " if drift.equation else ""
    head = f"    drift of {drift.left} and {drift.right}: {drift.cause}"
    say(console, head, DRIFT_STYLES[drift.cause])
    say(console, f"      {at}{first}{drift.evidence}")


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
            modules = {o.side: o.executable.digest for o in row.observations if o.executable}
            known = modules.get(each.left, "")  # "" where it was not printed
            is_same = known != "" and known == modules.get(each.right) and each.metric == "call"
            say(
                console,
                f"{each.right} is {each.verdict} than {each.left} in {each.metric} of "
                f"{on_one_line(row.name)}: "
                f"{each.ratio:.2f} times ({each.low:.2f} to {each.high:.2f})"
                + ("; the optimised module is the same, the time is not" if is_same else ""),
            )


def _print_totals(console: Console, campaign: Campaign) -> None:
    totals: Counter[str] = Counter(row.verdict for row in campaign.programs)
    texts = (f"[{STYLES[each]}]{totals[each]} {each}[/]" for each in VERDICTS if totals[each])
    programs = counted(len(campaign.programs), "program")
    console.print(f"{programs}: " + ", ".join(texts), highlight=False)
    flips: Counter[str] = Counter(row.flip.outcome for row in campaign.programs if row.flip)
    if flips:
        texts = (f"[{FLIP_STYLES[o]}]{flips[o]} {o}[/]" for o in FLIP_OUTCOMES if flips[o])
        console.print("the flip: " + "; ".join(texts), highlight=False)


def _gains(programs: Sequence[ProgramRow]) -> Iterator[str]:
    """Say for each thing that gets faster or smaller how much it is where that is most."""
    found: dict[str, list[tuple[float, str, str]]] = {}
    for row in programs:
        for each in row.flip.reasons if row.flip else ():
            if each.kind == "gain":
                found.setdefault(each.subject, []).append((each.more or 0.0, each.what, row.name))
    for gained in found.values():
        _, what, name = min(gained)
        more = f" and {counted(len(gained) - 1, 'more program')}" if len(gained) > 1 else ""
        yield f"{what} in {name}{more}"


def indented(text: str) -> str:
    """Return text whose later lines stand below the first, as those of a diff."""
    return visible(text).replace("\n", "\n        ")
