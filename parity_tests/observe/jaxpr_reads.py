"""Reads: which lines of a program or a library read the captured arrays of jaxprs, or the flag.

For the time of a block, properties that record stand in the place of JAX's own on the public
classes of `jax.extend.core`, on `jax.config` and on `os.environ`. What JAX itself reads, and the
tester, is not recorded.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import zlib
from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from types import FrameType
from typing import Any, Literal, NamedTuple, TypeAlias

import jax
from jax.extend import core

from parity_tests.jax_internals import attribute, setting_readers
from parity_tests.jaxpr.bodies import const_count
from parity_tests.jaxpr.source_places import NOWHERE, Place, kind_of_file, relative
from parity_tests.observe import environments
from parity_tests.observe.environment import FLAG
from parity_tests.observe.module_reads import ModuleReads

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
]

# A loop may read one line very often, and the first reads tell all.
_MOST = 10_000

_ADDRESS = re.compile(r"0x[0-9a-f]+")  # of an object in a text: another one in each trace


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

    def note(self, subject: Subject, seen: Seen, above: int = 2) -> None:
        """Record a read, unless JAX or the tester is the reader, who is so many frames above."""
        site = _site(subject, sys._getframe(above))
        if site is not None and len(self.log) < _MOST:
            self.log.append((site, seen))
            self.on_read(site, seen)


@contextmanager
def recording(
    on_read: Callable[[Site, Seen], object] = lambda site, seen: None,
) -> Iterator[Reads]:
    """Record the reads of a block, which may raise; `on_read` is told each of them at once.

    Example::

        with recording() as reads:
            jax.make_jaxpr(f)(x).consts
        reads.sites()[0].place.line
    """
    reads = Reads(on_read=on_read)
    with ExitStack() as stack:
        for owner, name, subject in _attributes():
            stack.enter_context(_replaced(owner, name, _recorder(owner, name, subject, reads)))
        for owner, name, made in (*_texts(reads), *_modules(reads), *_flag_readers(reads)):
            stack.enter_context(_replaced(owner, name, made))
        stack.enter_context(environments.environments_told(partial(_note_environment, reads)))
        yield reads


def _attributes() -> list[tuple[type, str, Subject]]:
    # A later JAX makes `ClosedJaxpr` another name of `Jaxpr`: each is replaced once.
    found: dict[tuple[type, str], Subject] = {}
    for owner in (core.ClosedJaxpr, core.Jaxpr):
        for name in ("consts", "constvars", "invars", "outvars"):
            found[owner, name] = name
        found[owner, "literals"] = "consts"  # its older name
        found[owner, "in_avals"] = "invars"
        found[owner, "eqns"] = "equations"
    found[core.JaxprEqn, "invars"] = "operands"
    found[core.JaxprEqn, "params"] = "params"
    return [
        (owner, name, subject)
        for (owner, name), subject in found.items()
        if hasattr(vars(owner).get(name), "__get__")
    ]


def _recorder(owner: type, name: str, subject: Subject, reads: Reads) -> property:
    original: Any = vars(owner)[name]

    def read(self: Any) -> Any:
        value = original.__get__(self)
        # JAX reads more than anybody: what it reads is not even looked at.
        if not _is_machinery(sys._getframe(1).f_code.co_filename):
            reads.note(subject, _seen(value))
        return value

    # A slot is written to as well.
    return property(read, getattr(original, "__set__", None))


def _seen(value: Any) -> Seen:
    if isinstance(value, dict):  # parameters, of which some count the operands of bodies
        return Seen(const_count(value))
    return Seen(len(value), sum(map(_is_array_literal, value)))


def _is_array_literal(atom: Any) -> bool:
    return isinstance(atom, core.Literal) and bool(getattr(atom.aval, "shape", ()))


def _texts(reads: Reads) -> list[tuple[type, str, Any]]:
    return [
        (owner, name, _printer(vars(owner)[name], reads))
        for owner in {core.ClosedJaxpr: None, core.Jaxpr: None, core.JaxprEqn: None}
        for name in ("__str__", "__repr__", "pretty_print")
        if name in vars(owner)
    ]


def _printer(original: Any, reads: Reads) -> Callable[..., str]:
    def printed(self: Any, *args: Any, **kwargs: Any) -> str:
        text: str = original(self, *args, **kwargs)
        if not _is_machinery(sys._getframe(1).f_code.co_filename):
            reads.note("text", Seen(zlib.crc32(_ADDRESS.sub("", text).encode())))
        return text

    return printed


def _modules(reads: Reads) -> Iterator[tuple[type, str, Any]]:
    def on_read(captured: int) -> None:
        is_passed = getattr(jax.config, FLAG)
        reads.note("module", Seen(captured if is_passed else 0), above=3)

    return ModuleReads(on_read).replacements()


def _flag_readers(reads: Reads) -> list[tuple[type, str, Any]]:
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
        reader = _reader(frame)
        step = (reader, reader.f_lasti if reader is not None else 0)
        is_next = reader is not None and step == self._before
        self._before = step
        return is_next


def _note_environment(reads: Reads, environment: Mapping[str, str]) -> None:
    # Above are the function that was told, the hook, and what starts the process.
    reads.note("environment", _value_of(environment.get(FLAG.upper(), "")), above=3)


def _value_of(variable: str) -> Seen:
    return Seen(int(variable in ("1", "true", "True")))


@contextmanager
def _replaced(owner: type, name: str, made: Any) -> Iterator[None]:
    original = vars(owner).get(name)
    setattr(owner, name, made)
    try:
        yield
    finally:
        if original is None:  # it is inherited
            delattr(owner, name)
        else:
            setattr(owner, name, original)


# -- who reads -------------------------------------------------------------------------------------

_STDLIB = os.path.abspath(sysconfig.get_path("stdlib")) + os.sep
_SITE_PACKAGES = os.sep + "site-packages" + os.sep


def _site(subject: Subject, frame: FrameType | None) -> Site | None:
    """Return the line that reads; None where JAX or the tester reads."""
    frame = _reader(frame)
    if frame is None or _is_machinery(frame.f_code.co_filename):
        return None
    place, importing = _place(frame), _importing(frame)
    if kind_of_file(frame.f_code.co_filename) == "user":
        return Site(subject, place, NOWHERE, importing)
    return Site(subject, place, _first(frame, _is_users), importing)


def _reader(frame: FrameType | None) -> FrameType | None:
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


@cache
def _is_between(file: str) -> bool:
    """Whether a file stands between the reader and us, as that of `os.getenv` does."""
    if file == __file__:
        return True
    # The code of an `exec` is its caller's.
    return file.startswith("<") or (file.startswith(_STDLIB) and _SITE_PACKAGES not in file)


@cache
def _is_machinery(file: str) -> bool:
    """Whether a file is of JAX or the tester, and does not stand between the reader and us."""
    return not _is_between(file) and kind_of_file(file) == "machinery"


def _is_users(frame: FrameType) -> bool:
    return kind_of_file(frame.f_code.co_filename) == "user"


def _first(frame: FrameType | None, holds: Callable[[FrameType], bool]) -> Place:
    while frame is not None:
        if holds(frame):
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
