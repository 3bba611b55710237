"""Lists of known differences: TOML files of entries, each with a reason."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from packaging.version import InvalidVersion, Version

from parity_tests.suites.known.portable import installed_file
from reports.rows.suite import SuiteDifference, SuiteMetric, metric_of

_HEADER = re.compile(r"^\s*\[\[\s*known\s*\]\]", re.MULTILINE)
_METRICS: tuple[SuiteMetric, ...] = get_args(SuiteMetric)
_TEXTS = ("test", "program", "metric", "reason", "issue", "until_jax")
_KEYS = (*_TEXTS, "expires")
_EXAMPLE = '[[known]]\nprogram = "step"\nmetric = "outputs"\nreason = "a sum in another order"'


class KnownFileError(ValueError):
    """A list of known differences cannot be used; the message names the file and the entry."""


@dataclass(frozen=True)
class Entry:
    """A known difference: of tests, of programs or of both, in one metric.

    `test` and `program` are globs in which `*` alone is special; "" stands for all. `program` is
    the name of a function, or "file:name", an installed file from its package on. `where` is
    "file:line".
    """

    where: str
    test: str
    program: str
    metric: SuiteMetric
    reason: str
    issue: str
    expires: datetime.date | None
    until_jax: str

    @property
    def valid_until(self) -> str:
        """The end of the entry in words; "" without one."""
        ends = [str(self.expires)] if self.expires else []
        return " or ".join([*ends, *([f"jax {self.until_jax}"] if self.until_jax else [])])

    def is_expired(self, today: datetime.date, jax: str) -> bool:
        """Say whether the entry is no longer valid: after its date, or from its JAX version on."""
        is_late = self.expires is not None and today > self.expires
        return is_late or (bool(self.until_jax) and Version(jax) >= Version(self.until_jax))

    def covers(self, test: str) -> bool:
        """Say whether a test, by node id, is one that the entry speaks of."""
        return matches(self.test, test)

    def is_of(self, name: str, source: str) -> bool:
        """Say whether a program is one that the entry speaks of."""
        file = source.rpartition(":")[0]
        files = filter(None, (file, installed_file(file)))
        return matches(self.program, name) or any(
            matches(self.program, f"{each}:{name}") for each in files
        )

    def accepts(self, row: SuiteDifference) -> bool:
        """Say whether a difference is the one that the entry speaks of."""
        return (
            self.metric == metric_of(row)
            and self.covers(row.test)
            and self.is_of(row.name, row.source)
        )


def matches(glob: str, text: str) -> bool:
    """Match a glob, in which `*` alone is special: node ids have brackets. "" matches all.

    Example::

        >>> matches("test_a.py::test[*]", "test_a.py::test[1]"), matches("a", "ab")
        (True, False)
    """
    pattern = ".*".join(map(re.escape, glob.split("*")))
    return not glob or re.fullmatch(pattern, text, re.DOTALL) is not None


def read_lists(files: Sequence[str]) -> tuple[Entry, ...]:
    """Read lists of known differences. Raises `KnownFileError`."""
    return tuple(entry for file in files for entry in _read(Path(file)))


def _read(file: Path) -> list[Entry]:
    try:
        text = file.read_text("utf-8")
        document = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise KnownFileError(f"{file} cannot be read: {error}") from error
    tables = document.get("known", [])
    if set(document) - {"known"} or not _is_list_of_tables(tables):
        raise KnownFileError(f"{file} must hold tables [[known]] alone, as in\n{_EXAMPLE}")
    lines = [text.count("\n", 0, found.end()) + 1 for found in _HEADER.finditer(text)]
    if len(lines) != len(tables):  # tables in one line, or a header within a text
        lines = [0] * len(tables)
    name = _shown(file)
    return [
        _entry(f"{name}:{line}" if line else f"{name}: entry {number}", table)
        for number, (line, table) in enumerate(zip(lines, tables, strict=True), 1)
    ]


def _shown(file: Path) -> str:
    """Return a path as seen from the working directory, where it lies below it."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def _is_list_of_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _entry(where: str, table: dict[str, Any]) -> Entry:
    def wrong(what: str) -> KnownFileError:
        return KnownFileError(f"{where}: {what}")

    for key in table:
        if key not in _KEYS:
            raise wrong(f"an entry has no {key!r}; it may have {', '.join(_KEYS)}")
    for key in _TEXTS:
        if not isinstance(table.get(key, "x"), str) or table.get(key) == "":
            raise wrong(f"{key} must be a text that is not empty")
    if not table.get("reason"):
        raise wrong("an entry must have a reason, as in reason = 'a sum in another order'")
    if "test" not in table and "program" not in table:
        raise wrong("an entry must name tests or programs, as in program = 'step'")
    if table.get("metric") not in _METRICS:
        raise wrong(f"metric must be one of {', '.join(_METRICS)}")
    expires = table.get("expires")
    if expires is not None and type(expires) is not datetime.date:
        raise wrong("expires must be a date without quotes, as in expires = 2027-01-31")
    try:
        Version(table.get("until_jax", "0"))
    except InvalidVersion as error:
        raise wrong(f"until_jax must be a version, as in until_jax = '0.13': {error}") from error
    texts = {key: table.get(key, "") for key in _TEXTS}
    return Entry(where=where, expires=expires, **texts)
