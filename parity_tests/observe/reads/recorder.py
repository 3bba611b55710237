"""The record of reads: who read what, in this process and in a file that outlives it.

What JAX itself reads, and the tester, is not recorded. A program may end its process by what it
reads. So a file takes each read before the reader goes on: it has a line of JSON for each, and
another process reads it back.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias

from parity_tests.jaxpr.source_places import NOWHERE, Place, kind_of_file, relative

Subject: TypeAlias = Literal[
    "consts",
    "constvars",
    "invars",
    "outvars",
    "operands",
    "params",
    "equations",
    "text",
    "module",
    "flag",
    "environment",
    "backend",
]

# A loop may read one line very often, and the first reads tell all.
_MOST = 10_000


class Site(NamedTuple):
    """A line that reads something; `caller` is the user's line, where the line is a library's.

    `importing` has the files and lines of the modules that are being imported then.
    """

    subject: Subject
    place: Place
    caller: Place = NOWHERE
    importing: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Seen:
    """What a read returned: how many, and how many of them are Literals that hold an array.

    Of the flag, and of an environment that has its variable, `count` is its value; of parameters,
    the sum of those that count constants; of a text, its checksum; of a module, the captured arrays
    that are passed to it.
    """

    count: int
    array_literals: int = 0


@dataclass
class Reads:
    """What was read, in order; the same read again and again is one of the first thousands.

    `on_read` is told each read before its reader has it.
    """

    log: list[tuple[Site, Seen]] = field(default_factory=list)
    on_read: Callable[[Site, Seen], object] = lambda site, seen: None

    def __bool__(self) -> bool:
        return bool(self.log)

    def of(self, site: Site) -> list[Seen]:
        """Return what one line read, in order."""
        return [seen for each, seen in self.log if each == site]

    def sites(self) -> list[Site]:
        """Return the lines, each once, the one that read last first."""
        return list(dict.fromkeys(site for site, _ in reversed(self.log)))

    def note(self, subject: Subject, seen: Seen) -> None:
        """Record a read, unless JAX or the tester is the reader."""
        frame = reader_of(sys._getframe(1))
        if frame is None or is_machinery(frame.f_code.co_filename) or len(self.log) >= _MOST:
            return
        site = site_of(subject, frame)
        self.log.append((site, seen))
        self.on_read(site, seen)


@contextmanager
def replaced(replacements: Iterable[tuple[type | ModuleType, str, Any]]) -> Iterator[None]:
    """Have what records stand in the place of attributes for the time of a block."""
    with ExitStack() as stack:
        for owner, name, made in replacements:
            original = vars(owner).get(name)
            if original is None:  # it is inherited
                stack.callback(delattr, owner, name)
            else:
                stack.callback(setattr, owner, name, original)
            setattr(owner, name, made)
        yield


# -- a file of reads -------------------------------------------------------------------------------

# A loop may read one line very often, and each read that is left costs a write.
_MOST_OF_A_LINE = 100


@contextmanager
def left_in(file: Path | None) -> Iterator[Callable[[Site, Seen], object]]:
    """Yield a function that leaves reads in a file, which is made for the first one.

    Without a file it leaves nothing.
    """
    counts: Counter[Site] = Counter()
    if file is None:
        yield lambda site, seen: None
        return
    file = file.absolute()  # a program may go to another folder
    file.unlink(missing_ok=True)

    def leave(site: Site, seen: Seen) -> None:
        counts[site] += 1
        if counts[site] <= _MOST_OF_A_LINE:
            # Opened each time: a program may close all files of its process. What the folder does
            # not take may not fail the program that reads.
            with contextlib.suppress(OSError), open(file, "a") as lines:
                lines.write(json.dumps([*site, seen.count, seen.array_literals]) + "\n")

    yield leave


def read_back(text: str) -> Reads:
    """Return the reads of such a file."""
    reads = Reads()
    # The process may have ended within a line.
    for line in text[: text.rfind("\n") + 1].splitlines():
        subject, place, caller, importing, count, array_literals = json.loads(line)
        modules = tuple((file, number) for file, number in importing)
        site = Site(subject, Place(*place), Place(*caller), modules)
        reads.log.append((site, Seen(count, array_literals)))
    return reads


# -- who reads -------------------------------------------------------------------------------------

_OURS = os.path.dirname(__file__) + os.sep
_STDLIB = os.path.abspath(sysconfig.get_path("stdlib")) + os.sep
_SITE_PACKAGES = os.sep + "site-packages" + os.sep


def site_of(subject: Subject, frame: FrameType) -> Site:
    """Return the line of a frame that reads, with the user's line that led there."""
    place, importing = _place(frame), _importing(frame)
    if kind_of_file(frame.f_code.co_filename) == "user":
        return Site(subject, place, NOWHERE, importing)
    return Site(subject, place, _users_place(frame), importing)


def reader_of(frame: FrameType | None) -> FrameType | None:
    """Return the frame that reads, above those that stand between the reader and us."""
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


@cache
def _is_between(file: str) -> bool:
    """Whether a file stands between the reader and us, as that of `os.getenv` does."""
    # The code of an `exec` is its caller's.
    is_of_python = file.startswith(_STDLIB) and _SITE_PACKAGES not in file
    return file.startswith(("<", _OURS)) or is_of_python


@cache
def is_machinery(file: str) -> bool:
    """Say whether a file is of JAX or the tester, and does not stand between the reader and us."""
    return not _is_between(file) and kind_of_file(file) == "machinery"


def _users_place(frame: FrameType | None) -> Place:
    while frame is not None:
        if kind_of_file(frame.f_code.co_filename) == "user":
            return _place(frame)
        frame = frame.f_back
    return NOWHERE


def _importing(frame: FrameType | None) -> tuple[tuple[str, int], ...]:
    found = []
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            found.append((os.path.abspath(frame.f_code.co_filename), frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def _place(frame: FrameType) -> Place:
    return Place(relative(frame.f_code.co_filename), frame.f_lineno, frame.f_code.co_name)
