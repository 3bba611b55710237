"""Calls: the work of JAX is heard and counted, and addresses are left out of texts."""

import sys

import jax
import pytest

from parity_tests.observe import calls
from parity_tests.observe.calls import without_addresses


def test_work_of_jax_is_counted():
    jitted = jax.jit(lambda x: x + 1)
    with calls.work_of_jax() as first, calls.misses_of_dispatch() as misses:
        jitted(1.0)
    assert first["compilation"] == 1
    assert misses
    with calls.work_of_jax() as second, calls.misses_of_dispatch() as none:
        jitted(2.0)
    assert not second
    assert none == []


def test_what_follows_a_miss_is_not_looked_at_call_by_call():
    before = sys.getprofile()
    with calls.misses_of_dispatch() as misses:
        jax.jit(lambda x: x + 2)(1.0)
        assert sys.getprofile() is before
    assert len(misses) == 1


@pytest.mark.parametrize("address", ["0x7f00ab", "0x7F00", "0xXXXXXXXXXXXX"])
def test_addresses_are_left_out(address):
    assert without_addresses(f"policy=<function f at {address}> b") == "policy=<function f> b"


def test_what_only_looks_like_an_address_stays():
    assert without_addresses("0x7f00 looked at 77") == "0x7f00 looked at 77"


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
