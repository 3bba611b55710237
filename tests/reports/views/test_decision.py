"""The first screen, the pictures and the table of the HTML page, before any markup."""

from __future__ import annotations

import math

import pytest
from built_campaigns import timed

from reports import rows
from reports.output import html_page, plots
from reports.output.html_page import addresses
from reports.rows import FlipReason, FlipVerdict, TimeSamples
from reports.views import decision, scatter


def with_flip(row, outcome, *reasons):
    return row.model_copy(
        update={
            "flip": FlipVerdict(
                left="jax-legacy", right="jax-simplified", outcome=outcome, reasons=reasons
            )
        }
    )


def reason(outcome, what="it is so", **changes):
    return FlipReason(outcome=outcome, kind="outputs", what=what, **changes)


def called(row, before, after):
    """The program with other times of a call before and after the flip."""
    times = {"jax-legacy": before, "jax-simplified": after}
    observations = [
        item.model_copy(update={"times": item.times.model_copy(update={"call": times[item.side]})})
        if item.side in times
        else item
        for item in row.observations
    ]
    return row.model_copy(update={"observations": tuple(observations)})


def judged(verdict, ratio, low=None, high=None):
    return timed(verdict, ratio=ratio, low=low, high=high)


def page_of(campaigns, *programs):
    return html_page.web_page(campaigns.campaign(*programs))


# -- the first screen ------------------------------------------------------------------------------


def test_what_breaks_comes_first_with_its_reason(campaigns):
    page = page_of(
        campaigns,
        with_flip(campaigns.parity("fine"), "safe"),
        with_flip(campaigns.parity("dear"), "safe but slower or larger",
                  reason("safe but slower or larger")),
        with_flip(campaigns.parity("gone"), "different",
                  reason("different", "values differ; and more", where="model.py:3")),
    )  # fmt: skip
    made = page.decision
    assert (made.answer, made.tone) == ("no", "bad")
    assert made.breaks == "1 program breaks or changes; 1 costs something."
    assert [each.name for each in made.broken] == ["gone", "dear"]
    assert (made.broken[0].reason, made.broken[0].where) == (
        "values differ; and more", "model.py:3",
    )  # fmt: skip
    assert [(share.outcome, share.count) for share in made.shares] == [
        ("different", 1), ("safe but slower or larger", 1), ("safe", 1),
    ]  # fmt: skip
    assert "First:" not in made.sentence


def test_a_cause_at_the_end_of_a_reason_is_shown_whatever_stands_before_it(campaigns):
    read = rows.Hazard(kind="reads the flag", file="model.py", line=3, array="the flag",
                       what="the flag is read at model.py:3", fix="do not")  # fmt: skip
    why = reason("different", f"values differ; {'very ' * 99}; {read.what}", action="do not",
                 where="model.py:3 (the flag)")  # fmt: skip
    row = with_flip(campaigns.parity("f"), "different", why)
    [shown] = page_of(campaigns, row.model_copy(update={"hazards": (read,)})).decision.broken
    assert (shown.reason, shown.where) == (f"values differ; {read.what}", "")
    [plain] = page_of(campaigns, row).decision.broken
    assert (plain.reason, plain.where) == ("values differ", "model.py:3 (the flag)")


def test_one_step_helps_all_programs_with_one_cause(campaigns):
    same = [
        with_flip(campaigns.parity(f"f{n}"), "different",
                  reason("different", action="do not read the flag", where=f"model.py:{n}"))
        for n in range(5)
    ]  # fmt: skip
    other = with_flip(campaigns.parity("g"), "different", reason("different", action="copy it"))
    steps = page_of(campaigns, *same, other).decision.steps
    assert [(step.action, step.helps) for step in steps] == [
        ("do not read the flag", "5 programs"), ("copy it", "1 program"),
    ]  # fmt: skip
    assert steps[0].where == "model.py:0 (1), model.py:1 (1), model.py:2 (1) and 2 more lines"
    assert [name for name, _ in steps[0].programs] == ["f0", "f1", "f2"]
    assert [step.more for step in steps] == ["and 2 more", ""]


def test_more_than_fit_are_counted(campaigns):
    many = [
        with_flip(campaigns.parity(f"f{n}"), "different", reason("different", action=f"step {n}"))
        for n in range(30)
    ]
    made = page_of(campaigns, *many).decision
    assert len(made.broken) + made.more_broken == 30
    assert len(made.steps) + made.more_steps == 30


def test_totals_are_sums_of_what_was_measured_on_both_sides(campaigns):
    lost = campaigns.parity("lost").model_copy(
        update={"observations": (campaigns.observation("lost", "jax-legacy"),)}
    )
    rows_ = [with_flip(campaigns.parity(name), "safe") for name in "ab"]
    size = page_of(campaigns, *rows_, with_flip(lost, "safe")).decision.totals[0]
    assert (size.title, size.before, size.after) == ("StableHLO size", "16.0 MiB", "1.6 KiB")
    assert (size.before_length, size.tone) == (1, "good")
    assert size.programs == "2 take less, 0 more, 0 about the same"


