"""The records of planned campaigns in a store: before one begins, as it stands, a task's end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.rows import Environment, Side


@dataclass(frozen=True)
class PlannedText:
    """A planned program as the store has it: `text` is its record, which the store does not read.

    `environment` is the place of its environment in the plan, and `target` what loads the program.
    """

    place: int
    environment: int
    name: str
    text: str
    target: str = ""
    unavailable: str = ""


@dataclass(frozen=True)
class PlanBegin:
    """What is known of a plan before it begins.

    `digest` identifies the spec, `whole` all programs of all shards, of which there are `total`.
    """

    name: str
    digest: str
    whole: str
    total: int
    spec: str
    sides: tuple[Side, ...]
    environments: tuple[Environment, ...]
    settings: dict[str, str]
    programs: Sequence[PlannedText]
    machine: str = ""
    shard: str = ""


@dataclass(frozen=True)
class StoredPlan:
    """A plan of a store; `finished` is "" while it has programs that are not run."""

    id: int
    name: str
    digest: str
    whole: str
    total: int
    shard: str
    sides: tuple[Side, ...]
    spec: str
    started: str
    finished: str
    coverage: Mapping[str, int]


@dataclass(frozen=True)
class Finished:
    """One program that a task has run: its row, or why there is none."""

    place: int
    row: str = ""
    missing: str = ""
    differs_from_itself: str = ""
    is_refused: bool = False
    recipe: str = ""  # of a generated program; the store does not read it


@dataclass(frozen=True)
class TaskEnd:
    """How a task ended, and where; `lost` says how it was lost."""

    key: str
    machine: str = ""
    seconds: float = 0.0
    processor_seconds: float = 0.0
    floor_seconds: float = 0.0
    lost: str = ""
