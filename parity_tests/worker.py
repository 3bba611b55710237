"""The process of one side: `python -m parity_tests.worker REQUEST`, started by `sides`.

It takes the programs of its request one by one and leaves for each, in the request's folder, an
observation (`N.json`), its outputs (`N.npz`), its printed jaxpr (`N.jaxpr.txt`) and, on the side
that is asked for them, its hazards (`N.hazards.json`), and in `events` the lines "started N",
"stage NAME" and "done N", so that the parent knows which program a crash belongs to, and which
stage. Nothing goes through stdout or stderr, which belong to the programs.
"""

from __future__ import annotations

import faulthandler
import hashlib
import importlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from reports.bench_rows import BenchTurn, TurnTaken
from reports.experiment_rows import (
    CulpritFound,
    CulpritQuestion,
    Sweep,
    SweepQuestion,
    TuneQuestion,
    Tuning,
)
from reports.rows import Environment, Failure, Hazard, Observation, Side

if TYPE_CHECKING:
    from parity_tests.program import Program


_HOME = os.getcwd()  # relative targets are relative to it, wherever a program goes

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


def main() -> None:
    """Do what the request file says that is named on the command line."""
    faulthandler.enable()  # so that the record of a crash has the Python frames of it
    lines: SimpleQueue[str] = SimpleQueue()
    _die_with_parent(lines)
    request = Request.model_validate_json(Path(sys.argv[1]).read_text())
    sys.path.extend(entry for entry in request.sys_path if entry not in sys.path)
    if request.action == "list":
        write(request.folder / "listing.json", to_json(list_programs(request.targets)))
        return
    if request.action == "foresee":
        [job] = request.jobs
        write(request.folder / "answer.json", to_json(foresee(job)))
        return
    if request.action in ("outputs", "equations"):
        # Nothing is caught here either: the parent says how the process ended.
        write(request.folder / "answer.json", rerun(request))
        return
    if request.action in ("culprit", "sweep", "tune", "draft"):
        # Unlike a side's worker it catches nothing: there is one program, and its traceback is the
        # end of what this process prints.
        write(request.folder / "answer.json", to_json(experiment(request)))
        return
    if request.action == "bench":
        from parity_tests.bench import steps, taking

        assert request.bench is not None
        steps.enter(steps.Steps(request.says_on, lines))
        write(request.folder / "answer.json", to_json(Answer(bench=taking.take(request.bench))))
        return
    _start_up()
    if request.action.startswith("serve"):
        serve(request, lines)
        return
    with open(request.folder / "events", "a", buffering=1) as events:
        for position, job in enumerate(request.jobs):
            events.write(f"started {job.number}\n")
            run_job(
                job,
                request,
                fresh=position == 0,
                on_stage=lambda name: events.write(f"stage {name}\n"),
            )
            events.write(f"done {job.number}\n")


def _start_up() -> None:
    """Start JAX, its backend and the tester itself: the first program is not charged for them.

    With a short time limit on a slow machine it would be given up, and so would then be the next
    one, which is the first in the process that takes over.
    """
    import jax

    for name in ("hazards", "measure", "targets", "values"):
        importlib.import_module(f"parity_tests.{name}")
    jax.devices()


def serve(request: Request, lines: SimpleQueue[str]) -> None:
    """Run or arbitrate jobs as they come, until the parent goes."""
    with open(request.folder / "events", "a", buffering=1) as events:
        while True:
            job = Job.model_validate_json(lines.get())
            events.write(f"started {job.number}\n")
            if request.action == "serve truth":
                arbitrate(job, request.folder / f"arbiter-{job.number}")
            else:
                run_job(
                    job,
                    request,
                    fresh=False,
                    on_stage=lambda name: events.write(f"stage {name}\n"),
                )
            events.write(f"done {job.number}\n")


def list_programs(targets: tuple[str, ...]) -> Listing:
    """List the programs of targets, with the environment they would be measured in."""
    from parity_tests import targets as targets_
    from parity_tests.environment import describe

    try:
        found = targets_.load(targets)
    except targets_.TargetError as error:
        return Listing(error=str(error))
    return Listing(programs=tuple(_listed(each) for each in found), environment=describe())


