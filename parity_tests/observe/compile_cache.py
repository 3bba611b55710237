"""JAX's persistent compilation cache: does a program hit it, how fast, and with which arrays.

The cache is off, for reading it is not compiling, with two exceptions. Here a program is compiled
with a cache of its own: with other values in its captured arrays, then as it is, which is a hit
only if the arrays are no part of the executable, and after a miss once more. Nothing is run. And a
program is called as it is written with the cache as its user has it: it may count the entries.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache
from jax.extend import core

from parity_tests.evidence.temporary_folders import temporary_folder
from parity_tests.jaxpr.captured import identity
from parity_tests.jaxpr.rewriting import replace_captured, with_other_elements
from parity_tests.observe import calls

# Nobody wants to wait for a program of minutes twice more, nor to hold a large closure twice.
LONGEST_SECONDS = 10.0
MOST_BYTES = 64 * 2**20

# The events that JAX records (jax 0.10.2 to 0.12.0.1).
HIT = "/jax/compilation_cache/cache_hits"
MISS = "/jax/compilation_cache/cache_misses"
COMPILED = "/jax/core/compile/backend_compile_duration"

_ENABLED = "jax_enable_compilation_cache"
_SETTINGS = {
    _ENABLED: True,
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}


@dataclass(frozen=True)
class Cached:
    """The findings; None for a program that JAX does not cache, or that is too large.

    `seconds` is the time of compiling with a hit, and `compiled` the executable, which takes the
    leaves of the arguments. `recompiles` is the number of compilations, 0 or 1, for other values in
    captured arrays above the embed threshold.
    """

    seconds: float | None = None
    recompiles: int | None = None
    compiled: Any = None


def is_affordable(compile_seconds: float, captured_bytes: int) -> bool:
    """Say whether a program is small enough to be compiled again, with its arrays twice."""
    return compile_seconds <= LONGEST_SECONDS and captured_bytes <= MOST_BYTES


def measure(
    jit: Callable[[Callable[..., Any]], Any],
    closed: Any,
    inputs: list[Any],
    captured: Collection[Hashable],
) -> Cached:
    """Compile a closed_jaxpr with a persistent cache.

    `jit` jits on the side, `inputs` are the leaves of the example arguments, and `captured` has the
    identities of the arrays that get other values. The settings of JAX are restored.
    """

    def replace(value: Any) -> Any:
        return with_other_elements(value) if identity(value) in captured else value

    def compile_(program: Any) -> tuple[Any, float, Counter[str]]:
        lowered = jit(core.jaxpr_as_fun(program)).trace(*inputs).lower()
        with cache_events() as events:
            start = time.perf_counter()
            compiled = lowered.compile()
            return compiled, time.perf_counter() - start, events

    with temporary_folder("cache-") as folder, cache_in(str(folder)):
        compile_(replace_captured(closed, replace) if captured else closed)
        compiled, seconds, events = compile_(closed)
        recompiles = events[MISS] if captured else None
        if recompiles:
            compiled, seconds, events = compile_(closed)
        if not events[HIT] or events[MISS]:
            return Cached()
        return Cached(seconds, recompiles, compiled)


@dataclass
class _OfUser:
    """Whether the user lets JAX keep executables, and how many this process has put there."""

    is_on: bool = True
    written: int = 0


_of_user = _OfUser()


def is_off_for_the_user() -> None:
    """Note that the user has turned the cache off."""
    _of_user.is_on = False


def entries_written() -> int:
    """Return how many executables this process has put into the cache of the user."""
    return _of_user.written


@contextmanager
def as_the_user_has_it() -> Iterator[None]:
    """Let JAX keep executables in a block, where the program or its environment names a folder."""
    before = {_ENABLED: getattr(jax.config, _ENABLED)}
    _configure({_ENABLED: _of_user.is_on})
    try:
        with cache_events() as events:
            yield
    finally:
        _of_user.written += events[MISS]
        _configure(before)


@contextmanager
def compiled_with_a_folder() -> Iterator[list[str]]:
    """List what is compiled in a block while a folder for the cache of the user is named."""
    heard: list[str] = []

    def hear(event: str) -> None:
        if event == COMPILED and jax.config.values["jax_compilation_cache_dir"]:
            heard.append(event)

    with calls.durations(hear):
        yield heard


@contextmanager
def cache_in(folder: str) -> Iterator[None]:
    """Have JAX keep every executable in a folder, and restore its settings at the end."""
    settings: dict[str, Any] = {**_SETTINGS, "jax_compilation_cache_dir": folder}
    before = {name: getattr(jax.config, name) for name in settings}
    _configure(settings)
    try:
        yield
    finally:
        _configure(before)


def _configure(settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()  # JAX opens it once and keeps it


@contextmanager
def cache_events() -> Iterator[Counter[str]]:
    """Count the events that JAX records of its cache: `HIT`, `MISS` and others."""
    found: Counter[str] = Counter()

    def count(event: str) -> None:
        found[event] += 1

    with calls.events(count):
        yield found
