"""A constant policy as a table: it maps names of arrays to choices (inline, embed or hoist).

A key is a type as JAX writes it (`float32[64,64]`), the place of the first use (`model.py:31`), or
both with a space between them. A place matches the end of a path, by whole names of folders and
files, so a table works wherever a program is installed. Instead of the line, which moves with every
edit, it may name the function (`model.py:Model.__call__`), or several by a glob (`model.py:*`). If
several keys match an array, the most specific one decides: both before a place, a place before a
type, a longer path before a shorter one, a line before a function, a longer name before a shorter
one. The order of a table means nothing.

As a file that a team keeps, a table has a line for each key, with the reason behind it:
`inline model.py:31  # until #1234 is fixed`.
"""

from __future__ import annotations

import json
import re
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, Literal, get_args

import numpy as np

Choice = Literal["inline", "embed", "hoist"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
PolicyMapping = Mapping[str, str | None]

# A dtype, which may contain a memory kind; dimensions, each with optional mesh axes after an "@";
# an optional part in braces on the mesh axes.
_DIM = r"\s*\d+(?:@(?:\([^()]*\)|[^\s,()\[\]]+))?\s*"
_AVAL = (
    r"(?P<dtype>[^\s\[\]]+)\[(?P<dims>" + rf"{_DIM}(?:,{_DIM})*,?\s*" + r")\]"
    r"(?P<rest>\{[^}]*\})?"
)
_KEY = re.compile(rf"(?:{_AVAL}(?:\s+|$))?(?:(?P<file>\S.*?):(?P<at>\d+|[\w.<>*?]+))?")
_LINE = re.compile(r"(?P<choice>\S+)\s+(?P<key>\S.*?)\s+#\s*\S.*")


@dataclass(frozen=True)
class Entry:
    """One row of a table: the choice for arrays of an aval, of a place, or of both; None is any.

    `place` has the names of the folders and the file, then the line or the glob of functions, all
    as strings.
    """

    aval: str | None
    place: tuple[str, ...] | None
    choice: Choice | None

    def names(self, constant: Any) -> bool:
        """Say whether the entry matches an `engine.CapturedConstant`, a class of a higher layer."""
        if self.aval is not None and self.aval != constant.aval:
            return False
        if self.place is None:
            return True
        captured_at = constant.captured_at()
        if captured_at is None:
            return False
        file, line, function = captured_at
        *path, at = self.place
        if path != list(PurePath(file).parts[-len(path) :]):
            return False
        return at == str(line) if at.isdecimal() else fnmatchcase(function, at)

    @property
    def specificity(self) -> tuple[bool, bool, int, bool, int]:
        """Sort key: of the entries that match an array, the greatest decides.

        Two are equal only if they are globs; then the first of the alphabet decides.
        """
        both = self.aval is not None and self.place is not None
        at = self.place[-1] if self.place is not None else ""
        name = len(at.replace("*", ""))
        return both, self.place is not None, len(self.place or ()), at.isdecimal(), name

    @property
    def key(self) -> str:
        """The entry's key as a user writes it."""
        place = "" if self.place is None else f"{PurePath(*self.place[:-1])}:{self.place[-1]}"
        return " ".join(filter(None, (self.aval, place)))


@dataclass(frozen=True, eq=False, repr=False)
class PolicyTable:
    """A constant policy made from a table; `read_table` returns one object for equal tables.

    So identity can serve as hash and equality: while a policy is set, each call of a jitted
    function hashes it, and such a call must run no Python.
    """

    entries: tuple[Entry, ...]

    def __call__(self, constant: Any) -> Choice | None:
        """Return an array's choice; None (the embed threshold decides) if no key matches."""
        named = self.naming(constant)
        return named[0].choice if named else None

    def naming(self, constant: Any) -> list[Entry]:
        """Return the entries that match an array; the first is the most specific, and decides."""
        named = [entry for entry in self.entries if entry.names(constant)]
        return sorted(named, key=lambda entry: entry.specificity, reverse=True)

    def __repr__(self) -> str:
        return f"PolicyTable({ {entry.key: entry.choice for entry in self.entries} })"


_tables: weakref.WeakValueDictionary[tuple[Entry, ...], PolicyTable] = weakref.WeakValueDictionary()


def read_table(table: PolicyMapping | str, what: str) -> PolicyTable:
    """Read a table from a mapping, or from its text; `what` names it in errors.

    The text is a JSON object, or lines as `read_lines` reads them. Raises ValueError for another
    text, for an unreadable or repeated key and for an unknown choice; the message quotes it.

    Example::

        read_table({"float32[64,64] model.py:31": "inline"}, "constant_policy")
    """
    if not isinstance(table, str):
        return _table((what, key, choice) for key, choice in table.items())
    if "#" in table and not table.lstrip().startswith("{"):
        return read_lines(table, what)
    return _table((what, key, choice) for key, choice in _pairs_of_json(table, what))


def read_lines(text: str, what: str) -> PolicyTable:
    """Read a table from lines of a choice, a key and a reason; others are blank or begin with `#`.

    Raises ValueError as `read_table`, with the number of the line.

    Example::

        read_lines("inline model.py:Model.*  # until #1234 is fixed", "constants.policy")
    """
    return _table(_pairs_of_lines(text, what))


def _table(pairs: Iterable[_Pair]) -> PolicyTable:
    entries: dict[str, Entry] = {}
    for where, key, choice in pairs:
        entry = _entry(key, choice, where)
        if entries.setdefault(entry.key, entry) is not entry:
            raise ValueError(f"{where} has two keys for {entry.key!r}; leave one of them out")
    ordered = tuple(entries[key] for key in sorted(entries))
    return _tables.setdefault(ordered, PolicyTable(ordered))


_Pair = tuple[str, Any, Any]  # where it stands, its key and its choice


def _pairs_of_lines(text: str, what: str) -> Iterable[_Pair]:
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(
                f"{what}:{number}: {line!r} is not a choice, a key and a reason; write them as in "
                "'inline model.py:31  # until #1234 is fixed'"
            )
        yield f"{what}:{number}", found["key"], found["choice"]


def _pairs_of_json(text: str, what: str) -> Iterable[tuple[Any, Any]]:
    try:
        # Pairs instead of a dictionary, to see a repeated key.
        pairs = json.loads(text, object_pairs_hook=tuple)
    except ValueError:
        pairs = None
    if not isinstance(pairs, tuple):
        raise ValueError(
            f"{what} must be a function of a captured constant, a table, or the text of one in "
            f'JSON, as in {{"float32[64,64]": "inline"}}, got {text!r}'
        )
    return pairs


def _entry(key: Any, choice: Any, what: str) -> Entry:
    aval, place = _read_key(key, what)
    if choice is not None and not (isinstance(choice, str) and choice in CHOICES):
        raise ValueError(
            f"{what} must give {', '.join(map(repr, CHOICES))} or None for {key!r}, got {choice!r}"
        )
    return Entry(aval, place, choice)


def _read_key(key: Any, what: str) -> tuple[str | None, tuple[str, ...] | None]:
    found = _KEY.fullmatch(key.strip()) if isinstance(key, str) else None
    if found is None or not found[0]:
        raise _unreadable(key, what)
    if found["dtype"] is None:
        name, bracket, _ = found["file"].partition("[")
        if bracket and _is_dtype(name.partition("<")[0]):
            raise _unreadable(key, what, f"; {found['file']!r} is no file")
    aval = place = None
    if found["dtype"] is not None:
        if not _is_dtype(found["dtype"].partition("<")[0]):
            raise _unreadable(key, what, f"; JAX has no dtype of the name {found['dtype']!r}")
        dims = re.sub(r"\s+|,\s*$", "", found["dims"])
        aval = f"{found['dtype']}[{dims}]{found['rest'] or ''}"
    if found["file"] is not None:
        at = found["at"]
        place = (*PurePath(found["file"]).parts, str(int(at)) if at.isdecimal() else at)
    return aval, place


def _is_dtype(name: str) -> bool:
    if name == "key":  # a typed PRNG key; its generator follows in angle brackets
        return True
    try:
        return np.dtype(name).name == name  # "f" is a dtype, but JAX writes float32
    except (TypeError, ValueError, SyntaxError):  # NumPy parses a name with a comma as a struct
        return False


def _unreadable(key: Any, what: str, why: str = "") -> ValueError:
    return ValueError(
        f"{what} has a key that cannot be read, {key!r}{why}: a key is the type of an array as JAX "
        "writes it ('float32[64,64]'), a place ('model.py:31', or the function as in "
        "'model.py:step'), or both ('float32[64,64] model.py:31')"
    )
