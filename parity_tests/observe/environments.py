"""Environments of child processes: what each is started with, as Python's audit events tell it.

A child reads the flag by itself. Nothing but its start is seen here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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

_told: list[Callable[[Mapping[str, str]], object]] = []
_hooked: list[bool] = []


@contextmanager
def starts_told(on_start: Callable[[Mapping[str, str]], object]) -> Iterator[None]:
    """Tell a function the environment of each process that is started within the block.

    Example::

        with starts_told(print):
            subprocess.run(["true"])
    """
    if not _hooked:  # a hook cannot be taken away, and does nothing where nobody is told
        sys.addaudithook(_hook)
        _hooked.append(True)
    _told.append(on_start)
    try:
        yield
    finally:
        _told.remove(on_start)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _told and event in _STARTS:
        place = _STARTS[event]
        given = args[place] if place is not None and place < len(args) else None
        environment = os.environ.copy() if given is None else _decoded(given)
        for each in tuple(_told):
            each(environment)


def _decoded(given: Any) -> dict[str, str]:
    if not isinstance(given, Mapping):
        return {}
    return {os.fsdecode(name): os.fsdecode(value) for name, value in given.items()}
