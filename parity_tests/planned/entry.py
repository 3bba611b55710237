"""What the process of a task runs: `python -m parity_tests.planned.entry FOLDER`."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from pathlib import Path

from parity_tests.planned.running import run_task
from parity_tests.planned.task_process import TaskFiles
from parity_tests.planned.tasks import Task
from parity_tests.processes.protocol import write

_BEAT_SECONDS = 0.25


def main(folder: str) -> None:
    """Run the task of a folder, and leave its result there."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    files = TaskFiles(Path(folder))
    task = Task.model_validate_json(files.request.read_bytes())

    beaten = 0.0

    def beat(done: int, total: int, text: str) -> None:
        nonlocal beaten
        if time.monotonic() - beaten >= _BEAT_SECONDS:  # a task may have thousands of short steps
            beaten = time.monotonic()
            files.beat.write_text(f"{done} {total}")

    try:
        result = run_task(task, files.folder, progress=beat)
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
