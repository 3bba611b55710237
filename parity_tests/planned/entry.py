"""What the process of a task runs: `python -m parity_tests.planned.entry FOLDER`."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from parity_tests.planned.running import run_task
from parity_tests.planned.task_process import TaskFiles
from parity_tests.planned.tasks import Task
from parity_tests.processes.protocol import write
from parity_tests.processes.signs_of_life import signs_told

_BEAT_SECONDS = 0.25


@dataclass
class Beats:
    """Writes how far a task is with each sign of life, but not often: a task has thousands."""

    file: Path
    _said: str = ""
    _written: float = 0.0

    def step(self, done: int, total: int, text: str) -> None:
        """Take how many steps are done, of all, and what is done now."""
        self._said = f"{done} {total} {text}"
        self.write()

    def write(self) -> None:
        """Write what was taken last."""
        if time.monotonic() - self._written >= _BEAT_SECONDS:
            self._written = time.monotonic()
            self.file.write_text(self._said, "utf-8", "backslashreplace")


def main(folder: str) -> None:
    """Run the task of a folder, and leave its result there."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    files = TaskFiles(Path(folder))
    task = Task.model_validate_json(files.request.read_bytes())
    beats = Beats(files.beat)
    try:
        with signs_told(beats.write):
            result = run_task(task, files.folder, progress=beats.step)
        write(files.result, result.model_dump_json())
    except OSError as error:
        # The disk, and no program: whoever runs the tasks has to stop.
        with contextlib.suppress(OSError):  # the log may be on the disk that is full
            print(error, file=sys.stderr, flush=True)
        os._exit(os.EX_IOERR)


def _end_with_parent() -> None:
    """End this process when the one that started it does: its end of the pipe is closed then."""
    os.read(sys.stdin.fileno(), 1)  # not sys.stdin, whose lock a thread may not hold at the end
    os._exit(os.EX_SOFTWARE)


if __name__ == "__main__":
    main(sys.argv[1])
