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
from reports.rows import Campaign, ProgramRow
from reports.rows.grid import Grid
from reports.rows.grid_row import GridVersion
from reports.rows.version_change import VersionChange


@dataclass(frozen=True)
class RanOn:
    """What came of one environment: a campaign, saved with its arrays, or why there is none.

    `label` names the environment, as `labels_of` does. A campaign whose arrays could not be saved
    is not judged across versions.
    """

    label: str
    jax: str  # the version, by which environments are put in order; "" where it is not known
    saved: Saved | None = None
    without_arrays: Campaign | None = None
    missing: str = ""

    @property
    def campaign(self) -> Campaign | None:
        """The campaign, if there is one."""
        return self.saved.campaign if self.saved else self.without_arrays


def labels_of(versions: Sequence[tuple[str, str]]) -> list[str]:
    """Name environments by their versions of JAX and, where those are the same, of Python.

    Example::

        >>> labels_of([("0.10.2", "3.11.7"), ("0.12.0.1", "3.12.1"), ("0.12.0.1", "3.13.0")])
        ['0.10.2', '0.12.0.1 py3.12', '0.12.0.1 py3.13']
    """
    jax = [each[0] or "unknown" for each in versions]
    plain = [
        f"{label} py{'.'.join(python.split('.')[:2])}" if jax.count(label) > 1 else label
        for label, (_, python) in zip(jax, versions, strict=True)
    ]
    labels, seen = [], Counter[str]()
    for label in plain:
        seen[label] += 1
        labels.append(f"{label} ({seen[label]})" if plain.count(label) > 1 else label)
    return labels


def grid_of(found: Sequence[RanOn]) -> Grid:
    """Make the grid of campaigns, in the order of their versions of JAX.

    Raises `SavedError` where arrays cannot be read.

    Example::

        grid_of([RanOn("0.10.2", "0.10.2", Saved.read(Path("A.json")))]).headline.question
    """
    in_order = sorted(found, key=lambda each: _age(each.jax))
    return Grid(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=tuple(
            GridVersion(label=each.label, campaign=each.campaign, missing=each.missing)
            for each in in_order
        ),
        changes=tuple(_changes(in_order)),
    )


def _age(version: str) -> tuple[bool, Version]:
    """Return a key that sorts versions; those that are not known come last."""
    try:
        return False, Version(version)
    except InvalidVersion:
        return True, Version("0")


def _changes(found: Sequence[RanOn]) -> Iterator[VersionChange]:
    saved = [(each.label, each.saved) for each in found if each.saved]
    names = dict.fromkeys(row.name for _, each in saved for row in each.campaign.programs)
    for name in names:
        on_versions = [
            OnVersion(
                label,
                each.evidence(name),
                each.truth(name),
                _varies(rows[name]),
                rows[name].digest,
            )
            for label, each in saved
            if name in (rows := each.rows())
        ]
        yield from changes(name, on_versions)


def _varies(row: ProgramRow) -> str:
    """Say how a program does not repeat itself on one version; "" where it does."""
    if row.flip is not None and row.flip.outcome == "not repeatable":
        return "; ".join(each.what for each in row.flip.reasons if each.outcome == row.flip.outcome)
    return "; ".join(row.reasons) if row.verdict == "not repeatable" else ""
