"""JAX's persistent compilation cache: does a program hit it, how fast, and with which arrays.

Everywhere else the cache is off. Here a program is compiled three times with a cache of its own: to
fill the cache, to be read from it, and with other values in its captured arrays. The third is a hit
only if the arrays are no part of the executable. Nothing is run.
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

_SETTINGS = {
    "jax_enable_compilation_cache": True,
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
        compile_(closed)
        compiled, seconds, events = compile_(closed)
        if not events[HIT] or events[MISS]:
            return Cached()
        if not captured:
            return Cached(seconds, compiled=compiled)
        _, _, events = compile_(replace_captured(closed, replace))
        return Cached(seconds, events[MISS], compiled)


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
