"""A program's source is cut for as long as it shows the same; what shows it is made up here."""

import textwrap
from pathlib import Path

import pytest

from parity_tests.reduce import source
from parity_tests.reduce.search import Found, smallest

TEXT = '''
"""A module."""
import math
from os import path, sep

HERE = path
ANGLE = UNUSED = 1


def helper(a):
    """Say nothing."""
    return math.sin(a) + ANGLE


def other():
    return sep


class Kept:
    step = other


print("loaded")


def step(x):
    with open(HERE) as file:
        y = helper(x * 2, key=3)
    if x:
        y = [y, -x][0]
    return (lambda v: v + y)(x), y
'''


def cut(text, *words, **bounds):
    """Return what is left of `step` while the program has these words, and what was tried."""
    tried = []

    def first_alike(targets):
        tried.extend(targets)
        texts = {each: Path(each.rpartition(":")[0]).read_text() for each in targets}
        return next((each for each in targets if all(word in texts[each] for word in words)), None)

    how = {"max_tries": 5000, "seconds": 60} | bounds
    return source.reduced(textwrap.dedent(text), "step", first_alike, **how), tried


def test_all_that_does_not_matter_is_cut():
    found, tried = cut(TEXT, "math.sin", "def step")
    left = "import math\n\ndef helper():\n    return math.sin()\n\ndef step():\n    pass\n"
    assert found == Found(left, len(tried) - 2)  # of the first two one is where it starts
    assert all(each.endswith(".py:step") for each in tried)


def test_another_docstring_may_stand_before_what_is_left():
    text = '"""Old."""\nfrom __future__ import annotations\n\ndef step():\n    pass\n'
    assert cut(text, "annotations", "step", max_tries=0)[0].best == text.partition("\n")[2]


def test_a_program_that_another_folder_lacks_something_of_is_not_cut():
    assert cut(TEXT, "no such word")[0] is None


def test_what_stops_a_search_is_said():
    assert cut(TEXT, "def step", max_tries=3)[0].stopped == "all 3 tries were made"
    assert cut(TEXT, "def step", seconds=0)[0].stopped == "0 seconds are over"
    few = smallest(9, lambda n: range(n - 1, n), lambda tried: tried[0], rounds=2)
    assert few == Found(7, 2, "2 rounds were made")


def test_a_round_takes_the_first_that_shows_it_and_asks_no_more():
    asked = []

    def first_shown(tried):
        asked.append(tuple(tried))
        return next((each for each in tried if each >= 5), None)

    assert smallest(9, range, first_shown, at_once=4) == Found(5, 13)
    assert asked == [(0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 2, 3), (4,)]


@pytest.mark.parametrize(
    ("text", "smaller"),
    [
        ("def f(x):\n    return g(x)", ["pass", "def f(x):\n    pass", "def f(x):\n    return x"]),
        (
            "from b import *\nc(d)",
            ["from b import *", "from b import *\nd", "from b import *\nc()"],
        ),
        ("if 1:\n    a = 2", ["pass", "a = 2", "if 1:\n    2", "if 1:\n    pass"]),
        ("a = lambda v: v + 1", ["pass", "a = lambda v: 1", "a = lambda v: v", "lambda v: v + 1"]),
        (
            "import b\nb.c(k=b, d=1)",
            ["import b", "import b\n1", "import b\nb", "import b\nb.c(d=1)", "import b\nb.c(k=b)"],
        ),
    ],
)
def test_cuts_that_leave_names_without_a_definition_are_not_tried(text, smaller):
    assert source.candidates(f"{text}\n") == tuple(f"{each}\n" for each in smaller)
