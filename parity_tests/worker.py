"""The process of one side: `python -m parity_tests.worker REQUEST`, started by `sides`.

It takes the programs of its request one by one and leaves for each, in the request's folder, an
observation (`N.json`), its outputs (`N.npz`), its printed jaxpr (`N.jaxpr.txt`) and, on the side
that is asked for them, its hazards (`N.hazards.json`), and in `events` the lines "started N",
"stage NAME" and "done N", so that the parent knows which program a crash belongs to, and which
stage. Nothing goes through stdout or stderr, which belong to the programs.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from parity_tests.processes.protocol import (
    NO_ARBITER,
    Answer,
    Foreseen,
    Job,
    Listed,
    Listing,
    Request,
    to_json,
    write,
)
from reports.rows import Failure, Observation

if TYPE_CHECKING:
    from parity_tests.program import Program


_HOME = os.getcwd()  # relative targets are relative to it, wherever a program goes


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
        from parity_tests.bench import child, stepping

        assert request.bench is not None
        stepping.enter(stepping.Steps(request.says_on, lines))
        write(request.folder / "answer.json", to_json(Answer(bench=child.take(request.bench))))
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

    for name in ("observe.hazards", "observe.measure", "targets", "evidence.values"):
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
    from parity_tests.observe.environment import describe

    try:
        found = targets_.load(targets)
    except targets_.TargetError as error:
        return Listing(error=str(error))
    return Listing(programs=tuple(_listed(each) for each in found), environment=describe())


def _listed(each: object) -> Listed:
    from parity_tests.program import Program
    from parity_tests.targets import Unavailable, digest_of

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


def run_job(job: Job, request: Request, *, fresh: bool, on_stage: Callable[[str], object]) -> None:
    """Measure one program and leave its observation, outputs and jaxpr in the folder."""
    from parity_tests import targets
    from parity_tests.evidence import values
    from parity_tests.observe import measure

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
    from parity_tests.observe import hazards

    # What a program raises is in its observations, of which hazards are only an explanation.
    try:
        return Foreseen(hazards=hazards.detect(_load(job)))
    except Exception:  # noqa: BLE001
        return Foreseen(hazards=())


def rerun(request: Request) -> str:
    """Run the one program of a request once, and leave its outputs in `outputs.npz`."""
    from parity_tests.drift import equation_values
    from parity_tests.evidence import values

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
    from parity_tests import targets
    from parity_tests.experiments import culprit, sweep, tune

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
    from parity_tests.evidence import values
    from parity_tests.reduce import draft, jaxpr_to_draft

    try:
        found = jaxpr_to_draft.read(program)
    except jaxpr_to_draft.CannotReadError as error:
        return Answer(unreadable=str(error))
    stored = [values.Value(str(number), array) for number, array in found.store.items()]
    values.save(folder / "draft.npz", stored)
    return Answer(draft=draft.to_json(found.draft))


def arbitrate(job: Job, folder: Path) -> None:
    """Leave the outputs of one program in double precision in the folder, or why there are none."""
    from parity_tests.drift import arbiter
    from parity_tests.evidence import values

    folder.mkdir(exist_ok=True)
    # It may raise whatever a program may, and a missing arbiter only leaves its rung unclaimed.
    try:
        truth = arbiter.truth(_load(job))
    except Exception as error:  # noqa: BLE001
        said = next(iter(str(error).splitlines()), "")
        write(folder / NO_ARBITER, f"{type(error).__name__}: {said}")
    else:
        values.save(folder / "truth.npz", truth)


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
