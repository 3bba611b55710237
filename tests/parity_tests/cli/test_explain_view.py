"""`explain` prints captured arrays, the flip verdict and hazards."""

import io

import pytest
from rich.console import Console

from parity_tests.cli.explain_view import folded, print_explanation, print_ledger
from reports.document import Cell, Column, Table
from reports.rows import SIDES

TITLES = ("first used at", "array", "size", "sharding", "uses", *SIDES)
PLACE = "my_package/programs/model.py:100 in loss"


def printed(*fates, width=80, sharding="-"):
    rows = tuple(
        tuple(Cell(text) for text in (PLACE, "float32[512,512]", "1.0 MiB", sharding, "2", *each))
        for each in fates
    )
    console = Console(file=io.StringIO(), width=width)
    print_ledger(console, Table("", tuple(map(Column, TITLES)), rows), SIDES)
    return console.file.getvalue()


def cells(text, number):
    lines = [line for line in text.splitlines() if line.startswith("│")]
    return [cell.strip() for cell in lines[number].strip("│").split("│")]


TWO_MODES = ("inlined", "hoisted", "inlined", "hoisted 2 times")


def test_on_a_wide_terminal_each_side_has_a_column():
    text = printed(TWO_MODES, width=160)
    assert cells(text, 0) == [PLACE, "float32[512,512]", "1.0 MiB", "-", "2", *TWO_MODES]


def test_on_eighty_columns_sides_that_agree_share_a_line_and_no_cell_is_folded():
    text = printed(TWO_MODES)
    assert max(map(len, text.splitlines())) <= 80
    first = ["my_package/programs/", "float32[512,512]", "1.0 MiB", "2", "L jL inlined"]
    assert cells(text, 0) == first
    assert [cells(text, number)[-1] for number in (1, 2)] == ["S hoisted", "jS hoisted 2 times"]
    assert "sides: L legacy, S simplified, jL jax-legacy, jS jax-simplified" in text
    assert "sharding" not in text


def test_where_all_sides_agree_no_letters_are_needed():
    text = printed(("unused",) * 4, sharding="x")
    assert cells(text, 0)[-1] == "unused"
    assert "sides:" not in text
    assert "sharding" in text


def test_quietly_the_captured_arrays_are_left(faults, rows):
    campaign = faults.model_copy(update={"programs": (rows["good"],)})
    for details in (0, 1):
        console = Console(file=io.StringIO(), width=160)
        print_explanation(console, campaign, details=details)
        text = console.file.getvalue()
        assert cells(text, 0)[-2:] == ["folded", "hoisted"]
        assert ("  flip: safe\n" in text) == (details > 0)


@pytest.mark.parametrize(
    ("name", "width", "lines"),
    [
        ("good", 10, ["good"]),
        ("other_order_of_bits", 18, ["other_order_of_", "bits"]),
        ("scan under grad", 10, ["scan under", "grad"]),
        ("scan under grad", 9, ["scan", "under", "grad"]),
        ("tests/programs/model.py:12 in f", 16, ["tests/programs/", "model.py:12 in f"]),
        ("a_verylongwordwithoutbreaks", 10, ["a_verylong", "wordwithou", "tbreaks"]),
        ("two\nlines", 5, ["two", "lines"]),
        ("abc", 0, ["a", "b", "c"]),
    ],
)
def test_a_name_is_broken_where_a_reader_expects_it(name, width, lines):
    assert folded(name, width).split("\n") == lines
