"""The rows of one program of a grid: its flip verdict on each version, and what versions change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, get_args

from reports.rows.campaign import Campaign
from reports.rows.comparison import Comparison, TimeComparison
from reports.rows.flip import FlipOutcome, FlipVerdict, ReasonKind
from reports.rows.program_row import ProgramRow
from reports.rows.row import Row, Side

VersionOutcome = Literal[
    "equal",
    "within tolerance",
    "fixed failure",
    "same failure",
    "not compared",
    "another failure",
    "different",
    "new failure",
]
# From the best to the worst.
VERSION_OUTCOMES: tuple[VersionOutcome, ...] = get_args(VersionOutcome)


class VersionChange(Row):
    """What one side made of a program in two versions, named by the labels of the grid.

    `before` is the last version in which the side has run the program. Where a failure of that
    version is gone, there is a second row: against the last version in which the side worked.
    """

    program: str
    side: Side
    before: str
    after: str
    outcome: VersionOutcome
    detail: str  # how far outputs are apart, or what failed
    # Its source, arguments and captured arrays, if they are others, where outputs are not equal.
    causes: tuple[str, ...] = ()
    # By the digests of its jaxpr and of its module: "lowered otherwise"; "" where one is not known.
    by_numbers: str = ""
    judged: tuple[Comparison, ...] = ()  # of outputs, their types and placement, and of effects
    counters: tuple[Comparison, ...] = ()  # that are not equal: shown, and judged by nobody
    times: tuple[TimeComparison, ...] = ()  # judged where both versions took them in turns
    # What an other time comes from, by the modules: "the optimised module is the same, ..."
    cause_of_times: str = ""

    @property
    def other_times(self) -> tuple[TimeComparison, ...]:
        """The stages that take more than twice the time, then those that take less than half."""
        slower = [each for each in self.times if each.verdict == "slower" and (each.low or 0) > 2]
        faster = [e for e in self.times if e.verdict == "faster" and (e.high or 1) < 1 / 2]
        return (*slower, *faster)

    @property
    def news(self) -> str:
        """What a user should know who goes from the one version to the other; "" for nothing."""
        if self.outcome not in ("equal", "within tolerance", "same failure"):
            return self.outcome
        return next((each.verdict for each in self.other_times), "")

    @property
    def is_news(self) -> bool:
        """Whether a user should know of it who goes from the one version to the other."""
        return bool(self.news)


# Why a cell has no verdict, where it has none.
CellState = Literal["judged", "not asked", "not there", "not loaded", "not run"]


class GridVersion(Row):
    """One environment of a grid: its campaign, or why there is none.

    `label` is the version of JAX, and what tells the environment from others with that version.
    """

    label: str
    campaign: Campaign | None = None
    missing: str = ""

    def row(self, program: str) -> ProgramRow | None:
        """Return the row of a program; None where the campaign has none."""
        rows = self.campaign.programs if self.campaign else ()
        return next((row for row in rows if row.name == program), None)


class GridCell(Row):
    """A program on one version: what a flip comes to, and why.

    `kind` is that of the first reason that decides: it tells a program that a flip makes fail from
    one that it makes give other results. `fails_before` says that the program fails on this version
    without a flip.
    """

    version: str
    state: CellState
    flip: FlipOutcome | None = None
    kind: ReasonKind | None = None
    fails_before: bool = False
    why: str = ""

    @property
    def fails(self) -> bool:
        """Whether the flip makes the program fail, which works before it."""
        return self.flip == "different" and self.kind == "failure"


class FlipChange(Row):
    """A flip verdict that is another one than on the last version that has one.

    `between` are the versions between the two, which have no verdict: it may change on one of them.
    """

    before: GridCell
    after: GridCell
    between: tuple[str, ...] = ()


class GridRow(Row):
    """One program on all versions; `changes` has every change of its flip verdict, in order."""

    name: str
    source: str
    summary: str
    cells: tuple[GridCell, ...]  # one for each version, in their order
    changes: tuple[FlipChange, ...]

    @property
    def first_change(self) -> FlipChange | None:
        """The first version in which the flip verdict changes; None where it never does."""
        return self.changes[0] if self.changes else None


def grid_rows(versions: Sequence[GridVersion]) -> tuple[GridRow, ...]:
    """Arrange the programs of all versions, each once, in the order in which they are first met."""
    names = dict.fromkeys(name for version in versions for name in _names(version))
    return tuple(_row(name, versions) for name in names)


def _names(version: GridVersion) -> Iterator[str]:
    if version.campaign is not None:
        yield from (row.name for row in version.campaign.programs)
        yield from version.campaign.not_run


def _row(name: str, versions: Sequence[GridVersion]) -> GridRow:
    cells = tuple(_cell(name, version) for version in versions)
    found = [row for row in (version.row(name) for version in versions) if row]
    return GridRow(
        name=name,
        source=next((row.source for row in found if row.source), ""),
        summary=next((row.summary for row in found if row.summary), ""),
        cells=cells,
        changes=tuple(_changes(cells)),
    )


def _changes(cells: Sequence[GridCell]) -> Iterator[FlipChange]:
    judged = [number for number, cell in enumerate(cells) if cell.flip is not None]
    for one, two in pairwise(judged):
        if cells[one].flip != cells[two].flip:
            between = tuple(cell.version for cell in cells[one + 1 : two])
            yield FlipChange(before=cells[one], after=cells[two], between=between)


def _cell(name: str, version: GridVersion) -> GridCell:
    row, campaign = version.row(name), version.campaign
    if campaign is None:
        return GridCell(version=version.label, state="not run", why=version.missing)
    if row is None and name in campaign.not_run:
        why = "the campaign stopped at its first finding (-x)"
        return GridCell(version=version.label, state="not run", why=why)
    if row is None:
        why = "the targets name no such program on this version"
        return GridCell(version=version.label, state="not there", why=why)
    if not row.observations:
        return GridCell(version=version.label, state="not loaded", why="; ".join(row.reasons))
    if row.flip is None:
        return GridCell(version=version.label, state="not asked", why="; ".join(row.reasons))
    return _judged(version.label, row, row.flip)


def _judged(label: str, row: ProgramRow, flip: FlipVerdict) -> GridCell:
    deciding = [each for each in flip.reasons if each.outcome == flip.outcome]
    if flip.outcome == "safe":
        deciding = []  # notes, and hazards that come to nothing
    return GridCell(
        version=label,
        state="judged",
        flip=flip.outcome,
        kind=deciding[0].kind if deciding else None,
        fails_before=any(each.side == flip.left and each.failure for each in row.observations),
        why="; ".join(each.what for each in deciding),
    )
