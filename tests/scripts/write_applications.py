"""Write docs/trust/applications.md and its picture from a campaign of docs/applications/.

    constparity campaign docs/applications.toml --store applications.db
    python tests/scripts/ask_applications.py ask answers
    python tests/scripts/write_applications.py applications.db answers

`make applications` does all three.
"""

import argparse
import ast
import hashlib
import re
import statistics
import tomllib
from pathlib import Path

from reports.output.axes import Axis
from reports.output.bench_plot import HEIGHT, LABELS, MARGIN, WIDTH, Drawing, Mark
from reports.output.html import environment
from reports.store.reading import load_run
from reports.views.figures import humanise_bytes
from reports.views.ledger import ledger

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, PICTURE, PROGRAMS = (
    DOCS / "trust" / "applications.md",
    DOCS / "applications.svg",
    DOCS / "applications",
)
NOTES = tomllib.loads((PROGRAMS / "notes.toml").read_text())
# Before the path of a module.
_FOLDERS = re.compile(r"/\S*/site-packages/|(?:/\S*/)?docs/applications/")
STOCK = ("jax-legacy", "jax-simplified")
TWOFOLD = range(-6, 7)  # powers of two on the axis of the picture
ALIKE = 1.6  # less is no gain and no cost: processes of one side were that far apart
TOLD = ("hoisted more than once", "folded by legacy alone")  # hazards of the second table
HEAD = """\
# Applications that capture much

Programs of real packages from the package index, as their users write them: each jits a function
that captures what it does not get as an argument. [applications.toml](../applications.toml) is the
list. `make applications` makes the environment, runs the campaign and writes this page and its
picture; this one is of jax {environment}.
"""
FIGURES = """\
Figures are of stock JAX before the flip / after it, one process for each side. Times are those of
the processors, in all threads: a call is the least of up to 20. Processes of one side were up to
1.6x apart (exponax: 12.5 to 20.3 ms), so less is called alike. Bytes are exact.
"""
CAPTURED = """\
What became of the largest captured array, before / after the flip; as how many const args stock
simplified passes one array, for XLA takes each Literal's to be different (pass it as an argument
instead); and the equations on captured arrays alone, with their operations, which legacy's XLA
computes once and stock simplified's in each call
(`engine.jit(f, constants="simplified", precompute_constants="auto")` does it once).
"""
ASKED = """\
Asked of each program: `constparity bisect`, where failing is that the sum of the outputs moves by
more than 1e-5, and `constparity tune`, of one sample, all arrays alike and the largest alone, whose
times are those of the clock on a machine with other work.
"""


def rows_of(store):
    """Return the rows of a store's last run by the name of their file, and where it ran."""
    run = load_run(store, "last")
    ran = run.environment
    where = f"{ran.jax}, Python {ran.python}, {ran.cpu}, {ran.cpu_count} cores, {run.created[:10]}"
    found = {Path(row.source.partition(":")[0]).stem: row for row in run.programs}
    return dict(sorted(found.items())), where


def answers_of(folder):
    """Return what `bisect` and `tune` say, in lines without their status, by program and question.

    Raises FileNotFoundError where one was not asked.
    """
    files = {
        (path.stem, question): folder / f"{path.stem}.{question}"
        for path in PROGRAMS.glob("*.py")
        for question in ("bisect", "tune")
    }
    return {key: file.read_text().splitlines()[1:] for key, file in files.items()}


def sides_of(row):
    """Return the observations of stock JAX in both modes; None where one of them failed."""
    by_side = {each.side: each for each in row.observations}
    sides = [by_side.get(side) for side in STOCK]
    return None if any(each is None or each.failure for each in sides) else sides


def title(name):
    """Return the first line of a program's file."""
    return ast.get_docstring(ast.parse((PROGRAMS / f"{name}.py").read_text())).splitlines()[0]


def linked(name):
    """Return the name of a program, which leads to its file."""
    return f"[{name}](../{PROGRAMS.name}/{name}.py)"


def compared(before, after, digits=3):
    """Return two figures with their ratio."""
    return f"{before:.{digits}g} / {after:.{digits}g} ({after / before:.2g}x)"


def digest():
    """Return the digest of the list, its programs and what is said of them."""
    files = (DOCS / "applications.toml", *sorted(PROGRAMS.glob("*.*")))
    return hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()[:16]


