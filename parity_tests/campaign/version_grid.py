"""Put campaigns on several versions of JAX together into a grid, and judge across the versions.

Each campaign was saved with its arrays, wherever it ran. Nothing runs here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from packaging.version import InvalidVersion, Version

from parity_tests.evidence.saved import Saved
from parity_tests.judge.across_versions import OnVersion, changes
from reports.rows import Campaign, Environment, ProgramRow
from reports.rows.grid import Grid
from reports.rows.grid_row import GridVersion
from reports.rows.version_change import VersionChange


@dataclass(frozen=True)
class RanOn:
    """What came of one environment: a saved campaign, or why there is none.

    `name` is how a user knows the environment, such as the path of its interpreter. `jax` is its
    version of JAX, "" where that is not known.
    """

    name: str
    jax: str = ""
    saved: Saved | None = None
    missing: str = ""

    @property
    def campaign(self) -> Campaign | None:
        """The campaign, if there is one."""
        return self.saved.campaign if self.saved else None

    @property
    def environment(self) -> Environment | None:
        """What the campaign was measured with."""
        return self.campaign.environment if self.campaign else None

    @property
    def version(self) -> str:
        """The version of JAX; "" where it is not known."""
        return self.environment.jax if self.environment else self.jax


def grid_of(found: Sequence[RanOn]) -> Grid:
    """Make the grid of campaigns, in the order of their versions of JAX.

    Raises `SavedError` where arrays cannot be read.

    Example::

        grid_of([RanOn("python3.11", saved=Saved.read(Path("A.json")))]).headline.question
    """
    in_order = sorted(found, key=lambda each: _age(each.version))
    labels = _labels(in_order)
    return Grid(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=tuple(
            GridVersion(label=label, campaign=each.campaign, missing=each.missing)
            for label, each in zip(labels, in_order, strict=True)
        ),
        changes=tuple(_changes(labels, in_order)),
    )


def _age(version: str) -> tuple[bool, Version]:
    """Return a key that sorts versions; those that are not known come last."""
    try:
        return False, Version(version)
    except InvalidVersion:
        return True, Version("0")


def _labels(found: Sequence[RanOn]) -> list[str]:
    """Name each environment by its version of JAX, and by what tells it from others with that."""
    plain = [each.version or each.name for each in found]
    with_python = [
        f"{label} py{'.'.join(each.environment.python.split('.')[:2])}"
        if plain.count(label) > 1 and each.environment
        else label
        for label, each in zip(plain, found, strict=True)
    ]
    labels, seen = [], Counter[str]()
    for label in with_python:
        seen[label] += 1
        labels.append(f"{label} ({seen[label]})" if with_python.count(label) > 1 else label)
    return labels


def _changes(labels: Sequence[str], found: Sequence[RanOn]) -> Iterator[VersionChange]:
    saved = [(label, each.saved) for label, each in zip(labels, found, strict=True) if each.saved]
    names = dict.fromkeys(row.name for _, each in saved for row in each.campaign.programs)
    for name in names:
        on_versions = [
            OnVersion(label, each.evidence(name), each.truth(name), _varies(rows[name]))
            for label, each in saved
            if name in (rows := each.rows())
        ]
        yield from changes(name, on_versions)


def _varies(row: ProgramRow) -> str:
    """Say how a program does not repeat itself on one version; "" where it does."""
    if row.flip is not None and row.flip.outcome == "not repeatable":
        return "; ".join(each.what for each in row.flip.reasons if each.outcome == row.flip.outcome)
    return "; ".join(row.reasons) if row.verdict == "not repeatable" else ""