def _listed(each: object) -> Listed:
    from parity_tests.program import Program
    from parity_tests.targets import Unavailable

    if isinstance(each, Unavailable):
        return Listed(name=each.name, target=each.target, unavailable=each.reason)
    assert isinstance(each, Program)
    return Listed(
        name=each.name,
        target=each.target,
        source=each.source,
        summary=each.summary,
        digest=digest_of(Path(each.source.rpartition(":")[0])),
    )


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits; "" where there is no such file."""
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""


def run_job(job: Job, request: Request, *, fresh: bool, on_stage: Callable[[str], object]) -> None:
    """Measure one program and leave its observation, outputs and jaxpr in the folder."""
    from parity_tests import measure, targets, values

    side, folder = request.side, request.folder
    try:
        program = _load(job)
    except targets.TargetError as error:
        # It was there when targets were listed: what is wrong is its import on this side.
        failure = Failure(
            kind="exception", stage="import", type=type(error).__name__, message=str(error)
        )
        measured = measure.Measured(Observation(program=job.name, side=side, failure=failure))
    else:
        measured = measure.measure(
            program,
            side,
            on_stage=on_stage,
            most_calls=request.steady_calls,
            fresh=fresh,
            reload=request.reload,
        )
    observation = measured.observation.model_copy(update={"program": job.name})
    values.save(folder / f"{job.number}.npz", measured.values)
    write(folder / f"{job.number}.jaxpr.txt", measured.jaxpr)
    if request.hazards:
        on_stage("hazards")
        write(folder / f"{job.number}.hazards.json", to_json(foresee(job)))
    # The last file: a campaign that is gone on with takes the program for finished by it.
    write(folder / f"{job.number}.json", to_json(observation))


def _load(job: Job) -> Program:
    """Load a program from where the process was started, wherever the one before it went."""
    from parity_tests import targets

    os.chdir(_HOME)
    return targets.load_one(job.target)


def foresee(job: Job) -> Foreseen:
    """Detect the hazards of one program; there are none where it cannot even be traced."""
    from parity_tests import hazards

    # What a program raises is in its observations, of which hazards are only an explanation.
    try:
        return Foreseen(hazards=hazards.detect(_load(job)))
    except Exception:  # noqa: BLE001
        return Foreseen(hazards=())


def rerun(request: Request) -> str:
    """Run the one program of a request once, and leave its outputs in `outputs.npz`."""
    from parity_tests import equation_values, values

    [job] = request.jobs
    program = _load(job)
    if request.action == "outputs":
        outputs = equation_values.outputs(program, request.side, barriers=request.barriers)
        values.save(request.folder / "outputs.npz", outputs)
        return "{}"
    recorded = equation_values.record(program, request.side, barriers=request.barriers)
    values.save(request.folder / "outputs.npz", recorded.outputs)
    values.save(request.folder / "equations.npz", recorded.arrays)
    return to_json(recorded.equations)


def experiment(request: Request) -> Answer:
    """Answer the question of a request about its one program."""
    from parity_tests import culprit, sweep, targets, tune

    [job] = request.jobs
    try:
        program = _load(job)
    except targets.TargetError as error:
        return Answer(unknown_target=str(error))
    if request.action == "draft":
        return _draft(program, request.folder)
    if request.culprit is not None:
        return Answer(culprits=culprit.find(program, request.culprit))
    if request.tune is not None:
        return Answer(tuning=tune.tune(program, request.tune))
    assert request.sweep is not None
    return Answer(sweep=sweep.sweep(program, request.sweep))


def _draft(program: Program, folder: Path) -> Answer:
    from parity_tests import values
    from parity_tests.reducing import draft, reading

    try:
        found = reading.read(program)
    except reading.CannotReadError as error:
        return Answer(unreadable=str(error))
    stored = [values.Value(str(number), array) for number, array in found.store.items()]
    values.save(folder / "draft.npz", stored)
    return Answer(draft=draft.to_json(found.draft))


def arbitrate(job: Job, folder: Path) -> None:
    """Leave the outputs of one program in double precision in the folder, or why there are none."""
    from parity_tests import arbiter, values

    folder.mkdir(exist_ok=True)
    # It may raise whatever a program may, and a missing arbiter only leaves its rung unclaimed.
    try:
        truth = arbiter.truth(_load(job))
    except Exception as error:  # noqa: BLE001
        said = next(iter(str(error).splitlines()), "")
        write(folder / NO_ARBITER, f"{type(error).__name__}: {said}")
    else:
        values.save(folder / "truth.npz", truth)


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


def _die_with_parent(lines: SimpleQueue[str]) -> None:
    """End this process when the parent's end of stdin closes, however the parent ended.

    What the parent writes before that is put into `lines`.
    """
    pipe = os.dup(0)
    os.set_inheritable(pipe, False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # a program that reads stdin gets an end of file, not our pipe
    os.close(nothing)

    def read() -> None:
        with open(pipe) as parent:
            for line in parent:
                lines.put(line)
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()


if __name__ == "__main__":
    main()
