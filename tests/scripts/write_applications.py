"""Write docs/applications.md from results of the programs in docs/applications/.

    constparity campaign docs/applications.toml --report json:applications.json
    CONSTPARITY_PRECOMPUTE_CONSTANTS=auto constparity run docs/applications \\
        --sides legacy,simplified --report json:preamble.json
    python tests/scripts/write_applications.py applications.json --preamble preamble.json

Several results may be given for each, of one program or of all of them. The second command needs
the packages beside constparity; its call times are those with a preamble.
"""

import argparse
import ast
import hashlib
import re
import statistics
from pathlib import Path

import reports
from reports.views.figures import humanise_bytes

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, PROGRAMS = DOCS / "applications.md", DOCS / "applications"
_FOLDERS = re.compile(r"/\S*/site-packages/")  # before the path of a module
STOCK = ("jax-legacy", "jax-simplified")
HEAD = """\
# Applications that capture much

Programs of real packages from the package index, as their users write them: each jits a function
that captures what it does not get as an argument. [applications.toml](applications.toml) is the
list, `docs/applications/` has a file for each. This page is generated from a run of
`constparity campaign docs/applications.toml`, on {environment}.
"""


def rows_of(paths):
    """Return the rows of all results by the name of their file, and their environment."""
    found, environment = {}, ""
    for path in paths:
        campaign = reports.load_campaign(path)
        environment = campaign.environment
        for row in campaign.programs:
            found[row.source.partition(":")[0].removesuffix(".py")] = row
    return dict(sorted(found.items())), environment


def sides_of(row):
    """Return the observations of stock JAX in both modes; None where one of them failed."""
    by_side = {each.side: each for each in row.observations}
    sides = [by_side.get(side) for side in STOCK]
    return None if any(each is None or each.failure for each in sides) else sides


def title(name):
    """Return the first line of a program's file."""
    return ast.get_docstring(ast.parse((PROGRAMS / f"{name}.py").read_text())).splitlines()[0]


def compared(before, after, digits=3):
    """Return two figures with their ratio."""
    return f"{before:.{digits}g} / {after:.{digits}g} ({after / before:.2g}x)"


def digest():
    """Return the digest of the list and its programs."""
    files = (DOCS / "applications.toml", *sorted(PROGRAMS.glob("*.py")))
    return hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()[:16]


def table(rows, preambles):
    """Yield the lines of the table of all applications."""
    yield (
        "| program | captured | flip | proof | trace + lower, s | compile, s | call, ms "
        "| with a preamble, ms | host memory | executable |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for name, row in rows.items():
        sides = sides_of(row)
        if sides is None:
            yield f"| [{name}](#{name}) | | {row.flip.outcome if row.flip else ''} | | | | | | | |"
            continue
        jaxpr = sides[0].jaxpr
        proof = (
            "proved" if {each.answer for each in row.flip.claims} == {"proved"} else "not proved"
        )
        front, compile_, call = (
            compared(*(measure(each.times) for each in sides))
            for measure in (
                lambda times: times.trace + times.lower,
                lambda times: times.compile,
                lambda times: 1e3 * times.call,
            )
        )
        peak, size = (
            " / ".join(humanise_bytes(measure(each)) for each in sides)
            for measure in (
                lambda each: max(each.host_memory.trace_and_lower, each.host_memory.compile),
                lambda each: each.executable.serialized_bytes,
            )
        )
        captured = f"{jaxpr.captured_arrays} arrays, {humanise_bytes(jaxpr.captured_bytes)}"
        ours = [each for each in preambles.get(name, ()) if each.side == "simplified"]
        preamble = f"{1e3 * ours[0].times.call:.3g}" if ours and not ours[0].failure else ""
        figures = (captured, row.flip.outcome, proof, front, compile_, call, preamble, peak, size)
        yield f"| [{name}](#{name}) | {' | '.join(figures)} |"


def ratios(rows, measure):
    """Return the ratios of a measure, simplified against legacy."""
    pairs = filter(None, map(sides_of, rows.values()))
    return [measure(after) / measure(before) for before, after in pairs]


def in_two_sentences(rows):
    """Return what the flip gains and costs over all applications."""
    measured = [each for each in map(sides_of, rows.values()) if each is not None]
    captured = humanise_bytes(sum(before.jaxpr.captured_bytes for before, _ in measured))
    before, after = (
        humanise_bytes(sum(each[side].executable.serialized_bytes for each in measured))
        for side in (0, 1)
    )
    seconds = [sum(each[side].times.compile for each in measured) for side in (0, 1)]
    calls = ratios(rows, lambda side: side.times.call)
    return (
        f"**What the flip gains**: {len(measured)} programs capture {captured}; their executables\n"
        f"have {before} before it and {after} after it, and they compile in\n"
        f"{seconds[0]:.0f} and {seconds[1]:.0f} seconds.\n\n"
        f"**What it costs**: a call takes {statistics.median(calls):.2f}x in the median and "
        f"{max(calls):.2f}x at worst,\nwhere work on captured arrays is done at each call that was "
        "done once."
    )


def section(name, row):
    """Yield the lines about an application: what it is, and each reason of its verdict."""
    yield from (f"### {name}", "", title(name), "")
    if row.flip is None:
        yield from (f"{row.verdict}: {'; '.join(row.reasons)}", "")
        return
    for reason in row.flip.reasons:
        if reason.kind in ("note", "proof"):
            continue
        said = [f"*{reason.outcome}*: {reason.what}."]
        said += [f"At {reason.where}."] if reason.where else []
        said += [f"**What helps:** {reason.action}."] if reason.action else []
        yield f"- {_one_line(' '.join(said))}"
    for claim in row.flip.claims:
        if claim.answer != "proved":
            yield f"- {claim.of}: {claim.answer}, {_one_line(claim.reason)}"
    yield ""


def _one_line(text):
    return " ".join(_FOLDERS.sub("", text).replace("|", "\\|").split())


def page(paths, with_preamble=()):
    """Return the page of some results, and of those that were measured with a preamble."""
    rows, environment = rows_of(paths)
    preambles = {name: row.observations for name, row in rows_of(with_preamble)[0].items()}
    where = f"jax {environment.jax}, {environment.cpu}, {environment.cpu_count} cores"
    lines = [
        HEAD.format(environment=where),
        f"<!-- generated: tests/scripts/write_applications.py, of programs {digest()} -->",
        "",
        in_two_sentences(rows),
        "",
        "Figures are of stock JAX before the flip / after it, one process for each side, 20 calls;",
        "the preamble is the engine's ([preamble.md](preamble.md)), on its simplified side. The",
        "machine was busy, so times are rough, those of calls most; bytes are exact.",
        "",
        *table(rows, preambles),
        "",
        "## What was found",
        "",
        *(line for name, row in rows.items() for line in section(name, row)),
    ]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("results", nargs="+")
    parser.add_argument("--preamble", nargs="*", default=())
    given = parser.parse_args()
    PAGE.write_text(page(given.results, given.preamble))
