"""Interleaving: times of several programs that take turns, their noise, and figures beside them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from parity_tests.observe import optimised_hlo, stablehlo
from parity_tests.processes.protocol import Progress

Key = TypeVar("Key", bound=Hashable)

# A choice is never recommended if its call is this many times slower than another's.
SEVERAL = 3.0


def interleaved(
    prepare: dict[Key, Callable[[], Callable[[], object]]],
    samples: int,
    *,
    lost: int = 1,
    tell: Progress = lambda done, total, text: None,
    what: str = "",
) -> dict[Key, list[float]]:
    """Time what is prepared, in turns, so that a machine that slows down slows all.

    Each round goes the other way than the one before it: what comes of a place in the round is in
    the noise, and no gain. Only the calls of what `prepare` returns are timed, in seconds; the
    first `lost` of each are thrown away. `tell` hears of each round.

        interleaved({"one": lambda: one, "other": lambda: other}, 5)["one"]
    """
    seconds: dict[Key, list[float]] = {key: [] for key in prepare}
    rounds = samples + lost
    for number in range(rounds):
        tell(number, rounds, what)
        for key in reversed(prepare) if number % 2 else prepare:
            seconds[key].append(seconds_of(prepare[key]()))
    return {key: taken[lost:] for key, taken in seconds.items()}


def seconds_of(action: Callable[[], object]) -> float:
    """Run an action, and return how many seconds it takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def noise(measured: Iterable[Sequence[float]]) -> float:
    """Return the largest ratio, less 1, of the medians of odd and of even samples of one program.

    noise([[1.0, 1.1, 1.0, 1.1]])  # 0.1
    """
    halves = [(samples[::2], samples[1::2]) for samples in measured if len(samples) > 1]
    medians = [[statistics.median(half) for half in both] for both in halves]
    return max((ratio(both) - 1 for both in medians), default=0.0)


def ratio(seconds: Sequence[float]) -> float:
    """Return the ratio of the longest to the shortest time."""
    return max(seconds) / min(seconds)


def not_far_behind(chosen: Key, call: Mapping[Key, float], compile_: Mapping[Key, float]) -> Key:
    """Return the choice, or a better one where another call is `SEVERAL` times as fast.

    Limits of compile time come second then: of the choices that are not so far behind the fastest,
    the one that compiles in the shortest time is returned.

        not_far_behind("a", {"a": 30.0, "b": 0.2, "c": 0.1}, {"a": 0.2, "b": 1.5, "c": 29.0}) == "b"
    """
    near = [each for each in call if call[each] <= SEVERAL * min(call.values())]
    return chosen if chosen in near else min(near, key=compile_.__getitem__)


def figures(lowered: Any, compiled: Any) -> dict[str, Any]:
    """Read the fields of `reports.rows.experiments.ProgramFigures` off the stages of a program."""
    module = stablehlo.count(lowered.compiler_ir(), embed_threshold=0)
    memory = compiled.memory_analysis()
    return {
        "const_args": len(lowered.const_args),
        "text_bytes": len(lowered.as_text()),
        "inlined_bytes": module.inlined_bytes,
        "optimised_constant_bytes": optimised_hlo.count(compiled).constant_bytes,
        "argument_bytes": None if memory is None else memory.argument_size_in_bytes,
        "temporary_bytes": None if memory is None else memory.temp_size_in_bytes,
    }
