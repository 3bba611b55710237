"""The report on a benchmark: how many targets are met, and a line for each figure."""

from reports import render_report
from reports.rows.bench import Bench, BenchLine, BenchQuestion, Target
from tests.helpers.built_grids import ENVIRONMENT


def line(value, **fields):
    given = {"row": 1, "case": "10 const args", "what": "seconds of a call", "kind": "ratio",
             "contestant": "legacy", "against": "jax-legacy", "unit": "seconds"}  # fmt: skip
    return BenchLine(value=value, **given | fields)


def bench(*lines):
    question = BenchQuestion(rows=(1,), rounds=4)
    return Bench(created="2026-01-01", environment=ENVIRONMENT, question=question, load=0.25,
                 lines=lines, samples=())  # fmt: skip


def test_each_figure_is_a_line_with_its_target_beside_it():
    found = bench(
        line(1.021, low=0.98, high=1.07, target=Target(bound="at most", value=1.05),
             outcome="inconclusive", medians=(8.2e-6, 8.0e-6)),
        line(3.0, target=Target(bound="at least", value=2.0), outcome="met", note="of one | size"),
        line(4096, kind="bytes", unit="bytes", against=None, what="text"),
    )  # fmt: skip
    head, _, table = render_report("md", found).partition("\n\n**Figures**\n\n")
    assert head.splitlines()[0] == "# constparity: targets: 1 met, 0 missed, 1 inconclusive"
    assert head.endswith("- 2026-01-01; rounds of two turns: 4; sizes: default")
    assert "load of the system before the start: 0.2" in head
    assert table == (
        "| row | case | contestants | figure | 95 % interval | target | outcome | seen |\n"
        "| :--- | :--- | :--- | :--- | :--- | :--- | :--- | :--- |\n"
        "| 1 | 10 const args: seconds of a call | legacy / jax-legacy | 1.02x | 0.98 to 1.07 |"
        " at most 1.05 | inconclusive | 8.20 µs against 8.00 µs |\n"
        "| 1 | 10 const args: seconds of a call | legacy / jax-legacy | 3.00x as fast |  |"
        " at least 2 | met | of one \\| size |\n"
        "| 1 | 10 const args: text | legacy | 4.0 KiB |  |  |  |  |\n"
    )


def test_a_missed_target_is_bad_in_html():
    missed = bench(line(2.0, outcome="missed", target=Target(bound="at most", value=1.0)))
    text = render_report("html", missed)
    assert '<span class="chip bad">targets: 0 met, 1 missed, 0 inconclusive</span>' in text
