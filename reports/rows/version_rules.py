"""The rule `version-change` of `--fail-on`: what a version of JAX changes, the flag left alone.

It reads what was judged across the versions of a grid, and judges nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.rows.fail_rules import Broken, FailRule, Status
from reports.rows.grid import Grid
from reports.rows.grid_row import CellState, GridRow
from reports.rows.version_change import VersionChange, VersionOutcome

# What a user of the side would see who goes from one version to the other. A failure that is gone
# and outputs that are equal within the tolerance are none.
_CHANGED: tuple[VersionOutcome, ...] = ("different", "new failure", "another failure")
_RAN: tuple[CellState, ...] = ("judged", "not asked")


def of_versions(rules: Sequence[FailRule]) -> tuple[FailRule, ...]:
    """Return the rules that a grid breaks as a whole, and none of its campaigns."""
    return tuple(rule for rule in rules if rule.name == "version-change")


def broken_across(grid: Grid, rules: Sequence[FailRule]) -> list[Broken]:
    """Return the rules that programs break from version to version.

    A program that could not be compared there comes to "could not compare", also where it cannot be
    loaded on a version and ran on one before.

    Example::

        [each.programs for each in broken_across(grid, parse("version-change"))] == [("step",)]
    """
    return [
        Broken(rule, names, status)
        for rule in of_versions(rules)
        for status, names in _by_status(grid, rule)
        if names
    ]


def compares_nothing(grid: Grid, rule: FailRule) -> bool:
    """Say whether no program was compared across versions, so that nothing can break the rule."""
    return not _changes(grid, rule)


def changes_that_break(grid: Grid, rule: FailRule, program: str) -> list[VersionChange]:
    """Return what changed for a program that breaks a rule, or could not be compared."""
    return [
        each
        for each in _changes(grid, rule)
        if each.program == program and each.outcome in (*_CHANGED, "not compared")
    ]


def _by_status(grid: Grid, rule: FailRule) -> Iterator[tuple[Status, tuple[str, ...]]]:
    found = _changes(grid, rule)
    changed = [each.program for each in found if each.outcome in _CHANGED]
    unknown = [each.program for each in found if each.outcome == "not compared"]
    lost = [row.name for row in grid.programs if _is_lost(row)]
    yield "difference", tuple(dict.fromkeys(changed))
    yield "could not compare", tuple(dict.fromkeys([*unknown, *lost]))


def _changes(grid: Grid, rule: FailRule) -> list[VersionChange]:
    return [each for each in grid.changes if rule.subject in ("", each.side)]


def _is_lost(row: GridRow) -> bool:
    """Say whether a program cannot be loaded on a version, and ran on one before it."""
    states = [cell.state for cell in row.cells]
    return any(
        state == "not loaded" and any(before in _RAN for before in states[:number])
        for number, state in enumerate(states)
    )
