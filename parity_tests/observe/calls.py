"""Calls of one program: the results of a call, and the work that JAX had with it.

A program is called in three ways: through the compiled stage, through the cache miss of a jitted
function, and through its C++ dispatcher. Each hands over const args in code of its own. The results
have to be the same bits, and a call with arguments of the same types as one before may neither
trace, lower nor compile.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax

from parity_tests.evidence import values
from reports.rows import Check, OutputLeaf
from reports.rows.check_names import DISPATCH, RECOMPILES

# The events that JAX records (jax 0.10.2), and the work that each tells of.
_EVENTS = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lowering",
    "/jax/core/compile/backend_compile_duration": "compilation",
}
# The function that a miss of JAX's C++ dispatcher calls, in JAX and in the engine (jax 0.10.2).
_MISS = "cache_miss"


@dataclass(frozen=True)
class Result:
    """The result of a call on the host: leaves as rows, their arrays, and the tree of them."""

    leaves: tuple[OutputLeaf, ...]
    arrays: tuple[values.Value, ...]
    tree: str

    @classmethod
    def read(cls, result: Any) -> Result:
        """Bring a result to the host."""
        flat, tree = jax.tree_util.tree_flatten_with_path(result)
        both = [values.to_host(jax.tree_util.keystr(path), leaf) for path, leaf in flat]
        text = without_addresses(str(tree).removeprefix("PyTreeDef"))  # of its static data
        return cls(tuple(row for row, _ in both), tuple(value for _, value in both), text)

    @property
    def digest(self) -> str:
        """The SHA-256 of all leaves."""
        return hashlib.sha256(" ".join(leaf.sha256 for leaf in self.leaves).encode()).hexdigest()

    def differs(self, other: Result) -> str:
        """Say where another result differs, in bits, type or placement; "" where it does not."""
        if self.tree != other.tree:
            return f"in structure, {self.tree} against {other.tree}"
        for a, b in zip(self.leaves, other.leaves, strict=True):
            where = f"at {a.path or 'the only output'}"
            for name in ("shape", "dtype", "weak_type", "sharding", "committed"):
                one, two = getattr(a, name), getattr(b, name)
                if one != two:
                    return f"{where} in {name.replace('_', ' ')}, {one} against {two}"
            if a.sha256 != b.sha256:
                return f"{where} in value"
        return ""


@contextmanager
def work_of_jax() -> Iterator[Counter[str]]:
    """Count the traces, lowerings and compilations of JAX within the block."""
    counts: Counter[str] = Counter()

    def count(event: str) -> None:
        if event in _EVENTS:
            counts[_EVENTS[event]] += 1

    with durations(count):
        yield counts


def check(
    call: Callable[[], Any], note: Callable[[Any], object], work_of_first: Counter[str]
) -> tuple[Check, ...]:
    """Call once more, and check the work of calls; `call` is best no Python function itself.

    `note` is given the result. `work_of_first` is JAX's work in the first call of the jitted
    function, called after the stages had been traced, lowered and compiled. A program with state of
    its own fails these checks on every side alike.
    """
    with work_of_jax() as work, misses_of_dispatch() as misses:
        result = jax.block_until_ready(call())
    note(result)
    return (
        Check(
            name=RECOMPILES,
            holds=not work and not work_of_first,
            statement=f"after the stages, calls took {_done(work_of_first)} and {_done(work)}",
        ),
        Check(
            name=DISPATCH,
            holds=not misses,
            statement=f"a later call went through {'Python' if misses else 'C++ alone'}",
        ),
    )


def _done(work: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(work.items())) or "no work"


@contextmanager
def misses_of_dispatch(on_miss: Callable[[], object] = lambda: None) -> Iterator[list[str]]:
    """Note the first miss of a C++ dispatcher within the block, as the file of what it called.

    What `on_miss` raises ends the call that missed. What follows a miss, traces and compilations
    for the most part, is slow where each call of a function is looked at, so none is from there on.
    """
    found: list[str] = []

    def note(frame: Any, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name == _MISS:
            sys.setprofile(before)
            found.append(frame.f_code.co_filename)
            on_miss()

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)


def without_addresses(text: str) -> str:
    """Leave out the memory addresses of objects, which differ from process to process.

    Addresses that JAX has masked in a jaxpr, an X for each digit, go too: their lengths differ.
    Example::

        without_addresses("<function f at 0x7f00>") == "<function f>"
    """
    return re.sub(r" at 0x[0-9a-fA-FX]+", "", text)


# -- what JAX records of its own work --------------------------------------------------------------

# Takes the name of an event.
Hear = Callable[[str], object]


@contextmanager
def events(hear: Hear) -> Iterator[None]:
    """Hear of each event that JAX records within the block."""
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
