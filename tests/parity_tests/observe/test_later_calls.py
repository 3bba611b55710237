"""Later calls of a program: how many are timed, and what counts as one."""

import time

import jax.numpy as jnp
import pytest

from parity_tests.observe import later_calls
from reports.rows import StageTimes


class Counting:
    calls = 0

    def __call__(self):
        self.calls += 1
        return jnp.ones(3)


@pytest.mark.parametrize(("most", "taken"), [(0, 0), (2, 2), (5, 5)])
def test_it_calls_as_often_as_it_is_told(most, taken, monkeypatch):
    monkeypatch.setattr(later_calls, "SECONDS", 60.0)  # the first call may start the backend
    call = Counting()
    assert later_calls.time_calls(lambda: call, most).samples == call.calls == taken


@pytest.mark.parametrize(("for_enough", "taken"), [(60.0, 7), (0.0, 3)])
def test_slow_programs_are_called_less_often(for_enough, taken, monkeypatch):
    monkeypatch.setattr(later_calls, "SECONDS", 0.0)
    monkeypatch.setattr(later_calls, "SECONDS_FOR_ENOUGH", for_enough)
    assert later_calls.time_calls(Counting, 20).samples == taken


def test_each_call_is_kept_and_short_in_a_report():
    times = later_calls.time_calls(Counting, 5)
    assert len(times.seconds) == times.samples == 5
    kept = StageTimes(
        trace=1 / 3,
        lower=0.0,
        compile=0.0,
        first_call=0.0,
        call=times.call,
        call_samples=times.samples,
        call_seconds=times.seconds,
    )
    assert all(round(each, 8) == each for each in (kept.trace, kept.call, *kept.call_seconds))
    assert kept.call == pytest.approx(times.call, abs=1e-8)


def test_waiting_takes_nothing_of_the_processors():
    waited = later_calls.time_calls(lambda: lambda: time.sleep(0.05), 3)
    assert waited.call >= 0.05 > 10 * waited.processor

    def work():
        until = time.process_time() + 0.05
        while time.process_time() < until:
            pass

    assert later_calls.time_calls(lambda: work, 3).processor >= 0.05
    in_turns = iter([work, int, work])
    assert later_calls.time_calls(lambda: next(in_turns), 3).processor < 0.05


def test_dispatching_is_part_of_a_call():
    times = later_calls.time_calls(Counting, 5)
    assert 0 < times.dispatch <= times.call
    assert later_calls.time_calls(Counting, 0).dispatch is None
