"""Peak host memory of a stage, as the operating system saw it: Linux only, and None elsewhere.

The peak is the high-water mark of the resident set, less its size when the stage began.
`tracemalloc` was the alternative; it sees Python's allocations and none of MLIR's or XLA's.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
