"""Environments that are read as a whole, as Python's audit events tell it.

A child process is started with one, and reads the flag by itself: nothing but its start is seen.
Linux shows a process its own environment as a file, as it was when the process was started.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# The place of the environment among the arguments of an event; the others inherit ours.
_STARTS = {
    "subprocess.Popen": 3,
    "os.posix_spawn": 2,
    "os.exec": 2,
    "os.spawn": 3,
    "os.system": None,
    "pty.spawn": None,
}

_FILE = re.compile(r"/proc/(self|thread-self|\d+)(/task/\d+)?/environ")

_told: list[Callable[[Mapping[str, str]], object]] = []
_hooked: list[bool] = []


@contextmanager
def environments_told(on_read: Callable[[Mapping[str, str]], object]) -> Iterator[None]:
    """Tell a function each environment that a block starts a process with, or opens as a file.

    Example::

        with environments_told(print):
            subprocess.run(["true"])
    """
    if not _hooked:  # a hook cannot be taken away, and does nothing where nobody is told
        sys.addaudithook(_hook)
        _hooked.append(True)
    _told.append(on_read)
    try:
        yield
    finally:
        _told.remove(on_read)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if not _told:
        return
    if event in _STARTS:
        place = _STARTS[event]
        given = args[place] if place is not None and place < len(args) else None
        environment = os.environ.copy() if given is None else _decoded(given)
    elif event == "open" and _is_own_environment(args[0]):
        environment = _at_start()
    else:
        return
    for each in tuple(_told):
        each(environment)


def _is_own_environment(file: object) -> bool:
    """Say whether a file is that of the variables of this process; a descriptor has no name."""
    if not isinstance(file, str | bytes | os.PathLike):
        return False
    path = _FILE.fullmatch(os.fsdecode(file))
    return path is not None and path[1] in ("self", "thread-self", str(os.getpid()))


def _at_start() -> dict[str, str]:
    """Return the variables that this process was started with, by the file itself."""
    try:
        # By another name, of which the hook says nothing.
        content = Path("/proc/self/../self/environ").read_bytes()
    except OSError:  # the reader does not get it either
        return {}
    lines = (os.fsdecode(each).partition("=") for each in content.split(b"\0") if each)
    return {name: value for name, _, value in lines}


def _decoded(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        return {}
    return {os.fsdecode(name): os.fsdecode(value) for name, value in given.items()}
