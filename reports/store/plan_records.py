"""The records of planned campaigns in a store: before one begins, as it stands, a task's end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ConfigDict

from reports.rows import Environment, Side
from reports.rows.history import StoredProgram
from reports.rows.plan import PlanLibrary, State
from reports.rows.row import Row


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
    `rules` are those of `--fail-on` that programs are held to. `options`, of each environment, are
    what `constparity run` is given to run a program in it; none where all are constparity's own.
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
    rules: tuple[str, ...] = ()
    libraries: tuple[PlanLibrary, ...] = ()
    options: tuple[str, ...] = ()


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
    rules: tuple[str, ...]
    libraries: tuple[PlanLibrary, ...]


PROVED_ONLY, SAMPLED = "not run", "sampled"


class Finished(Row):
    """One program that a task has run, as a store keeps it; JSON has its bytes in base64.

    `program` has what is listed and compared, and `packed` is its row; None and empty where it has
    no row. `symptom`, `line`, `equation` and `action` say what a program has in common with others
    of its cause. `broken` names the rules that it breaks. `against_itself` says what differed when
    its first side ran twice. `seconds` are those of all sides, None where they are not known. The
    store does not read the `recipe` of a generated program. `proof` is `PROVED_ONLY` of a program
    that is proved and was not run, `SAMPLED` of one that was, and what contradicts its proof where
    its run shows that.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    place: int
    state: State
    why: str = ""
    symptom: str = ""
    line: str = ""
    equation: str = ""
    action: str = ""
    against_itself: str = ""
    broken: tuple[str, ...] = ()
    recipe: str = ""
    proof: str = ""
    seconds: float | None = None
    program: StoredProgram | None = None
    packed: bytes = b""


@dataclass(frozen=True)
class TaskEnd:
    """How a task ended, where, and with which versions; `lost` says how it was lost."""

    key: str
    machine: str = ""
    versions: str = ""
    seconds: float = 0.0
    processor_seconds: float = 0.0
    floor_seconds: float = 0.0
    lost: str = ""
