"""A process that reports when pytest's own process dies: by a signal, or out of memory.

It waits at the end of a pipe. pytest's process says that it ends, or the pipe closes without a
word; then the journals hold all that was finished, and the test that was running. It imports what
takes time only then.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import parity_tests

if TYPE_CHECKING:
    from reports import ReportRequest
    from reports.rows import Side

_ENDS = b"ends"
_LOOK_SECONDS = 5.0


# Linux allows a process so many memory maps, often 65,530, and XLA takes some for each executable.
# Where there are no more, XLA (JAX 0.10.2) ends the process with SIGSEGV while it compiles, and
# says nothing of the reason.
_ALLOWED = Path("/proc/sys/vm/max_map_count")
_NEARLY_ALL = 0.9  # the last ones are taken after the last count


@dataclass(frozen=True)
class Listener:
    """The listening process, as pytest's process sees it."""

    process: subprocess.Popen[bytes]

    @classmethod
    def start(
        cls, folder: Path, mode: str, sees: Side, stderr: int, reports: Sequence[ReportRequest]
    ) -> Listener:
        """Start to listen; the last words go to the descriptor `stderr` and to the reports."""
        path = [str(Path(parity_tests.__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
        return cls(
            subprocess.Popen(
                # -P: the working directory may have a `reports` of the user's.
                [sys.executable, "-P", "-m", __name__, str(folder), mode, sees, *map(str, reports)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))},
                start_new_session=True,  # Ctrl-C is for pytest, which then ends as it should
            )
        )

    def dismiss(self) -> None:
        """End the process, which has nothing to say."""
        self.process.communicate(_ENDS)


def wait_for_end(pipe: int, process: int, seconds: float = _LOOK_SECONDS) -> tuple[bytes, int]:
    """Wait for what a process says at its end; return it, and the most memory maps it had.

    They are counted once in so many seconds.
    """
    most = 0
    while not select.select([pipe], [], [], seconds)[0]:
        most = max(most, count_of(process))
    with open(pipe, "rb", closefd=False) as told:
        return told.read(), most


def main(folder: Path, mode: str, sees: Side, asked: Sequence[str]) -> None:
    """Wait for the end of pytest's process, and report what it cannot."""
    word, most = wait_for_end(sys.stdin.fileno(), os.getppid())
    if word == _ENDS:
        return
    from parity_tests.suites.journal import merged
    from parity_tests.suites.messages import summary_lines
    from parity_tests.suites.reporting import requested, written
    from reports.views.texts import visible

    result = merged(folder, mode, sees)
    died = "the process of the tests died: lists of known differences and a baseline do not count"
    why = why_it_died(most, allowed())
    outside = tuple(filter(None, (died, why, *result.outside)))
    result = result.model_copy(update={"outside": outside})
    print("\nconstparity: the process of the tests died before it could report", file=sys.stderr)
    reports = (line for line, _ in written(requested(asked), result))
    for line in (*summary_lines(result), *reports):
        print(visible(line), file=sys.stderr)
    shutil.rmtree(folder)


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


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], cast("Side", sys.argv[3]), sys.argv[4:])
