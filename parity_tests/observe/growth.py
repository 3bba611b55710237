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
from reports.rows.calls import RESIDENT_BYTES, Growth
from reports.rows.check_names import LEAVES_NOTHING
from reports.views.figures import humanise_bytes
from reports.views.texts import counted

FEWEST_SEEN = 3
FEWEST_FOR_RESIDENT = 5


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
    collected and free memory was given back counts for nothing: a cycle of Python's held it, or the
    allocator.
    """
    if len(seen) < FEWEST_SEEN:
        return None
    arrays, nbytes, resident = (
        int(statistics.median(_rate(a, b, name) for a, b in pairwise(seen)))
        for name in ("arrays", "bytes", "resident")
    )
    calls = seen[-1].calls
    if arrays > 0 or resident >= RESIDENT_BYTES:
        gc.collect()
        host_memory.give_back()
        end = after(calls)
        # Half of them: an array that one call left before, and that is gone now, is no call's.
        if _rate(seen[0], end, "arrays") < arrays / 2:
            arrays, nbytes = 0, 0
        resident = min(resident, int(_rate(seen[0], end, "resident")))
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
    if growth.grows_on_devices:
        arrays = counted(growth.arrays, "array")
        found.append(f"{arrays} on devices, of {humanise_bytes(growth.bytes)}")
    if growth.resident is not None and growth.grows_on_host:
        found.append(f"{humanise_bytes(growth.resident)} of host memory")
    left = " and ".join(found) or "nothing"
    statement = f"each of {counted(growth.calls, 'call')} left {left}"
    return (Check(name=LEAVES_NOTHING, holds=not found, statement=statement),)
