"""Take a program out of its process and back: exported and read again, or reloaded from a cache.

Both lose what a process knows of a program beside its bytes, so both are checked by what the result
of calling it is. What JAX refuses to export it refuses on every side alike.
"""

from __future__ import annotations

from typing import Any

import jax

from parity_tests.calls import Result
from parity_tests.checks import EXPORT, RELOAD
from parity_tests.compile_cache import Cached
from reports.rows import Check

# With what JAX refuses: effects, callbacks, unknown custom calls, layouts.
_REFUSALS = (NotImplementedError, ValueError, TypeError)


def check_export(
    jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any], first: Result
) -> tuple[Check, ...]:
    """Export a jitted function, read it back, and compare what calling it returns with `first`.

    An export keeps no weak types and commits to no device, so only structure and values count.
    """
    try:
        exported = jax.export.export(jitted)(*args, **kwargs)
        blob = exported.serialize()
    except _REFUSALS as error:
        said = next(iter(str(error).splitlines()), "")
        refused = f"not exported: {type(error).__name__}: {said}"
        return (Check(name=EXPORT, holds=False, statement=refused),)
    again = jax.export.deserialize(blob)
    result = Result.read(jax.block_until_ready(jax.jit(again.call)(*args, **kwargs)))
    apart = _values_apart(first, result)
    return (
        Check(name=EXPORT, holds=not apart, statement=apart or "the same values when read again"),
    )


def check_reload(cached: Cached, inputs: list[Any], first: Result) -> tuple[Check, ...]:
    """Call an executable that came from the persistent cache; none where there is none."""
    if cached.compiled is None:
        return ()
    result = Result.read(tuple(jax.block_until_ready(cached.compiled(*inputs))))
    apart = _values_apart(first, result)
    return (Check(name=RELOAD, holds=not apart, statement=apart or "the same values from a cache"),)


def _values_apart(first: Result, other: Result) -> str:
    digests = [[leaf.sha256 for leaf in each.leaves] for each in (first, other)]
    if len(digests[0]) != len(digests[1]):
        return f"{len(digests[0])} leaves, and {len(digests[1])} afterwards"
    apart = [leaf.path for leaf, a, b in zip(first.leaves, *digests, strict=True) if a != b]
    return f"other values at {apart[0] or 'the only output'}" if apart else ""
