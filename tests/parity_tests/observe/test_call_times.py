import jax.numpy as jnp
import pytest

from parity_tests.observe import call_times


class Counting:
    calls = 0

    def __call__(self):
        self.calls += 1
        return jnp.ones(3)


@pytest.mark.parametrize(("most", "taken"), [(0, 0), (2, 2), (5, 5)])
def test_it_calls_as_often_as_it_is_told(most, taken, monkeypatch):
    monkeypatch.setattr(call_times, "SECONDS", 60.0)  # the first call may start the backend
    call = Counting()
    assert call_times.take(lambda: call, most).samples == call.calls == taken


def test_slow_programs_are_called_three_times(monkeypatch):
    monkeypatch.setattr(call_times, "SECONDS", 0.0)
    assert call_times.take(Counting, 20).samples == 3


def test_dispatching_is_part_of_a_call():
    times = call_times.take(Counting, 5)
    assert 0 < times.dispatch <= times.call
    assert call_times.take(Counting, 0).dispatch is None
