"""Growth: what each call leaves in memory when its result is gone.

Arrays on devices are counted exactly. The resident memory of the process is no such thing: an
allocator takes and gives back as it likes, so only what grows by megabytes with each call counts.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax

from parity_tests.observe import host_memory
from reports.rows import Check
from reports.rows.calls import Growth
from reports.rows.check_names import LEAVES_NOTHING
from reports.views.figures import humanise_bytes
from reports.views.texts import counted

FEWEST_SEEN = 3
FEWEST_FOR_RESIDENT = 5
RESIDENT_BYTES = 2**20  # a call


@dataclass(frozen=True)
class Memory:
    """The arrays on devices after a number of calls, and the resident memory, 0 if unknown."""

    calls: int
    arrays: int
    bytes: int
    resident: int


def after(calls: int, held: Sequence[Any] = ()) -> Memory:
    """Measure memory; the arrays in `held` are not counted."""
    arrays = [each for each in jax.live_arrays() if not each.is_deleted()]
    own = [leaf for leaf in jax.tree.leaves(held) if isinstance(leaf, jax.Array)]
    return Memory(
        calls,
        len(arrays) - len(own),
        sum(each.nbytes for each in arrays) - sum(each.nbytes for each in own),
        host_memory.resident(),
    )


def between(seen: Sequence[Memory]) -> Growth | None:
    """Return the growth with each call; None where memory was seen too few times to tell.

    Medians are robust against what one call alone leaves. What is gone when garbage has been
    collected was held by a cycle of Python's, and counts for nothing.
    """
    if len(seen) < FEWEST_SEEN:
        return None
    arrays, nbytes, resident = (
        int(statistics.median(_rate(a, b, name) for a, b in pairwise(seen)))
        for name in ("arrays", "bytes", "resident")
    )
    calls = seen[-1].calls
    if arrays > 0:
        gc.collect()
        if _rate(seen[0], after(calls), "arrays") < 1:
            arrays, nbytes = 0, 0
    known = calls >= FEWEST_FOR_RESIDENT and all(each.resident for each in seen)
    return Growth(calls=calls, arrays=arrays, bytes=nbytes, resident=resident if known else None)


def _rate(first: Memory, second: Memory, name: str) -> float:
    more: int = getattr(second, name) - getattr(first, name)
    return more / (second.calls - first.calls)


def check(growth: Growth | None) -> tuple[Check, ...]:
    """Check that a call leaves nothing; none where too few calls were made to tell."""
    if growth is None:
        return ()
    found = []
    if growth.arrays > 0:
        arrays = counted(growth.arrays, "array")
        found.append(f"{arrays} on devices, of {humanise_bytes(growth.bytes)}")
    if growth.resident is not None and growth.resident >= RESIDENT_BYTES:
        found.append(f"{humanise_bytes(growth.resident)} of host memory")
    left = " and ".join(found) or "nothing"
    statement = f"each of {counted(growth.calls, 'call')} left {left}"
    return (Check(name=LEAVES_NOTHING, holds=not found, statement=statement),)
