"""What parent and child processes say to each other: requests, answers, and the files they leave.

Only pydantic and the rows are imported here, so that a parent can ask without importing JAX.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from reports.rows import Environment, Hazard, Side
from reports.rows.bench import BenchTurn, TurnTaken
from reports.rows.experiments import (
    CulpritFound,
    CulpritQuestion,
    Sweep,
    SweepQuestion,
    TuneQuestion,
    Tuning,
)

NO_ARBITER = "no_arbiter"  # the file that says why there are no outputs in double precision


class Job(BaseModel):
    """One program to run; `number` is its place in the campaign."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number: int
    name: str
    target: str


class Request(BaseModel):
    """What a worker is to do: list the programs of `targets`, run `jobs`, or foresee one.

    "serve" runs jobs as they come, a line of JSON each on stdin, and "serve truth" arbitrates them.

    `steady_calls` is how often each program is called to time it, `reload` says that it is exported
    and reloaded too, and `hazards` that their hazards are to be detected. `culprit`,
    `sweep` and `tune` ask a question about the one job, and `bench` has rows of the benchmark and
    no job; on the file descriptor `says_on` its process says that it waits for its turn.
    "outputs" runs the job on its side, and nothing else, with `barriers` its captured arrays behind
    optimization barriers, and "equations" so runs it with the result of every equation among its
    outputs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    action: Literal[
        "list", "run", "foresee", "culprit", "sweep", "tune", "draft", "bench",
        "serve", "serve truth", "outputs", "equations",
    ]  # fmt: skip
    folder: Path
    sys_path: tuple[str, ...]
    targets: tuple[str, ...] = ()
    side: Side = "jax-legacy"
    jobs: tuple[Job, ...] = ()
    steady_calls: int = 0
    reload: bool = False
    hazards: bool = False
    culprit: CulpritQuestion | None = None
    sweep: SweepQuestion | None = None
    tune: TuneQuestion | None = None
    bench: BenchTurn | None = None
    says_on: int = -1
    barriers: bool = False


class Answer(BaseModel):
    """The answer to a question about one program, or that the target names none; or of a benchmark.

    A `draft` is JSON, with what its variables hold in `draft.npz` beside the answer; `unreadable`
    says why there is none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    culprits: CulpritFound | None = None
    sweep: Sweep | None = None
    tuning: Tuning | None = None
    bench: TurnTaken | None = None
    unknown_target: str | None = None
    draft: str | None = None
    unreadable: str | None = None


class EquationValue(BaseModel):
    """A result of an equation: what made it, and where its array is among the saved ones.

    `position` has the number of the equation, after that of each equation whose body it is in.
    `written` has what of it both sides must have alike.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    primitive: str
    position: tuple[int, ...]
    file: str
    line: int
    written: str
    saved: tuple[int, ...]  # the numbers of the arrays


class EquationValues(BaseModel):
    """The answer to "equations"; `left_out` counts results that were too large to be kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    equations: tuple[EquationValue, ...]
    left_out: int = 0


class Foreseen(BaseModel):
    """The hazards of one program."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hazards: tuple[Hazard, ...]


class Listed(BaseModel):
    """One program that a target names; `unavailable` says why it cannot be run.

    `digest` is that of the file that the program is written in.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    target: str
    source: str = ""
    summary: str = ""
    digest: str = ""
    unavailable: str | None = None


class Listing(BaseModel):
    """The answer to "list": programs, or the `error` in a target."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    programs: tuple[Listed, ...] = ()
    error: str | None = None
    environment: Environment | None = None


def to_json(model: BaseModel) -> str:
    """Write a model as JSON, whatever texts a program has put into it."""
    return type(model).model_validate(_spelled_out(model.model_dump())).model_dump_json()


def _spelled_out(value: Any) -> Any:
    """Spell out the lone surrogates in texts, which file names outside UTF-8 leave there.

    Neither JSON by pydantic nor a terminal takes them: "\\udcff" becomes six characters.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_spelled_out(key): _spelled_out(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spelled_out(item) for item in value]
    return value


def write(file: Path, text: str) -> None:
    """Write a file that is there as a whole or not at all."""
    part = file.with_suffix(".part")
    part.write_text(text, encoding="utf-8", errors="backslashreplace")
    part.replace(file)
