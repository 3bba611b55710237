"""A grid: programs on several versions of JAX, each before a flip of the default and after it.

It holds one whole campaign for each environment, in the order of their versions of JAX, and what
changed for a side from one version to the next. All else is worked out from these.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from pydantic import computed_field, model_validator

from reports.rows.campaign import SCHEMA_VERSION
from reports.rows.grid_headline import GridHeadline, grid_headline
from reports.rows.grid_row import GridRow, GridVersion, grid_rows
from reports.rows.row import Row, Side
from reports.rows.version_change import VersionChange

_WORKED_OUT = ("headline", "programs")


class Grid(Row):
    """The campaigns of one command on several versions of JAX: the root of a report on them."""

    schema_version: int = SCHEMA_VERSION
    created: str  # ISO 8601, UTC
    versions: tuple[GridVersion, ...]
    # Of each program and side, for each version but the first in which the side has run it.
    changes: tuple[VersionChange, ...] = ()

    @computed_field  # type: ignore[prop-decorator]
    @cached_property
    def headline(self) -> GridHeadline:
        """May the default be flipped, on which versions? Worked out again when JSON is read."""
        return grid_headline(self.versions, self.programs, self.changes)

    @computed_field  # type: ignore[prop-decorator]
    @cached_property
    def programs(self) -> tuple[GridRow, ...]:
        """Each program once, with its flip verdict on each version. Worked out again, too."""
        return grid_rows(self.versions)

    @model_validator(mode="before")
    @classmethod
    def _without_what_is_worked_out(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {name: value for name, value in data.items() if name not in _WORKED_OUT}
        return data

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that any of the campaigns ran, each once."""
        campaigns = [each.campaign for each in self.versions if each.campaign]
        return tuple(dict.fromkeys(side for each in campaigns for side in each.sides))

    def changes_of(self, program: str) -> tuple[VersionChange, ...]:
        """Return what changed for a program from version to version."""
        return tuple(self._changes.get(program, ()))

    @cached_property
    def _changes(self) -> dict[str, list[VersionChange]]:
        found: dict[str, list[VersionChange]] = {}
        for each in self.changes:
            found.setdefault(each.program, []).append(each)
        return found
