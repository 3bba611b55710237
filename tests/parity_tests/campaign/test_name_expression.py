import pytest

from parity_tests.campaign.selection import NameExpressionError, parse_expression


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
