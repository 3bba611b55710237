"""Reads of JAX's flag: by its name, among all settings, or in an environment that is read whole.

A child process is started with an environment, and reads the flag by itself: nothing but its start
is seen, as Python's audit events tell it. Linux shows a process its own environment as a file, as
it was when the process was started.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import jax

from parity_tests.jax_internals import attribute, setting_readers
from parity_tests.observe.environment import FLAG
from parity_tests.observe.reads.recorder import Reads, Seen, Subject, reader_of


def replacements(reads: Reads) -> list[tuple[type, str, Any]]:
    """Return what stands in the place of JAX's own: the class, the name, and what records."""
    config = type(jax.config)
    read_flag: Any = vars(config).get(FLAG)
    if read_flag is None:
        return []
    read_all, read_variable = vars(config)["values"], type(os.environ).__getitem__
    # What `jax.config` reads, and code that imports private modules of JAX reads by itself.
    holder, reader_by_name = setting_readers(FLAG)
    read_named: Any = attribute(*reader_by_name)
    read_value: Any = attribute(type(holder), "value")

    def flag(self: Any) -> Any:
        value = read_flag.__get__(self)
        reads.note("flag", Seen(int(value)))
        return value

    def held(self: Any) -> Any:
        value = read_value.__get__(self)
        if self is holder:
            reads.note("flag", Seen(int(value)))
        return value

    by_name = _Steps()

    def variable(self: Any, key: Any) -> Any:
        value = read_variable(self, key)
        if _copying:
            return value
        is_one_of_all = by_name.is_next(sys._getframe(1))
        if os.fsdecode(key) == FLAG.upper():
            subject: Subject = "environment" if is_one_of_all else "flag"
            reads.note(subject, _value_of(os.fsdecode(value)))
        return value

    def read_by_name(self: Any, name: str) -> Any:
        value = read_named(self, name)
        if name == FLAG:
            reads.note("flag", Seen(int(value)))
        return value

    class Values(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            value = super().__getitem__(key)
            is_one_of_all = by_name.is_next(sys._getframe(1))
            if key == FLAG:
                reads.note("environment" if is_one_of_all else "flag", Seen(int(value)))
            return value

        def __iter__(self) -> Iterator[str]:  # so that `dict` reads value after value
            return super().__iter__()

        def items(self) -> Any:
            return ItemsView(self)

        def values(self) -> Any:
            return ValuesView(self)

        def get(self, key: str, default: Any = None) -> Any:
            if key in self:
                return self[key]
            return default

    return [
        (type(holder), "value", property(held)),
        (*reader_by_name, read_by_name),
        (config, FLAG, property(flag)),
        (config, "values", property(lambda self: Values(read_all.__get__(self)))),
        (type(os.environ), "__getitem__", variable),
    ]


@dataclass
class _Steps:
    """Tells who reads value after value, as `dict(os.environ)` does, and asks for none of them."""

    _before: tuple[FrameType | None, int] = (None, 0)

    def is_next(self, frame: FrameType) -> bool:
        """Say whether the same step of the same reader has read something just before."""
        reader = reader_of(frame)
        step = (reader, reader.f_lasti if reader is not None else 0)
        is_next = reader is not None and step == self._before
        self._before = step
        return is_next


def _value_of(variable: str) -> Seen:
    return Seen(int(variable in ("1", "true", "True")))


# -- environments that are read whole --------------------------------------------------------------

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

_copying: list[bool] = []  # while a hook reads the environment
_told: list[Callable[[Mapping[str, str]], object]] = []
_hooked: list[bool] = []


def environments_noted(reads: Reads) -> AbstractContextManager[None]:
    """Note each environment that a block starts a process with, or opens as a file."""
    return environments_told(
        lambda told: reads.note("environment", _value_of(told.get(FLAG.upper(), "")))
    )


@contextmanager
def environments_told(on_read: Callable[[Mapping[str, str]], object]) -> Iterator[None]:
    """Tell a function each environment that a block starts a process with, or opens as a file."""
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
        environment = _inherited() if given is None else _decoded(given)
    elif event == "open" and _is_own_environment(args[0]):
        environment = _at_start()
    else:
        return
    for each in tuple(_told):
        each(environment)


def _inherited() -> dict[str, str]:
    _copying.append(True)
    try:
        return os.environ.copy()
    finally:
        _copying.pop()


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
