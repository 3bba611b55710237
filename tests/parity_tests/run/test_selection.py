"""Which programs are run: what a selection takes, and the expression of `-k`."""

import pytest

from parity_tests.processes.protocol import Listed
from parity_tests.run.selection import (
    NameExpressionError,
    Selection,
    parse_expression,
    target_key,
)

PROGRAM = Listed(name="add_two", target="programs/model.py:add_two", tags=("slow", "prng"))


@pytest.mark.parametrize(
    ("select", "is_taken"),
    [
        (Selection(), True),
        (Selection(expression=" "), True),
        (Selection(expression="two"), True),
        (Selection(expression="prng and not quick"), True),
        (Selection(expression="programs"), False),
        (Selection(tags=("slow",)), True),
        (Selection(tags=("quick", "prng")), True),
        (Selection(tags=("slo",)), False),
        (Selection(expression="two", tags=("quick",)), False),
        (Selection(targets=("programs/model.py:add_two",)), True),
        (Selection(targets=()), False),
    ],
)
def test_a_program_is_taken_where_all_that_is_asked_holds(select, is_taken):
    assert select.takes(PROGRAM) is is_taken


def test_two_ways_to_name_one_file_are_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert target_key("./a/../model.py:f") == "model.py:f"
    assert target_key(f"{tmp_path}/model.py:f") == "model.py:f"
    assert target_key("package.module:f") == "package.module:f"


@pytest.mark.parametrize(
    ("expression", "is_true"),
    [
        ("scan", True),
        ("SCAN", True),
        ("cond", False),
        ("not cond", True),
        ("scan and grad", True),
        ("scan and not grad", False),
        ("cond or prng", True),
        ("not (cond or vmap) and slow", True),
        ("a.b:c", False),
        ("under-jit or if", False),
        ("scan\nand grad", True),
    ],
)
def test_words_are_parts_of_names_or_tags(expression, is_true):
    assert parse_expression(expression)(["scan under grad", "slow", "prng"]) is is_true


@pytest.mark.parametrize("expression", ["a and", "(a", "a b", "not", ")", "", "a)(b", "a or or b"])
def test_an_expression_that_cannot_be_read_says_how_one_is_written(expression):
    with pytest.raises(NameExpressionError, match="as in 'scan and not grad'"):
        parse_expression(expression)


def test_words_are_never_run():
    assert parse_expression("__import__ or exit")(["x"]) is False


@pytest.mark.parametrize(
    ("expression", "scan", "grad", "value"),
    [
        ("scan and grad", False, None, False),
        ("scan and grad", True, None, None),
        ("scan or grad", True, None, True),
        ("scan or grad", False, None, None),
        ("not scan and not grad", True, None, False),
        ("not (scan or grad)", False, None, None),
        ("not (scan and grad)", False, None, True),
    ],
)
def test_a_word_that_is_not_known_leaves_open_what_the_others_do_not_decide(
    expression, scan, grad, value
):
    assert parse_expression(expression).value([scan, grad]) is value
