"""The baseline of a suite: the accepted state of each program, for each platform.

A state is the worst rung of a program's outputs, and what else differs. A program is known by its
file, its function and the types of its arguments: lines move with every edit. There are no times
and no values in it, so that it holds on every machine of its platform. Programs of one name, file
and types share a state, which has each difference as often as there are programs with it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from parity_tests.suites.known.portable import PortableNames, is_of_a_machine
from parity_tests.suites.known.selection import Selection
from reports import write_atomically
from reports.rows.suite import (
    SuiteBaselineChange,
    SuiteDifference,
    SuiteProgram,
    SuiteResult,
    SuiteVersions,
    metric_of,
)
from reports.views.texts import counted, visible

_HEAD = """\
# The accepted state of each program, by platform. Written by
#   pytest --constparity=both --constparity-baseline=FILE --constparity-update
"""
_UPDATE = "--constparity-update"
# From best to worst. "mismatch" stands for different outputs, as on the ladder.
_WORDS = (
    "bitwise", "ulp", "tolerance", "arbiter", "not compared", "committed", "sharding", "mismatch",
    "failure",
)  # fmt: skip
_ALIKE = frozenset(_WORDS[:5])


class BaselineError(ValueError):
    """A baseline cannot be used; the message names the file and what to do."""


@dataclass(frozen=True)
class Accepting:
    """An entry: the state that is accepted, and the first test, by name, that ran the program."""

    state: str
    test: str


@dataclass(frozen=True)
class Baseline:
    """The content of a baseline file: entries by platform and program."""

    file: Path
    platforms: Mapping[str, Mapping[str, Accepting]]
    is_updated: bool = False
    names: PortableNames = field(default_factory=lambda: PortableNames(Path.cwd(), Path.cwd()))

    def why_accepted(self, row: SuiteDifference, platform: str) -> str:
        """Return why a difference is accepted; "" if it is not."""
        if self.is_updated:
            return f"accepted in {self.file} by {_UPDATE}"
        entry = self.platforms.get(platform, {}).get(key_of(row, self.names))
        word = "mismatch" if metric_of(row) == "outputs" else metric_of(row)
        return f"accepted in {self.file}" if entry and word in _words(entry.state) else ""

    def changes(
        self, result: SuiteResult, selection: Selection, platform: str
    ) -> tuple[SuiteBaselineChange, ...]:
        """Return the programs that are not in the state that is accepted, sorted by their keys."""
        accepted, found = self.platforms.get(platform), _states(result, self.names)
        if not found:
            return ()
        if accepted is None:
            there = ", ".join(f"{each!r}" for each in self.platforms) or "none"
            what = f"{self.file} has no entries for it but for {there}; add them with {_UPDATE}"
            count = counted(len(found), "program")
            return (
                SuiteBaselineChange(program=platform, accepted="", found=count, what_to_do=what),
            )
        rows = [
            SuiteBaselineChange(
                program=key,
                accepted=accepted[key].state if key in accepted else "",
                found=found[key].state if key in found else "",
                what_to_do=what,
            )
            for key in sorted({*accepted, *found})
            if (what := _what_to_do(accepted.get(key), found.get(key), selection))
        ]
        return tuple(rows)

    def update(self, result: SuiteResult, selection: Selection, platform: str) -> None:
        """Write the states of a run to the file; other platforms and tests that did not run stay.

        Raises `reports.ReportPathError` where the file cannot be written.
        """
        accepted, found = dict(self.platforms.get(platform, {})), _states(result, self.names)
        for key, entry in list(accepted.items()):
            if key not in found and _is_stale(entry, selection):
                del accepted[key]
        for key, entry in found.items():
            old = accepted.get(key)
            # Some tests did not run, and the program may be worse in those.
            is_kept = old and not selection.is_whole and _rank(old.state) > _rank(entry.state)
            accepted[key] = old if old and is_kept else entry
        platforms = {**self.platforms, platform: accepted} if found else self.platforms
        write_atomically(self.file, rendered(platforms))


def read_baseline(path: str, is_updated: bool, names: PortableNames) -> Baseline:
    """Read a baseline; one that is updated need not exist yet. Raises `BaselineError`."""
    file = Path(path).absolute()
    if is_updated and not file.exists():
        return Baseline(file, {}, is_updated, names)
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError as error:
        raise BaselineError(f"{file} does not exist; write it with {_UPDATE}") from error
    except (OSError, ValueError) as error:
        raise BaselineError(f"{file} cannot be read: {error}") from error
    platforms = {
        platform: _entries(file, table, is_updated=is_updated)
        for platform, table in document.items()
    }
    return Baseline(file, platforms, is_updated, names)


def rendered(platforms: Mapping[str, Mapping[str, Accepting]]) -> str:
    """Return the text of a baseline, with a line for each program, all sorted."""
    return _HEAD + "".join(
        f"\n[{_quoted(platform)}]\n{''.join(map(_line, sorted(entries.items())))}"
        for platform, entries in sorted(platforms.items())
    )


def platform_of(found: SuiteVersions) -> str:
    """Return the key of a platform: states of one say nothing of another."""
    return f"{found.backend}, {found.device_kind}, jax {found.jax}, jaxlib {found.jaxlib}"


def key_of(row: SuiteProgram | SuiteDifference, names: PortableNames) -> str:
    """Return the key of a program, which an edit elsewhere in its file does not change.

    Example::

        key_of(row, names) == "model.py:step(float32[4])"
    """
    file = names.of_file(row.source.rpartition(":")[0])
    return visible(f"{file}:{row.name}({', '.join(row.arguments)})")


def _what_to_do(accepted: Accepting | None, found: Accepting | None, selection: Selection) -> str:
    if accepted is None:
        return f"it is new: accept it with {_UPDATE}"
    if found is None:
        stale = _is_stale(accepted, selection)
        return f"no test runs it: delete the entry, or have {_UPDATE} do it" if stale else ""
    if _rank(found.state) > _rank(accepted.state):
        return f"it is worse than accepted: fix it, or accept it with {_UPDATE}"
    if _rank(found.state) < _rank(accepted.state) and selection.is_whole:
        return f"it is better than accepted: record that with {_UPDATE}"
    return ""


def _is_stale(entry: Accepting, selection: Selection) -> bool:
    if entry.test in selection.completed:
        return True
    # A test that is gone, or none: the program ran while modules were imported.
    is_gone = entry.test not in selection.known and not selection.leaves_out(entry.test)
    return selection.is_whole and is_gone


def _states(result: SuiteResult, names: PortableNames) -> dict[str, Accepting]:
    """Return the state of each program by its key; programs with one key have that of all."""
    differs: dict[str, set[str]] = {}
    for row in result.differences:
        if metric_of(row) != "outputs":
            differs.setdefault(row.program, set()).add(metric_of(row))
    found: dict[str, Accepting] = {}
    for program in result.programs:
        words = differs.get(program.identity, set())
        state = ", ".join(sorted({*words, *_rung(program, words)}, key=_WORDS.index))
        own = Accepting(state, program.test)
        key = key_of(program, names)
        found[key] = _both(own, found[key]) if key in found else own
    return found


def _rung(program: SuiteProgram, differs: set[str]) -> Iterator[str]:
    if program.rung is not None:
        yield program.rung
    elif not differs:
        yield "not compared"


def _both(one: Accepting, other: Accepting) -> Accepting:
    """Join the states of two programs: the worse one, with the differences of the other."""
    better, worse = sorted((one.state, other.state), key=_rank)
    differences = [word for word in _words(better) if word not in _ALIKE]
    state = ", ".join(sorted([*_words(worse), *differences], key=_WORDS.index))
    return Accepting(state, min(one.test, other.test))


def _rank(state: str) -> list[int]:
    return sorted((_WORDS.index(word) for word in _words(state)), reverse=True)


def _words(state: str) -> list[str]:
    return state.split(", ")


# -- the file --------------------------------------------------------------------------------------


def _table(file: Path, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BaselineError(f"{file}: not a baseline, which has a table for each platform")
    return value


def _entries(file: Path, table: Any, *, is_updated: bool) -> Mapping[str, Accepting]:
    """Read the entries of a platform; a path of another machine is left out of a file to write."""
    found = {key: _entry(file, key, value) for key, value in _table(file, table).items()}
    elsewhere = [key for key in found if is_of_a_machine(key)]
    if elsewhere and not is_updated:
        raise BaselineError(
            f"{file}: the entry {elsewhere[0]!r} has a path of another machine; write the file "
            f"again with {_UPDATE}, which names files from their package or from pytest's root on"
        )
    return {key: entry for key, entry in found.items() if key not in elsewhere}


def _entry(file: Path, key: str, value: Any) -> Accepting:
    is_entry = isinstance(value, dict) and set(value) == {"state", "test"}
    if not is_entry or not all(isinstance(each, str) for each in value.values()):
        raise BaselineError(f"{file}: the entry of {key!r} must have a state and a test")
    unknown = [word for word in _words(value["state"]) if word not in _WORDS]
    if unknown:
        raise BaselineError(
            f"{file}: the entry of {key!r} has the state {unknown[0]!r}; the states are "
            f"{', '.join(_WORDS)}"
        )
    return Accepting(value["state"], value["test"])


def _line(item: tuple[str, Accepting]) -> str:
    key, entry = item
    return f"{_quoted(key)} = {{ state = {_quoted(entry.state)}, test = {_quoted(entry.test)} }}\n"


def _quoted(text: str) -> str:
    # JSON escapes as TOML does, but for characters that `visible` has spelled out.
    return json.dumps(visible(text), ensure_ascii=False)
