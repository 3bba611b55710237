"""Which differences a project has accepted, by a list or by a baseline.

Lists are TOML files of entries, each with a reason.
`Accepted` judges differences; `KnownDifferences` does so within a session of pytest, for each test
and for the whole run.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pytest
from packaging.version import InvalidVersion, Version

from parity_tests import suggestions
from parity_tests.suites.explicit_rules import METRICS
from parity_tests.suites.journal import versions
from parity_tests.suites.known.baseline import Baseline, BaselineError, platform_of, read_baseline
from parity_tests.suites.known.portable import PortableNames, installed_file
from parity_tests.suites.known.selection import Selection, selection_of
from parity_tests.suites.messages import message_of
from reports import ReportPathError, check_writable
from reports.rows.suite import (
    EntryState,
    SuiteBaselineChange,
    SuiteDifference,
    SuiteEntry,
    SuiteKnown,
    SuiteResult,
    SuiteVersions,
    metric_of,
)

_HEADER = re.compile(r"^\s*\[\[\s*known\s*\]\]", re.MULTILINE)
_TEXTS = ("test", "program", "metric", "reason", "issue", "until_jax")
_KEYS = (*_TEXTS, "expires")
_EXAMPLE = '[[known]]\nprogram = "step"\nmetric = "outputs"\nreason = "a sum in another order"'


class KnownFileError(ValueError):
    """A list of known differences cannot be used; the message names the file and the entry."""


class Entry(SuiteEntry):
    """A known difference: of tests, of programs or of both, in one metric.

    `test` and `program` are globs in which `*` alone is special; "" stands for all. `program` is
    the name of a function, or "file:name", an installed file from its package on.
    """

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
    if table.get("metric") not in METRICS:
        raise wrong(f"metric must be one of {', '.join(METRICS)}")
    expires = table.get("expires")
    if expires is not None and type(expires) is not datetime.date:
        raise wrong("expires must be a date without quotes, as in expires = 2027-01-31")
    try:
        Version(table.get("until_jax", "0"))
    except InvalidVersion as error:
        raise wrong(f"until_jax must be a version, as in until_jax = '0.13': {error}") from error
    texts = {key: table.get(key, "") for key in _TEXTS}
    return Entry(where=where, expires=expires, **texts)


@dataclass(frozen=True)
class Accepted:
    """What is accepted: the entries of all lists, and a baseline where there is one."""

    entries: tuple[Entry, ...] = ()
    baseline: Baseline | None = None
    today: datetime.date = field(default_factory=datetime.date.today)
    jax: str = field(default_factory=lambda: versions()["jax"])

    def marked(
        self, differences: Sequence[SuiteDifference], platform: str
    ) -> list[SuiteDifference]:
        """Return differences with their states: new, known or expired, and by which entry."""
        return [self._marked(each, platform) for each in differences]

    def judged(self, result: SuiteResult, selection: Selection, platform: str) -> SuiteResult:
        """Return a result with the states of its differences and of all entries."""
        changes: tuple[SuiteBaselineChange, ...] = ()
        if self.baseline is not None and not self.baseline.is_updated:
            changes = self.baseline.changes(result, selection, platform)
        return result.model_copy(
            update={
                "differences": tuple(self.marked(result.differences, platform)),
                "known": tuple(self._judged(each, result, selection) for each in self.entries),
                "baseline": changes,
            }
        )

    def _marked(self, row: SuiteDifference, platform: str) -> SuiteDifference:
        if row.state == "known":  # by the marker of its test
            return row
        found = [each for each in self.entries if each.accepts(row)]
        valid = [each for each in found if not each.is_expired(self.today, self.jax)]
        if valid:
            return row.model_copy(update={"state": "known", "because": _because(valid[0])})
        if self.baseline is not None and (why := self.baseline.why_accepted(row, platform)):
            return row.model_copy(update={"state": "known", "because": why})
        if found:
            because = f"{_because(found[0])}; valid until {found[0].valid_until}"
            return row.model_copy(update={"state": "expired", "because": because})
        return row

    def _judged(self, entry: Entry, result: SuiteResult, selection: Selection) -> SuiteKnown:
        matched = sum(map(entry.accepts, result.differences))
        state: EntryState = "fixed"
        why = ""
        if matched:
            state = "expired" if entry.is_expired(self.today, self.jax) else "known"
        elif not (why := _why_no_test_has_its_name(entry, selection)):
            why = _why_not_judged(entry, result, selection)
            state = "not judged" if why else "fixed"
            why = why or _why_nothing_has_its_name(entry, result)
        return SuiteKnown(
            **entry.model_dump(include=set(SuiteEntry.model_fields)),
            valid_until=entry.valid_until,
            state=state,
            matched=matched,
            why=why,
        )


def _why_not_judged(entry: Entry, result: SuiteResult, selection: Selection) -> str:
    one_test = bool(entry.test) and "*" not in entry.test
    if why := selection.why_unknown(entry.covers, one_test=one_test):
        return why
    programs = [each for each in result.programs if entry.is_of(each.name, each.source)]
    if programs and not any(each.is_judged for each in programs):
        return "its programs were not compared"
    return ""


def _why_no_test_has_its_name(entry: Entry, selection: Selection) -> str:
    """Say that no test of its file is the entry's, and one is nearly; "" where that is not so.

    A test may be defined, or have a parameter, on some platforms and releases of JAX alone.
    """
    if not selection.has_all_of_file(entry.test) or any(map(entry.covers, selection.known)):
        return ""
    file, _, name = entry.test.partition("::")
    names = {each.partition("::")[2] for each in selection.known if each.startswith(f"{file}::")}
    if name.partition("[")[0] in {each.partition("[")[0] for each in names}:
        return ""
    close = get_close_matches(name, names, 1, cutoff=_NEARLY)
    return f"no test is called {entry.test!r}; did you mean '{file}::{close[0]}'?" if close else ""


def _why_nothing_has_its_name(entry: Entry, result: SuiteResult) -> str:
    if not entry.program or any(entry.is_of(each.name, each.source) for each in result.programs):
        return ""
    hint = suggestions.close(entry.program, {each.name for each in result.programs})
    return f"no program that ran is called {entry.program!r}{hint}"


# The share of two names that is the same where one is the other misspelt.
_NEARLY = 0.8


def _because(entry: Entry) -> str:
    issue = f", {entry.issue}" if entry.issue else ""
    return f"{entry.reason} ({entry.where}{issue})"


class KnownDifferences:
    """The lists and the baseline of a session.

    With pytest's `--runxfail` there are none, as there are no marks then.
    """

    def __init__(self, config: pytest.Config) -> None:
        options = config.option
        self._waiting: dict[str, list[SuiteDifference]] = {}  # of setups, by test
        self._accepted = Accepted()
        if options.runxfail:
            return
        try:
            entries = read_lists(options.constparity_xfail)
            path, update = options.constparity_baseline, options.constparity_update
            names = PortableNames(config.rootpath, config.invocation_params.dir)
            baseline = read_baseline(path, update, names) if path else None
            if update and baseline:
                check_writable(baseline.file)
        except (KnownFileError, BaselineError, ReportPathError) as error:
            raise pytest.UsageError(str(error)) from error
        self._accepted = Accepted(entries, baseline)

    def marked(
        self, differences: Sequence[SuiteDifference], backend: str, device_kind: str
    ) -> list[SuiteDifference]:
        """Return the differences of a phase with their states."""
        platform = platform_of(
            SuiteVersions(**versions(), backend=backend, device_kind=device_kind)
        )
        return self._accepted.marked(differences, platform)

    def end_phase(self, test: str, phase: str, found: Sequence[SuiteDifference]) -> None:
        """Fail a test that has new differences; xfail it where it has known ones alone.

        Known differences of a setup wait for the test: an xfail there would keep it from running.
        """
        if failing := [each for each in found if each.state != "known"]:
            pytest.fail(message_of(failing), pytrace=False)
        if phase == "setup":
            self._waiting[test] = list(found)
            return
        waiting = self._waiting.pop(test, [])
        # Differences of a setup whose test has failed by itself are for the summary alone.
        if known := [*(waiting if phase == "call" else ()), *found]:
            because = "; ".join(dict.fromkeys(each.because for each in known))
            pytest.xfail(f"constparity: known difference: {because}")

    def judged(self, result: SuiteResult, folder: Path, session: pytest.Session) -> SuiteResult:
        """Return a result with the states of its differences and entries, and update a baseline."""
        selection = selection_of(folder, session, result.lost)
        platform, baseline = platform_of(result.versions), self._accepted.baseline
        judged = self._accepted.judged(result, selection, platform)
        passes = session.exitstatus == pytest.ExitCode.OK and selection.was_all_asked
        if passes and not any(each.is_judged for each in result.programs):
            tests = selection.completed | selection.failed
            judged = judged.model_copy(update={"for_nothing": len(tests)})
        if baseline is not None and baseline.is_updated:
            try:
                baseline.update(result, selection, platform)
            except ReportPathError as error:  # a test removed the folder, or the disk is full
                failed = SuiteBaselineChange(
                    program=platform, accepted="", found="", what_to_do=str(error)
                )
                return judged.model_copy(update={"baseline": (failed,)})
        return judged
