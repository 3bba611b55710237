"""Places of crashes: the line at which a process ended, as Python's fault handler printed it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from parity_tests.processes.side_environment import FOLDER

# "Fatal Python error: Aborted", or "Windows fatal exception: access violation".
_HEAD = re.compile(r"^(?:Fatal Python error|Windows fatal exception): ", re.MULTILINE)
_THREAD = re.compile(r"^Current thread .*\(most recent call first\):$", re.MULTILINE)
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in .+$', re.MULTILINE)

_INSTALLED = re.compile(r"[\\/](?:site-packages|dist-packages|lib[\\/]python\d[\d.]*)[\\/]")
_OURS = (*(f"{FOLDER}{os.sep}{each}{os.sep}" for each in ("parity_tests", "engine")),)
_CORPUS = f"{FOLDER}{os.sep}parity_tests{os.sep}corpus{os.sep}"


def crashed_at(log: str) -> str:
    """Return the user's line on which a process crashed, as "file:line"; "" where it is not told.

    Example::

        crashed_at(log) == "my_model.py:12"
    """
    heads = list(_HEAD.finditer(log))
    thread = _THREAD.search(log, heads[-1].end()) if heads else None
    if thread is None:
        return ""
    lines = log[thread.end() :].lstrip("\n").split("\n")
    for line in lines:
        frame = _FRAME.match(line)
        if frame is None:
            return ""  # the frames of another thread follow
        if _is_users(frame["file"]):
            return f"{_relative(frame['file'])}:{frame['line']}"
    return ""


def _is_users(file: str) -> bool:
    if file.startswith(_CORPUS):
        return True
    return not (file.startswith(("<", *_OURS)) or _INSTALLED.search(file))


def _relative(file: str) -> str:
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