def test_times_that_nobody_judged_are_called_so(campaigns):
    [call] = [
        total
        for total in page_of(
            campaigns, with_flip(called(campaigns.parity("f"), 1.0, 9.0), "safe")
        ).decision.totals
        if total.title == "Call time"
    ]
    assert (call.tone, call.programs) == ("", "one sample each, not judged; median ratio 9.00x")


def test_judged_times_are_counted_by_verdict(campaigns):
    slow = called(campaigns.parity("f"), 1.0, 9.0).model_copy(
        update={"times": (judged("slower", 9.0),)}
    )
    [call] = [
        total
        for total in page_of(campaigns, with_flip(slow, "safe")).decision.totals
        if total.title == "Call time"
    ]
    assert (call.tone, call.programs) == ("warn", "1 slower")


def test_a_campaign_without_a_flip_has_no_answer(campaigns):
    page = html_page.web_page(
        campaigns.campaign(campaigns.parity("f", ("legacy",)), sides=("legacy",))
    )
    assert (page.decision.answer, page.title, page.pictures) == ("", "parity", ())


# -- pictures --------------------------------------------------------------------------------------


def pictured(campaigns, title, *programs):
    page = page_of(campaigns, *(with_flip(row, "safe") for row in programs))
    [found] = [each for each in page.pictures if each.title == title]
    return found


def test_a_dot_lies_below_the_line_where_the_flip_takes_less(campaigns):
    drawing = plots.scatter(pictured(campaigns, "StableHLO size", campaigns.parity("f")))
    [dot] = drawing.dots
    height_of_the_line = drawing.bottom - (dot.x - drawing.left) / (
        drawing.right - drawing.left
    ) * (drawing.bottom - drawing.top)
    assert dot.y > height_of_the_line  # y runs down
    assert dot.text == "f: 8.0 MiB before, 817 B after (9.7e-05x)"


def test_equal_values_lie_on_the_line(campaigns):
    picture = pictured(
        campaigns, "Call time",
        *(called(campaigns.parity(f"f{n}"), 10.0**-n, 10.0**-n) for n in range(5)),
    )  # fmt: skip
    drawing = plots.scatter(picture)
    for dot in drawing.dots:
        across = (dot.x - drawing.left) / (drawing.right - drawing.left)
        up = (drawing.bottom - dot.y) / (drawing.bottom - drawing.top)
        assert across == pytest.approx(up, abs=0.01)
    assert picture.summary.startswith("0 programs clearly below the line, 0 clearly above, 5 near")


def test_an_interval_is_drawn_where_there_is_one(campaigns):
    row = called(campaigns.parity("f"), 1.0, 2.0).model_copy(
        update={"times": (judged("slower", 2.0, 1.5, 3.0),)}
    )
    picture = pictured(campaigns, "Call time", row, called(campaigns.parity("g"), 1.0, 1.0))
    assert picture.note == "lines are intervals"
    first, second = picture.points
    assert (first.low, first.after, first.high) == (1.5, 2.0, 3.0)
    assert second.low is None
    drawn = [dot for dot in plots.scatter(picture).dots if dot.low is not None]
    assert drawn[0].high < drawn[0].y < drawn[0].low


def test_times_of_rounds_are_their_medians(campaigns):
    samples = tuple(
        TimeSamples(side=side, metric="call", seconds=seconds)
        for side, seconds in (("jax-legacy", (1.0, 2.0, 9.0)), ("jax-simplified", (4.0, 4.0, 5.0)))
    )
    few = judged("not measured", 2.0)
    row = called(campaigns.parity("f"), 77.0, 88.0).model_copy(
        update={"time_samples": samples, "times": (few,)}
    )
    picture = pictured(campaigns, "Call time", row)
    [point] = picture.points
    assert (point.before, point.after, point.low) == (2.0, 4.0, None)
    assert picture.note == "too few rounds to judge"
    [line] = page_of(campaigns, with_flip(row, "safe")).table.lines
    assert [each.cell.text for each in line.figures][2] == "2.00x"


def test_zeros_stand_on_the_edge_and_what_is_no_number_is_left_out(campaigns):
    picture = pictured(
        campaigns, "Call time", called(campaigns.parity("zero"), 0.0, 1.0),
        called(campaigns.parity("nan"), math.nan, 1.0), called(campaigns.parity("f"), 1.0, 1.0),
    )  # fmt: skip
    drawing = plots.scatter(picture)
    assert [point.name for point in picture.points] == ["zero", "f"]
    assert min(dot.x for dot in drawing.dots) == drawing.left
    assert drawing.has_zero
    assert picture.summary.endswith("Not measured on both sides: 1.")


