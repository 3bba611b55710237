import pytest

from parity_tests.cli.explain_view import folded


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
