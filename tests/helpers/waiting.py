"""Waits for other processes."""

import os
import time
from pathlib import Path


def alive(pid):
    try:
        os.kill(pid, 0)
        # A zombie is waiting for its parent to look, and runs no more.
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def await_(condition, seconds=180.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come true")
