"""Take a program out of its process and back: exported and read again, or reloaded from a cache.

Both lose everything that a process knows of a program beside its bytes, so both are checked by
their results. Programs that JAX refuses to export it refuses on every side alike.

A reloaded executable is the same one, and returns the same bits. An export is compiled anew, with
the captured arrays inlined in every mode. XLA may fold them there and round differently, so the
outputs are compared with the tolerances for two sides.
"""

from __future__ import annotations

import functools
from typing import Any

import jax

from parity_tests.evidence import tolerance_ladder
from parity_tests.jax_defaults import jax_defaults
from parity_tests.observe.calls import Result
from parity_tests.observe.compile_cache import Cached
from reports.rows import Check
from reports.rows.check_names import EXPORT, RELOAD

# With what JAX refuses: effects, callbacks, unknown custom calls, layouts.
_REFUSALS = (NotImplementedError, ValueError, TypeError)


def check_export(
    call: functools.partial[Any],
    dynamic: tuple[tuple[Any, ...], dict[str, Any]],
    first: Result,
) -> tuple[Check, ...]:
    """Export the jitted function of a call, read it back, call it, and compare with `first`.

    `dynamic` are the arguments of the call without the static ones, which an export does not take.
    An export keeps no weak types and commits to no device. So only structure and values count, and
    values only where they are a mismatch.
    """
    try:
        jitted: Any = call.func
        exported = jax.export.export(jitted)(*call.args, **call.keywords)
        blob = exported.serialize()
    except _REFUSALS as error:
        said = next(iter(str(error).splitlines()), "")
        refused = f"not exported: {type(error).__name__}: {said}"
        return (Check(name=EXPORT, holds=False, statement=refused),)
    args, kwargs = dynamic
    with jax_defaults():  # the user calls no export
        again = jax.export.deserialize(blob)
        result = Result.read(jax.block_until_ready(jax.jit(again.call)(*args, **kwargs)))
    apart = _structures_apart(first, result) or _beyond_tolerance(first, result)
    return (
        Check(name=EXPORT, holds=not apart, statement=apart or "the same values when read again"),
    )


def check_reload(cached: Cached, inputs: list[Any], first: Result) -> tuple[Check, ...]:
    """Call an executable that came from the persistent cache; none where there is none."""
    if cached.compiled is None:
        return ()
    with jax_defaults():
        result = Result.read(tuple(jax.block_until_ready(cached.compiled(*inputs))))
    apart = _values_apart(first, result)
    return (Check(name=RELOAD, holds=not apart, statement=apart or "the same values from a cache"),)


def _structures_apart(first: Result, other: Result) -> str:
    """Say how the trees of two results differ, or the arrays in them but for their values."""
    if len(first.leaves) != len(other.leaves):
        return f"{len(first.leaves)} leaves, and {len(other.leaves)} afterwards"
    if first.tree != other.tree:
        return f"another structure, {first.tree}, and {other.tree} afterwards"
    for a, b in zip(first.arrays, other.arrays, strict=True):
        one, two = (f"{each.array.dtype}{list(each.array.shape)}" for each in (a, b))
        if one != two:
            return f"{one} at {a.path or 'the only output'}, and {two} afterwards"
    return ""


def _beyond_tolerance(first: Result, other: Result) -> str:
    for a, b in zip(first.arrays, other.arrays, strict=True):
        leaf = tolerance_ladder.compare(a.path, a.array, b.array)
        if leaf.rung == "mismatch":
            return f"other values at {leaf.path or 'the only output'}: {leaf.note}"
    return ""


def _values_apart(first: Result, other: Result) -> str:
    digests = [[leaf.sha256 for leaf in each.leaves] for each in (first, other)]
    if len(digests[0]) != len(digests[1]):
        return f"{len(digests[0])} leaves, and {len(digests[1])} afterwards"
    apart = [leaf.path for leaf, a, b in zip(first.leaves, *digests, strict=True) if a != b]
    return f"other values at {apart[0] or 'the only output'}" if apart else ""
