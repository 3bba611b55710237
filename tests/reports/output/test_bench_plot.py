"""The plot of a benchmark: what is drawn and where, and that it is XML whatever the texts are."""

from xml.etree import ElementTree

import pytest

from reports.output import bench_plot
from reports.rows.bench import Bench, BenchLine, BenchQuestion, Target
from tests.helpers.built_campaigns import ENVIRONMENT

SVG = "{http://www.w3.org/2000/svg}"


def line(value, *, low=None, high=None, outcome=None, target=None, kind="ratio", case="calls"):
    return BenchLine(
        row=1,
        case=case,
        what="seconds",
        contestant="simplified",
        against="jax-simplified",
        kind=kind,
        value=value,
        low=low,
        high=high,
        outcome=outcome,
        target=target,
        unit="seconds",
    )


@pytest.fixture
def bench():
    def of(*lines):
        question = BenchQuestion(rows=(1,), rounds=4)
        return Bench(
            created="2026-01-01", environment=ENVIRONMENT, question=question, load=None,
            lines=lines, samples=(),
        )  # fmt: skip

    return of


def test_a_ratio_is_drawn_on_a_logarithmic_axis(bench):
    half, one, double = (line(value) for value in (0.5, 1.0, 2.0))
    xs = [mark.x for mark in bench_plot.drawing(bench(half, one, double)).marks]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)
    assert [tick.text for tick in bench_plot.drawing(bench(half)).ticks] == ["1/2", "1", "2"]


def test_an_interval_reaches_over_its_target_where_it_is_inconclusive(bench):
    target = Target(bound="at most", value=1.05)
    [mark] = bench_plot.drawing(
        bench(line(1.0, low=0.8, high=1.4, target=target, outcome="inconclusive"))
    ).marks
    assert mark.low < mark.x < mark.target < mark.high


def test_counts_are_left_to_the_table_and_what_is_far_stays_on_the_paper(bench):
    drawn = bench_plot.drawing(bench(line(3.0, kind="count"), line(5000.0, low=1e-9, high=1e9)))
    [mark] = drawn.marks
    assert drawn.labels <= mark.low < mark.x == mark.high < drawn.width


def test_each_outcome_has_a_shape_of_its_own_and_is_named(bench):
    outcomes = ("met", "missed", "inconclusive", None)
    root = ElementTree.fromstring(
        bench_plot.render(bench(*(line(1.0, outcome=outcome) for outcome in outcomes)))
    )
    marks = [group[-1] for group in root.iter(f"{SVG}g")]
    tags = [each.tag.removeprefix(SVG) for each in marks]
    assert tags == ["circle", "rect", "path", "circle"]
    assert marks[0].get("fill") != marks[3].get("fill") == "#ffffff"
    told = [each.text for each in root.findall(f"{SVG}text")]
    assert {"met", "missed", "inconclusive", "no target"} <= set(told)


def test_a_long_label_takes_another_line_and_is_not_cut(bench):
    case = "in another process: " + "equal NumPy arrays," + " equal arrays" * 4
    [group] = ElementTree.fromstring(bench_plot.render(bench(line(1.0, case=case)))).iter(f"{SVG}g")
    texts = [each.text for each in group.findall(f"{SVG}text")]
    assert len(texts) == 2
    assert max(map(len, texts)) <= 96
    assert " ".join(texts) == f"1  {case}: seconds: simplified / jax-simplified"


def test_it_is_xml_whatever_a_case_is_called(bench):
    text = bench_plot.render(bench(line(1.0, low=0.9, high=1.1, case='<script>"&')))
    root = ElementTree.fromstring(text)
    assert "<script>" not in text
    assert [each.text for each in root.iter(f"{SVG}text") if "script" in (each.text or "")] == [
        '1  <script>"&: seconds: simplified / jax-simplified'
    ]
    assert len(list(root.iter(f"{SVG}g"))) == 1
