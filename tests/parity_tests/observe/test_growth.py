"""What calls leave in memory, told from what one call alone left."""

import pytest

from parity_tests.observe import memory
from parity_tests.observe.memory import Memory, growth_between


@pytest.mark.parametrize(
    ("in_the_end", "found"),
    [
        (25, 1),  # each call leaves an array
        (24, 1),  # the same, and an array of the first call was garbage
        (9, 0),  # all of it was garbage
    ],
)
def test_an_array_of_one_call_hides_none_of_the_others(monkeypatch, in_the_end, found):
    monkeypatch.setattr(memory, "seen_after", lambda calls: Memory(calls, in_the_end, 0, 0))
    seen = [Memory(calls, 5 + calls, 0, 0) for calls in (4, 8, 12, 16, 20)]
    assert growth_between(seen).arrays == found
