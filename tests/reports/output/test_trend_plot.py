"""The plot of a trend: where points stand, and that hostile text is shown as text."""

import re
from xml.etree import ElementTree

from reports.output import trend_plot
from reports.rows.history import Trend, TrendLine, TrendPoint


def line(name, *values, machine="here", versions="jax 0.10.2", begin=1):
    points = tuple(TrendPoint(begin + n, f"c{begin + n}", each) for n, each in enumerate(values))
    return TrendLine(name, machine, versions, points)


def of(*lines, unit="seconds", **more):
    runs = {point.run for each in lines for point in each.points}
    return Trend("compile seconds", unit, lines, tuple(sorted(runs)), **more)


def test_points_stand_from_zero_up_and_from_the_first_run_on():
    [panel] = trend_plot.drawing(of(line("legacy", 0.0, 1.0, 2.0))).panels
    [placed] = panel.lines
    assert [each.y for each in placed.points] == [panel.bottom, panel.bottom - 120, panel.top]
    assert [each.x for each in placed.points] == [90.0, 460.0, 830.0]
    assert [tick.text for tick in panel.ticks] == ["0 s", "500 ms", "1.00 s", "1.50 s", "2.00 s"]
    assert placed.points[1].text == "legacy, run 2 (c2): 1.00 s\njax 0.10.2"


def test_each_machine_has_a_panel_and_a_line_ends_with_its_versions():
    found = trend_plot.drawing(
        of(
            line("legacy", 1.0, 2.0),
            line("legacy", 3.0, begin=3, versions="jax 0.12"),
            line("legacy", 3.0, machine="there", begin=4),
        )
    )
    here, there = found.panels
    assert [len(each.points) for each in here.lines] == [2, 1]
    assert [each.label for each in here.lines] == ["", "legacy"]
    assert [(each.at, each.text) for each in here.changes] == [(645.0, "jax 0.12")]
    assert here.bottom < there.top
    assert found.height > there.bottom


def test_names_of_lines_do_not_stand_on_each_other():
    [panel] = trend_plot.drawing(of(line("legacy", 2.0), line("simplified", 2.0))).panels
    ys = sorted(each.label_y for each in panel.lines)
    assert ys[1] - ys[0] >= 11


def test_many_runs_have_few_labels():
    [panel] = trend_plot.drawing(of(line("legacy", *[1.0] * 500))).panels
    assert len(panel.lines[0].points) == 500
    assert len(panel.runs) <= 24


def test_nothing_to_draw_is_drawn():
    ElementTree.fromstring(trend_plot.render(of()))
    ElementTree.fromstring(trend_plot.render(of(line("legacy", 0.0))))


def test_hostile_text_is_text():
    hostile = "<script>alert('1')</script> & \"x\""
    drawn = trend_plot.render(of(line(hostile, 1.0, machine=hostile), notes=(hostile,)))
    texts = [each.text for each in ElementTree.fromstring(drawn).iter() if each.text]
    assert hostile in texts
    assert not re.search("<script", drawn)
