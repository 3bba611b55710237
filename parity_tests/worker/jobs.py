"""Run jobs in the process of a side: measure them, run them again, or evaluate them for truth.

How far the process has come stands in its events, in the lines "started N", "stage NAME" and
"done N". So the parent knows which program a crash belongs to, and which stage.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from parity_tests.evidence.folder_layout import (
    ProcessFiles,
    ProgramFiles,
    TruthFiles,
    rerun_files,
    truth_files,
)
from parity_tests.processes.protocol import (
    Job,
    Rerun,
    RunJobs,
    ServeJobs,
    ServeReruns,
    ServeTruth,
    to_json,
    write,
)
from parity_tests.worker.handling import Desk, hazards_of, load
from reports.rows import Failure, Observation, Side

OnStage = Callable[[str], object]
GivenT = TypeVar("GivenT", Job, Rerun)

_TO_MEASURE = ("observe.hazards", "observe.measure", "targets", "evidence.values")
_TO_RERUN = ("drift.equation_values", "targets", "evidence.values")


def run_jobs(request: RunJobs, desk: Desk) -> None:
    """Run the jobs of a request."""
    _start_up()
    with _events(desk) as say:
        for position, job in enumerate(request.jobs):
            say(f"started {job.number}")
            run_job(
                job, request, desk, fresh=position == 0, on_stage=lambda name: say(f"stage {name}")
            )
            say(f"done {job.number}")


def serve_jobs(request: ServeJobs, desk: Desk) -> None:
    """Run jobs as they come, until the parent goes."""
    _start_up()
    each = RunJobs(side=request.side, jobs=())
    with _events(desk) as say:
        for job in _given(desk, Job):
            say(f"started {job.number}")
            run_job(job, each, desk, fresh=False, on_stage=lambda name: say(f"stage {name}"))
            say(f"done {job.number}")


def serve_truth(request: ServeTruth, desk: Desk) -> None:
    """Evaluate jobs in double precision as they come, until the parent goes."""
    _start_up()
    with _events(desk) as say:
        for job in _given(desk, Job):
            say(f"started {job.number}")
            arbitrate(job, truth_files(desk.files.folder, job.number))
            say(f"done {job.number}")


def serve_reruns(request: ServeReruns, desk: Desk) -> None:
    """Run programs again as they come, until the parent goes."""
    _start_up(_TO_RERUN)
    import jax

    target = ""
    with _events(desk) as say:
        for order in _given(desk, Rerun):
            say(f"started {order.number}")
            if order.target != target:
                jax.clear_caches()  # they hold the executables of the program before
                target = order.target
            rerun(order, request.side, rerun_files(desk.files.folder, order.number))
            say(f"done {order.number}")


def run_job(job: Job, how: RunJobs, desk: Desk, *, fresh: bool, on_stage: OnStage) -> None:
    """Measure one program and leave its observation, outputs, jaxpr and hazards in files."""
    from parity_tests import targets
    from parity_tests.evidence import values
    from parity_tests.observe import measure
    from parity_tests.processes.kept_files import finish, leaving

    files = ProgramFiles(desk.files.folder, job.number)
    try:
        program = load(job.target)
    except targets.TargetError as error:
        # It was there when targets were listed: it is its import on this side that fails.
        failure = Failure(
            kind="exception", stage="import", type=type(error).__name__, message=str(error)
        )
        lost = Observation(program=job.name, side=how.side, failure=failure)
        measured = measure.Measured(lost)
    else:
        measured = measure.measure(
            program,
            how.side,
            name=job.name,
            on_stage=on_stage,
            steady_calls=how.steady_calls,
            fresh=fresh,
            reload=how.reload,
        )
    with leaving(desk.files):
        values.save(files.outputs, measured.values)
        write(files.jaxpr, measured.jaxpr)
        if how.hazards:
            on_stage("hazards")
            write(files.hazards, to_json(hazards_of(job.target)))
        # The last file: a campaign that goes on takes the program for finished by it.
        finish(files, measured.observation)


def rerun(order: Rerun, side: Side, files: ProcessFiles) -> None:
    """Run one program once more, and save its outputs; with `equations` their results besides."""
    from parity_tests.drift import equation_values
    from parity_tests.evidence import values

    files.folder.mkdir()
    program = load(order.target)
    if not order.equations:
        outputs = equation_values.outputs(program, side, order.xla, barriers=order.barriers)
        values.save(files.outputs, outputs)
        return
    recorded = equation_values.record(program, side, order.xla, barriers=order.barriers)
    values.save(files.outputs, recorded.outputs)
    values.save(files.equations, recorded.arrays)
    write(files.answer, to_json(recorded.equations))


def arbitrate(job: Job, files: TruthFiles) -> None:
    """Save the outputs of one program in double precision, or why there are none."""
    from parity_tests.drift import arbiter
    from parity_tests.evidence import digests, values
    from parity_tests.exception_texts import named

    files.folder.mkdir(exist_ok=True)
    # It may raise whatever a program may, and a missing arbiter only leaves its rung unclaimed.
    try:
        truth = arbiter.truth(load(job.target))
    except Exception as error:  # noqa: BLE001
        write(files.no_arbiter, named(error))
    else:
        values.save(files.truth, truth)
        write(files.seal, digests.seal([files.truth]))


def _start_up(names: Sequence[str] = _TO_MEASURE) -> None:
    """Start JAX, its backend and the tester before the time limit of the first program begins.

    On a slow machine with a short limit, the start alone could exceed it. The first program would
    be given up, and so would the next one, because it is the first in the replacement process.
    """
    import jax

    for name in names:
        importlib.import_module(f"parity_tests.{name}")
    # Before a program is imported: it may lower a callback then.
    importlib.import_module("parity_tests.observe.effects").install()
    jax.devices()


def _given(desk: Desk, kind: type[GivenT]) -> Iterator[GivenT]:
    while True:
        yield kind.model_validate_json(desk.lines.get())


@contextmanager
def _events(desk: Desk) -> Iterator[Callable[[str], object]]:
    """Open the events, and return how to say something there."""
    with open(desk.files.events, "a", buffering=1) as events:
        yield lambda line: events.write(f"{line}\n")
