"""Flip the flag between calls of one function: each side must come back as it was.

The function is jitted once, without a side of its own, so that the flag decides at each call:
legacy, simplified, legacy, simplified. The check follows the measurement of legacy: the flag is off
by default, so JAX has compiled half of the work already. A cache without the flag in its key would
answer for the other side. Then a side shows the evidence of the other, or its first call finds an
answer in the C++ dispatcher.

Most of the time goes into compiling the other form. `"lowered"` does without: simplified is traced
and lowered, and its calls end where they miss the C++ dispatcher. All else is compared, but not the
results of simplified before and after.

The check comes last. A program may raise, hang or end its process only while its other form is
traced. So the observation is there already, and what the other form raises is no failure of the
side.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import jax

from parity_tests.jaxpr import counts
from parity_tests.observe import stablehlo
from parity_tests.observe.calls import Result, misses_of_dispatch, without_addresses, work_of_jax
from parity_tests.observe.failures import attempt
from parity_tests.observe.jit_on_side import expanded
from parity_tests.observe.proof_of_side import prove
from parity_tests.observe.stages import Built
from reports.rows import Check, Observation, Side
from reports.rows.check_names import AGREE, FLIPS, SETTINGS, Flips

_HOLDS: dict[Flips, str] = {
    "called": "each side comes back",
    "lowered": "each side comes back; simplified was lowered, and not called",
}


@dataclass(frozen=True)
class _Turn:
    """The evidence of one side at one turn of the flag; no result where it was not compiled."""

    result: Result | None
    jaxpr: str
    module: stablehlo.ModuleCounts
    misses: int
    traced: int
    statement: str  # what contradicts the side; "" where nothing does


class _Missed(Exception):
    """A call was not answered by the C++ dispatcher, and it ends there."""


def is_due(built: Built, observation: Observation, flips: Flips) -> bool:
    """Say whether a side is held to the check, which on most sides it is not.

    With flips of the "first" program of a process, this program is another, and is not held to it.
    """
    if observation.failure is not None:
        return False
    captured = observation.jaxpr.captured_arrays if observation.jaxpr else 0
    # Without captured arrays the two sides are one.
    return built.side == "legacy" and captured > 0 and flips != "first"


@jax.disable_jit(False)  # as the measurement
def check(built: Built, observation: Observation, flips: Flips) -> tuple[Check, ...]:
    """Call a function under the flag in turns, and compare each side with what it showed before.

    The results of a program with state of its own are not compared. Where the function is to be
    `"lowered"` alone, simplified is not compiled.
    """
    stateful = any(each.name == AGREE and not each.holds for each in observation.checks)
    return attempt(FLIPS, lambda: _check(built, stateful=stateful, flips=flips))


def _check(built: Built, *, stateful: bool, flips: Flips) -> tuple[Check, ...]:
    import engine

    before = _settings()
    jitted = engine.jit(built.fun)
    turns: dict[Side, list[_Turn]] = {"legacy": [], "simplified": []}
    for _ in range(2):
        for side, seen in turns.items():
            with _flag(side == "simplified"):
                is_called = side == "legacy" or flips == "called"
                seen.append(_turn(jitted, side, built, is_called=is_called))
    found = [each for side, seen in turns.items() for each in _against(side, seen, stateful)]
    # Where the very first call finds an answer, this process has flipped the function before.
    if turns["legacy"][0].misses and not turns["simplified"][0].misses:
        found.append("simplified: its first call was answered from the cache of legacy")
    after = _settings()
    return (
        Check(name=FLIPS, holds=not found, statement="; ".join(found) or _HOLDS[flips]),
        Check(
            name=SETTINGS,
            holds=before == after,
            statement=f"JAX's flag and ours were {before} and are {after}",
        ),
    )


def _flag(simplified: bool) -> AbstractContextManager[None]:
    """Hold the flag, unless it is so already: JAX would compile again for the same value set."""
    import engine

    if engine.config.use_simplified_constants == simplified:
        return nullcontext()
    return engine.use_simplified_constants(simplified)


def _turn(jitted: Any, side: Side, built: Built, *, is_called: bool) -> _Turn:
    import engine

    result, args, kwargs = None, built.args, built.kwargs
    # The call comes first, since it is the one whose cache is in C++.
    with work_of_jax() as work, _cheap_compilation():
        if is_called:
            with misses_of_dispatch() as misses:
                result = jax.block_until_ready(jitted(*args, **kwargs))
        else:
            with suppress(_Missed), misses_of_dispatch(_end_call) as misses:
                jitted(*args, **kwargs)
            jitted.trace(*args, **kwargs)
    traced = jitted.trace(*args, **kwargs)
    embed_threshold = engine.config.embedded_constants_max_bytes
    facts = counts.count(expanded(traced), embed_threshold=embed_threshold)
    module = stablehlo.count(traced.lower().compiler_ir(), embed_threshold=embed_threshold)
    # Dead code is of no interest here: as many arrays are taken to be live as there are const args.
    proof = prove(side, facts, module, live_captured=min(module.const_args, len(facts.captured)))
    return _Turn(
        Result.read(result) if is_called else None,
        without_addresses(str(traced.jaxpr)),
        module,
        len(misses),
        work["trace"],
        "" if proof.holds else proof.statement,
    )


def _end_call() -> None:
    raise _Missed


@contextmanager
def _cheap_compilation() -> Iterator[None]:
    """Compile without the optimisation by LLVM: the check asks which program runs, not how fast.

    Compiling the other half takes a third of the time of legacy on the built-in corpus; with this,
    a fifth.
    """
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    try:
        yield
    finally:
        jax.config.update("jax_disable_most_optimizations", before)


def _against(side: Side, turns: list[_Turn], stateful: bool) -> list[str]:
    first, second = turns
    found = [each.statement for each in (first, second) if each.statement]
    if second.traced:
        found.append(f"{side}: a call after the flag came back traced again")
    if first.jaxpr != second.jaxpr:
        found.append(f"{side}: another jaxpr after the flag came back")
    if first.module != second.module:
        found.append(f"{side}: another module after the flag came back")
    apart = first.result.differs(second.result) if first.result and second.result else ""
    if apart and not stateful:
        found.append(f"{side}: the result after the flag came back differs {apart}")
    return list(dict.fromkeys(found))


def _settings() -> tuple[Any, Any]:
    import engine

    ours = engine.config.use_simplified_constants
    return jax.config.jax_use_simplified_jaxpr_constants, ours  # type: ignore[attr-defined]
