"""Count the memory maps of a process, which XLA takes some of for each executable.

Linux allows a process `vm.max_map_count` of them, often 65,530. Where there are no more, XLA ends
the process with SIGSEGV while it compiles (JAX 0.10.2), and says nothing of the reason.
"""

from __future__ import annotations

from pathlib import Path

_ALLOWED = Path("/proc/sys/vm/max_map_count")
_NEARLY_ALL = 0.9  # the last ones are taken after the last count


def count_of(process: int) -> int:
    """Return how many memory maps a process has; 0 where it has ended, or where nobody says.

    Example::

        count_of(os.getpid()) > 100
    """
    try:
        with open(f"/proc/{process}/maps", "rb") as maps:
            return sum(1 for _ in maps)
    except OSError:
        return 0


def allowed() -> int | None:
    """Return how many memory maps a process may have; None where the system does not say."""
    try:
        return int(_ALLOWED.read_text())
    except (OSError, ValueError):
        return None


def why_it_died(most: int, limit: int | None) -> str:
    """Say that a process which had `most` memory maps at once may have died of it; "" if not.

    Example::

        why_it_died(64_900, 65_530).startswith("it had 64,900 of the 65,530 memory maps")
    """
    if limit is None or most < _NEARLY_ALL * limit:
        return ""
    return (
        f"it had {most:,} of the {limit:,} memory maps that the system allows a process, and XLA "
        "takes some for each executable: raise vm.max_map_count, or run fewer tests in a process"
    )
