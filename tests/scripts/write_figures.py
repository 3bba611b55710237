"""Write docs/trust/figures.md and docs/benchmarks.svg from results of `constparity bench`.

    constparity bench --report json:first.json
    python tests/scripts/write_figures.py first.json second.json

Results of one version of JAX share a column; a row has the figures of its last result there. The
picture is of the first result. `make figures` does it for two versions.
"""

import sys
from pathlib import Path

from parity_tests.bench.rows import ROWS
from reports.documents.bench import facts, figures_of
from reports.output import bench_plot
from reports.rows.bench import Bench

DOCS = Path(__file__).resolve().parents[2] / "docs"
HEAD = """\
# Figures of the benchmark

`make figures` measures them and writes this page; [benchmarks.md](benchmarks.md) says how they are
measured, and what was missed and why. A cell has the ratio of the first contestant to the second,
its interval of 95 %, and the median of the first.
"""


def page(benches):
    """Return the page: a table for each row of the benchmark, with a column for each JAX."""
    versions = list(dict.fromkeys(each.environment.jax for each in benches))
    found = {}
    for bench in benches:
        for number in bench.question.rows:
            for by_version in found.get(number, {}).values():
                by_version.pop(bench.environment.jax, None)
        for cells in figures_of(bench).rows:
            number, case, who, *of_figure = (cell.text for cell in cells)
            target = of_figure[2]
            by_version = found.setdefault(int(number), {}).setdefault((case, who, target), {})
            by_version[bench.environment.jax] = figure(of_figure)
    lines = [HEAD, *("- " + "; ".join([ran(each), *facts(each)]) for each in benches)]
    for number in sorted(found):
        heads = ["case", "contestants", "target", *(f"jax {each}" for each in versions)]
        lines += ["", f"## Row {number}: {ROWS[number].title}", "", row(heads)]
        lines.append(row("---" for _ in heads))
        before = ""
        for (case, *others), by_version in found[number].items():
            if not by_version:
                continue
            said, before = "" if case == before else case, case
            lines.append(row([said, *others, *(by_version.get(each, "") for each in versions)]))
    return "\n".join(lines) + "\n"


def figure(of_figure):
    """Return a figure with its interval, its outcome where that is not "met", and the median."""
    value, interval, _, outcome, seen = of_figure
    low_high = f" [{interval.replace(' to ', ', ')}]" if interval else ""
    missed = f"**{outcome}**" if outcome in ("missed", "inconclusive") else ""
    return "; ".join(filter(None, (f"{value}{low_high}", missed, seen.partition(" against ")[0])))


def ran(bench):
    """Return the command of a result."""
    return f"`constparity bench --rows {','.join(map(str, bench.question.rows))}`"


def row(cells):
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(each.replace('|', chr(92) + '|') for each in cells)} |"


def main():
    """Write the page and the picture."""
    benches = [Bench.model_validate_json(Path(each).read_text()) for each in sys.argv[1:]]
    assert benches, __doc__
    (DOCS / "trust" / "figures.md").write_text(page(benches))
    (DOCS / "benchmarks.svg").write_text(bench_plot.render(benches[0]))


if __name__ == "__main__":
    main()
