"""ddmin finds minimal sets, and asks about no set twice."""

import itertools

import pytest

from parity_tests.reduce.search import ddmin


@pytest.mark.parametrize("count", [1, 2, 3, 8, 13])
def test_one_of_many(count):
    for culprit in range(count):
        assert ddmin(range(count), lambda part, c=culprit: c in part) == (culprit,)


@pytest.mark.parametrize("culprits", list(itertools.combinations(range(7), 3)))
def test_several_that_are_needed_together(culprits):
    asked = []

    def shows(part):
        asked.append(part)
        return set(culprits) <= set(part)

    assert ddmin("abcdefg", lambda part: shows(["abcdefg".index(c) for c in part])) == tuple(
        "abcdefg"[i] for i in culprits
    )
    assert len(asked) == len({tuple(part) for part in asked})


def test_no_item_can_be_left_out_where_parts_do_not_add_up():
    """A difference that two arrays make and a third one hides: minimal, if not unique."""

    def shows(part):
        return {1, 4} <= set(part) and (6 not in part or 2 in part)

    found = ddmin(range(8), shows)
    assert shows(found)
    assert not any(shows(tuple(i for i in found if i != left)) for left in found)


def test_neither_the_whole_nor_the_empty_part_is_asked_about():
    asked = []
    ddmin(range(4), lambda part: asked.append(part) or 2 in part)
    assert () not in asked
    assert tuple(range(4)) not in asked
