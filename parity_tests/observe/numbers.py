"""Numbers of a program on a side: of its jaxpr and of its module, and the settings with both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax

from parity_tests.jax_defaults import jax_defaults
from parity_tests.jaxpr.source_places import NOWHERE, place_of
from parity_tests.observe.stages import Lowered
from parity_tests.proof.encodings import encoded
from parity_tests.proof.jaxprs import number_jaxpr
from parity_tests.proof.numbers import Numbered, Step, UndecidedError, number
from reports.rows import Numbers, ProgramNumber

# Settings of JAX that stand in no jaxpr, and decide what is computed all the same.
_SETTINGS = (
    "jax_default_matmul_precision", "jax_default_prng_impl", "jax_enable_x64",
    "jax_numpy_dtype_promotion", "jax_threefry_partitionable", "jax_use_shardy_partitioner",
)  # fmt: skip


def numbers_of(lowered: Lowered, *, is_one_jit: bool) -> Numbers:
    """Return the numbers of a program that was traced and lowered.

    Example::

        numbers_of(stages.trace_and_lower(built, peaks, None), is_one_jit=True).jaxpr.digest
    """
    settings = _settings()
    with jax_defaults():
        return Numbers(
            jaxpr=_row(lambda: numbered_jaxpr(lowered), lowered, settings),
            is_one_jit=is_one_jit,
        )


def numbered_jaxpr(lowered: Lowered) -> Numbered:
    """Return the numbers of the jaxpr of a program. Raises `UndecidedError`."""
    return number_jaxpr(lowered.traced.jaxpr)


def _settings() -> bytes:
    return encoded(tuple(getattr(jax.config, name, None) for name in _SETTINGS))


def _row(make: Callable[[], Numbered], lowered: Lowered, settings: bytes) -> ProgramNumber:
    types = _types(lowered)
    try:
        found = make()
        options = encoded(dict(lowered.built.own.options))
    except UndecidedError as error:
        return ProgramNumber(undecided=str(error), types=types)
    return ProgramNumber(
        digest=number(found.digest, settings, options).hex(),
        by_calls=number(found.by_calls, settings, options).hex() if found.by_calls else "",
        types=types,
        operations=len(found.steps),
        constants=len(found.constants),
        bodies=found.bodies,
        effects=len(found.effects),
    )


def _types(lowered: Lowered) -> str:
    jaxpr = lowered.traced.jaxpr
    inputs, outputs = (
        ", ".join(str(aval) for aval in avals) for avals in (jaxpr.in_avals, jaxpr.out_avals)
    )
    return f"{inputs} -> {outputs} {jax.tree.structure(lowered.traced.out_info)}"


def steps_of(found: Numbered) -> Iterator[tuple[Step, dict[str, str], str, int]]:
    """Yield each step with the texts of its params, and the file and line that it comes from."""
    for step in found.steps:
        place = place_of(step.source) if hasattr(step.source, "source_info") else NOWHERE
        said = {name: _short(value) for name, value in step.params.items()}
        yield step, said, place.file, place.line


_MOST_SAID = 100  # characters of a param


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _MOST_SAID else f"{text[:_MOST_SAID]}..."