def test_programs_on_one_spot_are_one_dot_that_says_so(campaigns):
    picture = pictured(
        campaigns, "StableHLO size", *(campaigns.parity(f"f{n}") for n in range(2_000))
    )
    [dot] = plots.scatter(picture).dots
    assert dot.text.splitlines()[-1] == "and 1,997 more on this spot"
    assert dot.radius <= 7
    assert plots.scatter(picture).has_shared
    assert not plots.scatter(
        pictured(campaigns, "StableHLO size", campaigns.parity("f"))
    ).has_shared


def test_ulp_distances_are_counted_in_powers_of_two(campaigns):
    leaves = tuple(
        campaigns.leaf("bitwise" if ulp == 0 else "ulp", max_ulp=ulp)
        for ulp in (0, 0, 1, 2, 3, 9, None)
    )
    compared = campaigns.comparison(
        "outputs", "equal", left="jax-legacy", right="jax-simplified", leaves=leaves
    )
    row = with_flip(campaigns.parity("f").model_copy(update={"comparisons": (compared,)}), "safe")
    found = page_of(campaigns, row).ulps
    assert [(bar.label, bar.count) for bar in found.bars] == [
        ("1", 1), ("2 to 3", 2), ("4 to 7", 0), ("8 to 15", 1),
    ]  # fmt: skip
    assert found.summary.startswith("2 of 7 outputs are equal bit by bit; 5 are not, 1 of them")


def test_far_distances_share_a_bar(campaigns):
    bars = scatter._folded(tuple(scatter.UlpBar(str(n), 1) for n in range(40)))
    assert len(bars) == 16
    assert (bars[-1].label, bars[-1].count) == ("32,768 and more", 25)


# -- the table -------------------------------------------------------------------------------------


def test_a_row_has_its_first_reason_and_where(campaigns):
    row = with_flip(
        campaigns.parity("f"), "different",
        reason("different", "values differ; " + "very " * 99, where="model.py:3"),
        reason("safe", "a note"),
    )  # fmt: skip
    [line] = page_of(campaigns, row).table.lines
    assert (line.reason, line.where) == ("values differ", "model.py:3")
    assert line.details.startswith("values differ; very")
    assert line.findings == ("outputs",)


def test_a_reason_without_a_line_has_the_line_of_the_program(campaigns):
    row = with_flip(campaigns.parity("f"), "different", reason("different"))
    page = page_of(campaigns, row)
    assert [each.where for each in page.decision.broken] == [row.source]
    assert [each.where for each in page.table.lines] == [row.source]


def test_notes_of_what_is_safe_are_called_notes(campaigns):
    row = with_flip(campaigns.parity("f"), "safe", reason("safe", "times were not judged"))
    [line] = page_of(campaigns, row).table.lines
    assert line.reason == "note: times were not judged"


def test_few_columns_at_first_and_no_infinity_in_the_others(campaigns):
    page = page_of(campaigns, with_flip(called(campaigns.parity("f"), math.nan, math.inf), "safe"))
    assert len(page.table.columns) <= 5
    assert len(page.table.extra_columns) > 20


def test_names_that_several_programs_have_get_numbers():
    assert addresses(["f", "g", "f", "a/b c'(*)!~"]) == [
        "program=f", "program=g", "program=f~2", "program=a%2Fb%20c'(*)!~",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["\ud800", "\x00", "", "<script>"])
def test_any_name_has_an_address(name):
    assert addresses([name])[0].isascii()


def test_gist():
    assert decision.gist("a; b; " + "c" * 20, 10) == "a; b"
    assert decision.gist("a" * 20, 10) == "aaaaaaaaa…"


def test_the_command_runs_the_program_again(campaigns):
    row = campaigns.parity("f").model_copy(update={"target": "my models/a.py:f"})
    [section] = page_of(campaigns, row).sections()
    assert section.command == "constparity run 'my models/a.py:f'"
    two = campaigns.parity("f", ("legacy", "simplified")).model_copy(update={"target": "a:f"})
    [section] = html_page.web_page(
        campaigns.campaign(two, sides=("legacy", "simplified"))
    ).sections()
    assert section.command == "constparity run a:f --sides legacy,simplified"


def test_damaged_texts_are_named(campaigns):
    kept = rows.KeptText(data="AAAA")
    texts = rows.ProgramTexts(jaxpr=kept, stablehlo=kept)
    observations = tuple(
        item.model_copy(update={"texts": texts}) for item in campaigns.parity("f").observations
    )
    row = with_flip(campaigns.parity("f").model_copy(update={"observations": observations}), "safe")
    [section] = page_of(campaigns, row).sections()
    assert "damaged" in section.programs[0].notice
