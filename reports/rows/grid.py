"""A grid: programs on several versions of JAX, each before a flip of the default and after it.

It holds one whole campaign for each environment, in the order of their versions of JAX, and what
changed for a side from one version to the next. All else is worked out from these.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from itertools import groupby
from typing import Any

from pydantic import computed_field, model_validator

from reports.rows.campaign import SCHEMA_VERSION, Campaign
from reports.rows.grid_row import (
    VERSION_OUTCOMES,
    GridCell,
    GridRow,
    GridVersion,
    VersionChange,
    grid_rows,
)
from reports.rows.headline import FLIP_ANSWERS, FlipAnswer, listed_names
from reports.rows.row import Row, Side


class VersionAnswer(Row):
    """The answer for one version; `flip` is None where no flip was judged there.

    `counts` has the number of programs by what a flip comes to for them, `first` what to do first,
    or why there is no campaign.
    """

    version: str
    flip: FlipAnswer | None
    counts: dict[FlipAnswer, int]
    first: str


class GridHeadline(Row):
    """What a reader wants to know first; `flip` is the worst answer of all versions."""

    flip: FlipAnswer | None
    question: str  # "flip: no on 0.8.3 and 0.9.2; yes, at a price on 0.10.2"
    verdicts: str  # in which versions flip verdicts change
    left_alone: str  # what changes from version to version for those who do not flip
    versions: tuple[VersionAnswer, ...]


def grid_headline(
    versions: Sequence[GridVersion], programs: Sequence[GridRow], changes: Sequence[VersionChange]
) -> GridHeadline:
    """Work out the headline of a grid."""
    answers = tuple(_answer(each) for each in versions)
    known = [each.flip for each in answers if each.flip]
    return GridHeadline(
        flip=max(known, key=FLIP_ANSWERS.index, default=None),
        question=f"flip: {_by_answer(answers)}",
        verdicts=_verdicts(programs, has_flip=bool(known)),
        left_alone=_left_alone(changes, [each.label for each in versions]),
        versions=answers,
    )


def _answer(version: GridVersion) -> VersionAnswer:
    if version.campaign is None:
        why = f"nothing was run: {version.missing}"
        return VersionAnswer(version=version.label, flip="not known", counts={}, first=why)
    found = version.campaign.headline
    return VersionAnswer(
        version=version.label, flip=found.flip, counts=found.counts, first=found.first
    )


def _by_answer(answers: Sequence[VersionAnswer]) -> str:
    """Say each answer once for the versions in a row that have it."""
    runs = [
        (flip or "not asked", [each.version for each in run])
        for flip, run in groupby(answers, key=lambda each: each.flip)
    ]
    return "; ".join(f"{flip} on {_span(labels)}" for flip, labels in runs) or "not asked"


def _span(labels: Sequence[str]) -> str:
    if len(labels) < 3:
        return " and ".join(labels)
    return f"{labels[0]} to {labels[-1]}"


def on_versions(ran: Sequence[str], versions: Sequence[str]) -> str:
    """Name the versions that something is known of: these alone, unless they are all.

    Example::

        >>> on_versions(["0.10.2", "0.12.0.1"], ["0.10.2", "0.11.2", "0.12.0.1"])
        'on 0.10.2 and 0.12.0.1'
    """
    if len(ran) == len(versions):
        return "on all versions"
    return f"on {' and '.join([*filter(None, [', '.join(ran[:-1])]), *ran[-1:]])}"


def _verdicts(programs: Sequence[GridRow], *, has_flip: bool) -> str:
    if not has_flip:
        return "verdicts: no two sides across the flip were compared"
    labels = [cell.version for row in programs[:1] for cell in row.cells]
    judged = {cell.version for row in programs for cell in row.cells if cell.flip}
    ran = [label for label in labels if label in judged]
    twice = [row for row in programs if sum(cell.flip is not None for cell in row.cells) > 1]
    changing = [row for row in twice if row.changes]
    partly = [row.name for row in programs if any(_is_missing(c, judged) for c in row.cells)]
    missing = f"; not on all versions are {len(partly):,}{listed_names(partly)}" if partly else ""
    if not twice:
        return f"verdicts: no program was judged on two versions{missing}"
    if not changing:
        where, total = on_versions(ran, labels), f"programs: {len(twice):,}"
        return f"verdicts: a flip comes to the same {where} ({total}){missing}"
    first = [row.first_change.after.version for row in changing if row.first_change]
    found = _in_order(
        (cell.version for row in programs[:1] for cell in row.cells),
        {version: [r.name for r, v in zip(changing, first, strict=True) if v == version]
         for version in first},
    )  # fmt: skip
    total = f"{len(changing):,} of {len(twice):,} programs"
    return f"verdicts: a flip comes to something else for {total}: {found}{missing}"


def _is_missing(cell: GridCell, judged: Container[str]) -> bool:
    """Say whether a program is missing on a version that judged others, or cannot be loaded."""
    not_run = cell.state == "not run" and cell.version in judged
    return not_run or cell.state in ("not there", "not loaded")


def _in_order(versions: Iterable[str], names: dict[str, list[str]]) -> str:
    """Count the programs of each version, in the order of the versions."""
    counts = (
        f"{len(names[version]):,} from {version} on{listed_names(names[version])}"
        for version in versions
        if version in names
    )
    return "; ".join(counts)


def _left_alone(changes: Sequence[VersionChange], labels: Sequence[str]) -> str:
    """Say what changes from version to version, the worst first."""
    if not changes:
        return "flag left alone: no side ran on two versions"
    total = len({each.program for each in changes})
    news = [each for each in changes if each.is_news]
    if not news:
        where = _where_compared(changes, labels)
        same = f"every program gives equal or close outputs {where}, or fails alike"
        return f"flag left alone: {same} (programs: {total:,})"
    told = []
    for outcome in (*reversed(VERSION_OUTCOMES), "slower", "faster"):
        names = list(dict.fromkeys(each.program for each in news if each.news == outcome))
        if names:
            told.append(f"{outcome}: {len(names):,}{listed_names(names)}")
    changed = len({each.program for each in news if each.news != "not compared"})
    return f"flag left alone: {changed:,} of {total:,} programs change; {'; '.join(told)}"


def _where_compared(changes: Sequence[VersionChange], labels: Sequence[str]) -> str:
    """Name the versions on which each program was compared, where they are the same ones."""
    found: dict[str, set[str]] = {}
    for each in changes:
        found.setdefault(each.program, set()).update((each.before, each.after))
    compared = set().union(*found.values())
    if any(each != compared for each in found.values()):
        return "on the versions that ran it"
    return on_versions([label for label in labels if label in compared], labels)


_WORKED_OUT = ("headline", "programs")


class Grid(Row):
    """The campaigns of one command on several versions of JAX: the root of a report on them."""

    schema_version: int = SCHEMA_VERSION
    created: str  # ISO 8601, UTC
    versions: tuple[GridVersion, ...]
    # Of each program and side, for each version but the first in which the side has run it.
    changes: tuple[VersionChange, ...] = ()
    search: str = ""  # what a search for the first release that changes something came to

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
        return tuple(dict.fromkeys(side for _, each in self.campaigns for side in each.sides))

    @property
    def campaigns(self) -> list[tuple[str, Campaign]]:
        """The campaigns that there are, each with the label of its version."""
        return [(each.label, each.campaign) for each in self.versions if each.campaign]

    def changes_of(self, program: str) -> tuple[VersionChange, ...]:
        """Return what changed for a program from version to version."""
        return tuple(self._changes.get(program, ()))

    @cached_property
    def _changes(self) -> dict[str, list[VersionChange]]:
        found: dict[str, list[VersionChange]] = {}
        for each in self.changes:
            found.setdefault(each.program, []).append(each)
        return found