def exact(row):
    """Return the cells of a program that each machine has alike: captured, flip, proof."""
    jaxpr = sides_of(row)[0].jaxpr
    proved = {each.answer for each in row.flip.claims} == {"proved"}
    return (
        f"{jaxpr.captured_arrays} arrays, {humanise_bytes(jaxpr.captured_bytes)}",
        row.flip.outcome,
        "proved" if proved else "not proved",
    )


def staging(side):
    """Return what tracing, lowering and compiling take of the processors."""
    return side.times.processor


def calling(side):
    """Return what a call takes of the processors; None where it was not timed."""
    return side.times.call_processor


def table(rows):
    """Yield the lines of the table of all applications."""
    yield (
        "| program | captured | flip | proof | trace, lower, compile, s | call, ms | host memory "
        "| executable |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name, row in rows.items():
        sides = sides_of(row)
        if sides is None:
            yield f"| {linked(name)} | | {row.flip.outcome if row.flip else ''} | | | | | |"
            continue
        peak, size = (
            " / ".join(humanise_bytes(measure(each)) for each in sides)
            for measure in (
                lambda each: max(each.host_memory.trace_and_lower, each.host_memory.compile),
                lambda each: each.executable.serialized_bytes,
            )
        )
        calls = [calling(each) for each in sides]
        call = "" if None in calls else compared(*(1e3 * each for each in calls))
        figures = (*exact(row), compared(*map(staging, sides)), call, peak, size)
        yield f"| {linked(name)} | {' | '.join(figures)} |"


def ratios(rows, measure):
    """Return the ratios of a measure by program, after the flip to before it."""
    measured = {name: sides_of(row) for name, row in rows.items()}
    pairs = {name: [measure(each) for each in sides] for name, sides in measured.items() if sides}
    return {name: after / before for name, (before, after) in pairs.items() if before and after}


def picture(rows):
    """Return what the flip gains and costs, each program's two ratios on a logarithmic axis."""
    calls, stages = ratios(rows, calling), ratios(rows, staging)
    lines = [
        (f"{name}: {what}", found[name])
        for name in sorted(calls, key=calls.__getitem__, reverse=True)
        for what, found in (("a call", calls), ("trace, lower, compile", stages))
    ]
    values = tuple(2.0**power for power in TWOFOLD)
    axis = Axis(values[0], values[-1], LABELS, WIDTH - MARGIN, values, is_logarithmic=True)
    top = 2.0 * HEIGHT
    marks = [
        Mark(label, _outcome(ratio), top + (n + 0.5) * HEIGHT, axis.at(ratio), None, None, None)
        for n, (label, ratio) in enumerate(lines)
    ]
    bottom = top + len(lines) * HEIGHT
    drawing = Drawing(
        title="processor time after the flip / before it; green: a gain, red: a cost",
        width=WIDTH,
        height=bottom + 1.5 * HEIGHT,
        labels=LABELS,
        top=top,
        bottom=bottom,
        ticks=axis.ticks(lambda value: f"{value:.0f}" if value >= 1 else f"1/{1 / value:.0f}"),
        marks=tuple(marks),
    )
    return environment().get_template("bench.svg").render(drawing=drawing)


def _outcome(ratio):
    return "a cost" if ratio > ALIKE else "a gain" if ratio < 1 / ALIKE else "alike"


def in_two_sentences(rows):
    """Return what the flip gains and costs over all applications."""
    measured = [each for each in map(sides_of, rows.values()) if each is not None]
    captured = humanise_bytes(sum(before.jaxpr.captured_bytes for before, _ in measured))
    before, after = (
        humanise_bytes(sum(each[side].executable.serialized_bytes for each in measured))
        for side in (0, 1)
    )
    seconds = [sum(staging(each[side]) for each in measured) for side in (0, 1)]
    calls = ratios(rows, calling)
    costs = [name for name, ratio in calls.items() if ratio > ALIKE]
    worst = max(calls, key=calls.__getitem__)
    return (
        f"**What the flip gains**: {len(measured)} programs capture {captured}; their executables "
        f"have {before} before it and {after} after it, and tracing, lowering and compiling take "
        f"{seconds[0]:.0f} s and {seconds[1]:.0f} s of the processors.\n\n"
        f"**What it costs**: a call takes {statistics.median(calls.values()):.2f}x in the median,"
        f" more than {ALIKE}x in {len(costs)} programs, and {calls[worst]:.1f}x at worst, in"
        f" {worst}."
    )


def table_of_captured(rows):
    """Yield the table of what each program captures, and what the flip does with it."""
    yield "| program | what it is | largest captured array | const args | computed in each call |"
    yield "|---|---|---|---|---|"
    for name, row in rows.items():
        cells = (name, title(name), _one_line(largest(row)), copies(row), folded(row))
        yield f"| {' | '.join(cells)} |"


def largest(row):
    """Return the largest captured array, with what became of it in both modes of stock JAX."""
    if sides_of(row) is None:
        return ""
    rows = [[cell.text for cell in cells] for cells in ledger(row, STOCK).rows]
    _, array, size, _, _, before, after = next(r for r in rows if {*r[-2:]} != {"unused"})
    return f"{array} of {size}: {before} / {after}"


def copies(row):
    """Return as how many const args one array is passed at most."""
    texts = [each.what for each in row.hazards if each.kind == "hoisted more than once"]
    counts = [int(re.search(r"as (\d+) const args", text)[1]) for text in texts]
    return str(max(counts, default=1))


def folded(row):
    """Return how many equations legacy alone folds, and their operations."""
    return "; ".join(
        f"{each.what.partition(' ')[0]}, {float(f'{each.operations:.2g}'):,.0f} operations"
        for each in row.hazards
        if each.kind == "folded by legacy alone"
    )


def sections(rows):
    """Yield what there is to say of some applications that is in no table."""
    for name, row in rows.items():
        if text := "\n".join(remarks(name, row)).strip():
            yield from (f"### {name}", "", text, "")


def remarks(name, row):
    """Yield the lines about an application: what is known of it, and what its verdict says."""
    if name in NOTES:
        yield from (NOTES[name].strip(), "")
    if row.flip is None:
        yield f"{row.verdict}: {'; '.join(row.reasons)}"
        return
    for reason in row.flip.reasons:
        is_told = reason.subject in TOLD and reason.outcome == "safe"
        if reason.kind in ("note", "proof", "gain") or is_told:
            continue
        said = [f"*{reason.outcome}*: {reason.what}."]
        said += [f"At {reason.where}."] if reason.where else []
        said += [f"**What helps:** {reason.action}."] if reason.action else []
        yield f"- {_one_line(' '.join(said))}"
    for claim in row.flip.claims:
        if claim.answer != "proved":
            yield f"- {claim.of}: {claim.answer}, {_one_line(claim.reason)}"


def by_answer(named, question):
    """Yield the answers to a question, each with the programs that have it."""
    programs = {}
    for name, answer in named.items():
        figure = re.search(r"more than (\d+%)", answer)
        alike = answer.replace(figure[1], "the figure beside each") if figure else answer
        programs.setdefault(alike, []).append(f"{name} ({figure[1]})" if figure else name)
    for answer, names in sorted(programs.items(), key=lambda each: -len(each[1])):
        yield f"- `{question}` of {', '.join(names)}: {_one_line(answer)}"


def bisected(lines):
    """Return the headline of `bisect` and the first site that it names, where there is one."""
    headline = lines[0].removeprefix("bisect: ")
    return "; ".join([headline, *([lines[1].strip()] if headline[0].isdigit() else [])])


def tuned(lines):
    """Return what `tune` proposes, and how it is written; its last line where it could not."""
    at = next((i for i, line in enumerate(lines) if line.startswith("proposed: ")), None)
    if at is None:
        return lines[-1]
    written = " ".join(" ".join(lines[at + 1 :]).split())
    return f"{lines[at].removeprefix('proposed: ')}: `{written}`"


def _one_line(text):
    return " ".join(_FOLDERS.sub("", text).replace("|", "\\|").split())


def page(rows, where, answers):
    """Return the page of the rows of some programs."""
    lines = [
        HEAD.format(environment=where),
        f"<!-- generated: tests/scripts/write_applications.py, of programs {digest()} -->",
        "",
        in_two_sentences(rows),
        "",
        f"![What the flip gains and costs each program, on a logarithmic axis](../{PICTURE.name})",
        "",
        FIGURES,
        *table(rows),
        "",
        "## What they capture",
        "",
        CAPTURED,
        *table_of_captured(rows),
        "",
        "## What the commands answer",
        "",
        ASKED,
        *by_answer({name: bisected(answers[name, "bisect"]) for name in rows}, "bisect"),
        *by_answer({name: tuned(answers[name, "tune"]) for name in rows}, "tune"),
        "",
        "## What else was found",
        "",
        *sections(rows),
    ]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("store", type=Path)
    parser.add_argument("answers", type=Path)
    given = parser.parse_args()
    found, where = rows_of(given.store)
    PAGE.write_text(page(found, where, answers_of(given.answers)))
    PICTURE.write_text(picture(found))
