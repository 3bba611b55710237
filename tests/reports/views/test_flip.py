"""The flip verdict in words, with its lines and actions."""

from __future__ import annotations

from html_pages import whole

from reports import render_report, rows
from reports.document import NOTHING
from reports.views import flip as flip_view


def flip(*reasons, outcome="different"):
    return rows.FlipVerdict(
        left="jax-legacy", right="jax-simplified", outcome=outcome, reasons=reasons
    )


BROKEN = rows.FlipReason(
    outcome="different",
    kind="failure",
    what="it fails",
    where="model.py:12",
    action="capture a copy",
)
NOTE = rows.FlipReason(outcome="safe", kind="note", what="times were not judged")


def time(metric, verdict, **changes):
    fields = {
        "metric": metric, "left": "jax-legacy", "right": "jax-simplified", "verdict": verdict,
        "ratio": 2.0, "low": 1.9, "high": 2.1, "p_value": 0.004, "margin": 0.05,
        "samples": (10, 8),
    }  # fmt: skip
    return rows.TimeComparison.model_validate(fields | changes)


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_a_reason_has_its_line_and_what_helps():
    table = flip_view.reasons(flip(BROKEN, NOTE))
    assert table.caption == "The flip from jax-legacy to jax-simplified: different"
    assert texts(table) == [
        ["it fails", "model.py:12", "capture a copy", "different"],
        ["times were not judged", "-", "-", "safe"],
    ]


def test_a_program_without_a_flip_has_a_dash_and_no_table(campaigns):
    assert flip_view.outcome(None).text == "-"
    assert "The flip from" not in render_report("md", campaigns.campaign(campaigns.parity()))


def test_the_first_screen_counts_the_flips(campaigns):
    verdicts = ["safe", "different", "safe"]
    programs = [
        campaigns.parity(f"f{n}").model_copy(update={"flip": flip(NOTE, outcome=verdict)})
        for n, verdict in enumerate(verdicts)
    ]
    campaign = campaigns.campaign(*programs, campaigns.parity("none"))
    assert flip_view.totals(campaign) == "After a flip: 2 safe; 1 different"
    assert "After a flip: 2 safe; 1 different" in render_report("md", campaign)
    page = render_report("html", campaign)
    assert page.index("1 different</span>") < page.index("2 safe</span>") < page.index("<h2")


def test_times_are_listed_alarms_first():
    unmeasured = {"low": None, "high": None, "p_value": None, "samples": (3, 3)}
    table = flip_view.times(
        [
            time("call", "equivalent"),
            time("lower", "not measured", **unmeasured),
            time("trace", "slower"),
        ]
    )
    assert [row[0] for row in texts(table)] == ["trace", "call", "lower"]
    assert texts(table)[0][3:] == [
        "slower", "2.00x", "1.90x to 2.10x", "0.004", "5.0%", "10 / 8",
    ]  # fmt: skip
    assert texts(table)[2][5:7] == ["none", "-"]


def test_judged_times_are_in_both_pages(campaigns):
    row = campaigns.parity().model_copy(update={"times": (time("call", "slower"),)})
    for format_ in ("md", "html"):
        assert "Times, judged" in whole(render_report(format_, campaigns.campaign(row)))


def test_drift_has_its_cause_and_its_line():
    found = rows.DriftAttribution(
        left="legacy", right="simplified", cause="a bug", evidence="beyond rounding",
        equation="mul, equation 0", file="model.py", line=7,
    )  # fmt: skip
    unknown = rows.DriftAttribution(
        left="jax-legacy", right="jax-simplified", cause="not attributed", evidence="a crash"
    )
    table = flip_view.drift([found, unknown])
    assert [cell.text for cell in table.rows[0]] == [
        "legacy", "simplified", "a bug", "mul, equation 0", "model.py:7", "beyond rounding",
    ]  # fmt: skip
    assert table.rows[0][2].tone == "bad"
    assert table.rows[1][3:5] == (NOTHING, NOTHING)
    assert flip_view.drift([]).rows == ()
