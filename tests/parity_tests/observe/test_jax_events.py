"""What JAX records of its work is heard within a block, and no longer."""

import jax
import pytest

from parity_tests.observe import calls


@pytest.mark.parametrize("has_unregister", [True, False])  # from JAX 0.8.3 on
def test_events_are_heard_within_the_block_alone(monkeypatch, has_unregister):
    if not has_unregister:
        monkeypatch.delattr(jax.monitoring, "unregister_event_listener")
        monkeypatch.delattr(jax.monitoring, "unregister_event_duration_listener")
    heard = []
    with calls.events(heard.append):
        jax.monitoring.record_event("/a")
        with calls.durations(heard.append):
            jax.monitoring.record_event_duration_secs("/b", 1.0, why="x")
        jax.monitoring.record_event_duration_secs("/c", 1.0)
    jax.monitoring.record_event("/d")
    assert heard == ["/a", "/b"]
