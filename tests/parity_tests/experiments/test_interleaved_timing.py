"""Programs take turns, and what comes of their place in a round is noise."""

import pytest

from parity_tests.experiments import interleaved_timing
from parity_tests.experiments.interleaved_timing import interleaved, noise, ratio


class Clock:
    """Stands for `time`: every action takes a second longer than the one before it in its round."""

    def __init__(self):
        self.now = 0.0
        self.place = 0

    def perf_counter(self):
        return self.now

    def act(self):
        self.place = self.place % 3 + 1
        self.now += self.place


def test_every_other_round_goes_the_other_way(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(interleaved_timing, "time", clock)
    prepared = []

    def prepare(key):
        return lambda: prepared.append(key) or clock.act

    seconds = interleaved({key: prepare(key) for key in "abc"}, 4, lost=1)
    assert "".join(prepared) == "abccbaabccbaabc"
    assert seconds == {"a": [3, 1, 3, 1], "b": [2, 2, 2, 2], "c": [1, 3, 1, 3]}
    assert noise(seconds.values()) == 2.0  # a and c are alike, but for their places
    assert noise([seconds["b"]]) == 0.0
    assert interleaved({"a": prepare("a")}, 2, lost=0) == {"a": [1, 2]}


def test_one_sample_has_no_noise():
    assert noise([[1.0], [9.0]]) == 0.0
    assert ratio([2.0, 1.0, 4.0]) == pytest.approx(4.0)
