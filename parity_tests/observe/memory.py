"""Memory: the peak of a stage on the host, and what each call leaves when its result is gone.

The peak is as the operating system saw it, on Linux alone, and None elsewhere. It is the high-water
mark of the resident set, less its size when the stage began. `tracemalloc` was the alternative; it
sees Python's allocations and none of MLIR's or XLA's.

Arrays on devices are counted exactly. The resident memory of the process is no such thing: an
allocator takes and gives back as it likes, so only what grows by megabytes with each call counts.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax

from reports.rows import Check
from reports.rows.calls import RESIDENT_BYTES, Growth
from reports.rows.check_names import LEAVES_NOTHING
from reports.views.figures import humanise_bytes
from reports.views.texts import counted

_STATUS = Path("/proc/self/status")
_STATM = Path("/proc/self/statm")
_CLEAR = Path("/proc/self/clear_refs")


class Peak:
    """A measured peak in bytes; None where the system does not tell."""

    nbytes: int | None = None


@contextmanager
def peak() -> Iterator[Peak]:
    """Measure the peak of resident memory within the block, in bytes above the start.

    Garbage that is freed within the block hides as much of the peak, so collect garbage before.
    """
    if sys.platform == "linux":
        give_back()
    with rough_peak() as result:
        yield result


@contextmanager
def rough_peak() -> Iterator[Peak]:
    """Measure as `peak`, less the memory that is free in this process before: it is used first.

    It saves a walk through all free memory, which takes milliseconds.
    """
    result = Peak()
    # Not VmRSS, which some kernels sum up exactly where their high-water mark is approximate.
    before = _kibibytes("VmHWM") if _reset() else None
    yield result
    if before is not None and (most := _kibibytes("VmHWM")) is not None:
        result.nbytes = max(0, most - before) * 1024


def give_back() -> None:
    """Give the memory that is free in this process back to the system.

    Otherwise the block would use it without the resident set growing, and it would be missing from
    the peak: from a megabyte to all that was ever freed at once. Without `malloc_trim` in the C
    library, nothing is done.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def _reset() -> bool:
    """Lower the high-water mark to the resident size of now; say whether that was possible."""
    if sys.platform != "linux":
        return False
    try:
        _CLEAR.write_text("5")
    except OSError:
        return False
    return True


def resident() -> int:
    """Return the resident memory of this process in bytes; 0 where the system does not tell."""
    try:
        return int(_STATM.read_text().split()[1]) * mmap.PAGESIZE
    except OSError:
        return 0


def _kibibytes(key: str) -> int | None:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    return None


# -- what each call leaves -------------------------------------------------------------------------

FEWEST_SEEN = 3
FEWEST_FOR_RESIDENT = 5


@dataclass(frozen=True)
class Memory:
    """The arrays on devices after a number of calls, and the resident memory, 0 if unknown."""

    calls: int
    arrays: int
    bytes: int
    resident: int


def seen_after(calls: int, held: Sequence[Any] = ()) -> Memory:
    """Measure memory; the arrays in `held` are not counted."""
    arrays = [each for each in jax.live_arrays() if not each.is_deleted()]
    own = [leaf for leaf in jax.tree.leaves(held) if isinstance(leaf, jax.Array)]
    return Memory(
        calls,
        len(arrays) - len(own),
        sum(each.nbytes for each in arrays) - sum(each.nbytes for each in own),
        resident(),
    )


def growth_between(seen: Sequence[Memory]) -> Growth | None:
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
        give_back()
        end = seen_after(calls)
        # Half of them: an array that one call left before, and that is gone now, is no call's.
        if _rate(seen[0], end, "arrays") < arrays / 2:
            arrays, nbytes = 0, 0
        resident = min(resident, int(_rate(seen[0], end, "resident")))
    known = calls >= FEWEST_FOR_RESIDENT and all(each.resident for each in seen)
    return Growth(calls=calls, arrays=arrays, bytes=nbytes, resident=resident if known else None)


def _rate(first: Memory, second: Memory, name: str) -> float:
    more: int = getattr(second, name) - getattr(first, name)
    return more / (second.calls - first.calls)


def check_growth(growth: Growth | None) -> tuple[Check, ...]:
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
