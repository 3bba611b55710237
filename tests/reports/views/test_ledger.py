"""The table of captured arrays, with their fate on each side."""

from __future__ import annotations

from functools import partial

import pytest
from built_campaigns import captured_array
from html_pages import whole

from reports import render_report, rows
from reports.views import ledger as ledger_view

array = partial(captured_array, uses=2)


def hazard(**changes) -> rows.Hazard:
    fields = {
        "kind": "captured and donated",
        "file": "model.py",
        "line": 12,
        "array": "jax.Array float32[8,8]",
        "what": "stock simplified fails",
        "fix": "capture a copy",
    }
    return rows.Hazard.model_validate(fields | changes)


@pytest.fixture
def program(campaigns):
    """A program whose sides have the ledgers that are given."""

    def of(hazards=(), **ledgers):
        sides = {name.replace("_", "-"): ledger for name, ledger in ledgers.items()}
        observations = tuple(
            campaigns.observation("f", side, ledger=tuple(ledger)) for side, ledger in sides.items()
        )
        return campaigns.parity("f").model_copy(
            update={"observations": observations, "hazards": tuple(hazards)}
        )

    return of


def texts(table):
    return [[cell.text for cell in row] for row in table.rows]


def test_one_line_per_array_and_one_column_per_side(program):
    row = program(
        legacy=[array()],
        jax_simplified=[array(fate="hoisted", copies=3)],
    )
    table = ledger_view.ledger(row, ("legacy", "simplified", "jax-simplified"))
    assert texts(table) == [
        [
            "model.py:12 in step", "float32[8,8]", "256 B", "-", "2",
            "inlined", "-", "hoisted 3 times",
        ]
    ]  # fmt: skip
    assert [column.title for column in table.columns][-3:] == [
        "legacy", "simplified", "jax-simplified"
    ]  # fmt: skip
    assert table.rows[0][-1].tone == "warn"


def test_the_largest_array_comes_first(program):
    row = program(legacy=[array(), array(sha256="b2" * 32, shape=(9, 9), bytes=324)])
    table = ledger_view.ledger(row, ("legacy",))
    assert [line[1] for line in texts(table)] == ["float32[9,9]", "float32[8,8]"]


def test_arrays_of_equal_value_stay_two_lines(program):
    twins = [array(copies=3, alike=2), array(copies=3, alike=2, line=13)]
    row = program(legacy=twins, simplified=[array(fate="hoisted"), array(fate="hoisted", line=13)])
    table = ledger_view.ledger(row, ("legacy", "simplified"))
    assert [line[0] for line in texts(table)] == ["model.py:12 in step", "model.py:13 in step"]
    assert [line[-2:] for line in texts(table)] == [
        ["inlined: 3 of equal value for 2 arrays", "hoisted"]
    ] * 2


def test_a_place_on_one_side_alone_does_not_split_a_line(program):
    row = program(legacy=[array(file="", line=0, function="")], simplified=[array(fate="hoisted")])
    [line] = texts(ledger_view.ledger(row, ("legacy", "simplified")))
    assert (line[0], line[-2:]) == ("unknown", ["inlined", "hoisted"])


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"fate": "unused", "copies": 0}, "unused"),
        ({"fate": "not found", "copies": 0}, "not found"),
        ({"fate": "folded"}, "folded"),
        ({"fate": "embedded", "copies": 2}, "embedded 2 times"),
        ({"fate": "hoisted", "note": "and inlined 1 time"}, "hoisted (and inlined 1 time)"),
    ],
)
def test_each_fate_has_its_words(program, changes, text):
    [line] = texts(ledger_view.ledger(program(legacy=[array(**changes)]), ("legacy",)))
    assert line[-1] == text


def test_a_hazard_names_the_line_and_the_fix():
    [line] = texts(ledger_view.hazards([hazard()]))
    assert line == [
        "captured and donated", "model.py:12", "jax.Array float32[8,8]",
        "stock simplified fails", "capture a copy",
    ]  # fmt: skip


def test_hazards_that_say_the_same_are_one_line():
    many = [hazard(line=line, array=f"float32[{line}]") for line in range(10)]
    lines = texts(ledger_view.hazards([*many, many[0], hazard(what="something else")]))
    assert len(lines) == 2
    assert lines[0][1].startswith("model.py:0, model.py:1, ")
    assert lines[0][1].endswith("model.py:7 and 2 more")
    assert lines[0][2].endswith("float32[7] and 2 more")


@pytest.mark.parametrize("format_", ["html", "md"])
def test_a_hazard_that_is_the_reason_stands_once_with_its_line_of_code(campaigns, program, format_):
    seen = hazard(code="step(donated, captured)")
    said = rows.FlipReason(
        outcome="different", kind="failure", what=f"fails; {seen.what}", action=seen.fix,
        where=f"{seen.file}:{seen.line} ({seen.array})",
    )  # fmt: skip
    flip = rows.FlipVerdict(left="legacy", right="simplified", outcome="different", reasons=(said,))
    row = program(hazards=[seen, hazard(what="something else")])
    page = whole(render_report(format_, campaigns.campaign(row.model_copy(update={"flip": flip}))))
    section = page[page.index("The flip from" if format_ == "md" else "<article") :]
    assert section.count(seen.what) == 1
    assert "something else" in section.partition("Hazards of the flip")[2]
    if format_ == "html":  # Markdown has no room for code
        assert seen.code in section.partition("Hazards of the flip")[0]


@pytest.mark.parametrize("format_", ["html", "md"])
def test_both_pages_show_them_escaped(campaigns, program, format_):
    hostile = campaigns.HOSTILE
    row = program(
        hazards=[hazard(file=hostile, array=hostile, what=hostile, fix=hostile)],
        legacy=[array(file=hostile, function=hostile, sharding=hostile, note=hostile)],
    )
    page = whole(render_report(format_, campaigns.campaign(row)))
    assert "Hazards of the flip" in page
    assert "Captured arrays, and what became of each" in page
    assert "<script>alert" not in page


def test_a_program_without_them_has_no_such_tables(campaigns):
    page = render_report("md", campaigns.campaign(campaigns.parity()))
    assert "Hazards of the flip" not in page
    assert "Captured arrays" not in page
