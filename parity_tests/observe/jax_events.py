"""What JAX records of its own work: events and durations, heard for the time of a block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax

# Takes the name of an event.
Hear = Callable[[str], object]


@contextmanager
def events(hear: Hear) -> Iterator[None]:
    """Hear of each event that JAX records within the block.

    Example::

        with events(found.append):
            lowered.compile()
    """
    with _listening(jax.monitoring.register_event_listener, "unregister_event_listener", hear):
        yield


@contextmanager
def durations(hear: Hear) -> Iterator[None]:
    """Hear of each duration that JAX records within the block."""
    register = jax.monitoring.register_event_duration_secs_listener
    with _listening(register, "unregister_event_duration_listener", hear):
        yield


@contextmanager
def _listening(register: Callable[[Any], object], unregister: str, hear: Hear) -> Iterator[None]:
    hears = True

    def listen(event: str, *_: float, **__: str | int) -> None:
        if hears:
            hear(event)

    register(listen)
    try:
        yield
    finally:
        hears = False
        if hasattr(jax.monitoring, unregister):  # from 0.8.3 on; before, it stays and is deaf
            getattr(jax.monitoring, unregister)(listen)
