"""Run jobs in the process of a side: measure them, run them again, or evaluate them for truth.

How far the process has come stands in its events, in the lines "started N", "stage NAME" and
"done N". So the parent knows which program a crash belongs to, and which stage. "measured N" comes
where more follows, which has a time limit of its own. After "spent N" the process does no program
but N, and after "changed N" none but those of the module of N. "staging SECONDS" is what JAX took
of the processors to trace, lower and compile a program.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from parity_tests.evidence.folder_layout import (
    ProcessFiles,
    ProgramFiles,
    TruthFiles,
    rerun_files,
    truth_files,
)
from parity_tests.evidence.found import HazardsFound
from parity_tests.own_packages import is_collision
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
from parity_tests.processes.side_environment import CACHE_OFF
from parity_tests.worker.handling import (
    TO_MEASURE,
    TO_RERUN,
    Desk,
    events,
    hazards_of,
    load,
    start_up,
)
from reports.rows import Failure, Observation, Side

if TYPE_CHECKING:
    from parity_tests.observe.hazards import BuiltOnce, MeasuredTraces
    from parity_tests.observe.measure import Measured
    from parity_tests.observe.process_state import MeasuringProcess, ProcessState
    from parity_tests.program import Program

# Says a line of the events.
Say = Callable[[str], object]
GivenT = TypeVar("GivenT", Job, Rerun)


def run_jobs(request: RunJobs, desk: Desk) -> None:
    """Run the jobs of a request, or as many as this process is fit for."""
    _start(request.side)
    if request.proves:
        # Traces are many small objects that live on; looking for garbage takes a tenth of tracing.
        gc.set_threshold(100_000)
    with events(desk) as say:
        runner = _runner(request, desk, say)
        for position, job in enumerate(request.jobs):
            following = next(iter(request.jobs[position + 1 :]), job)
            if not runner.run(job, fresh=position == 0, following=following):
                return


def serve_jobs(request: ServeJobs, desk: Desk) -> None:
    """Run jobs as they come, until the parent goes or this process is not fit for more."""
    _start(request.side)
    with events(desk) as say:
        runner = _runner(RunJobs(side=request.side, jobs=()), desk, say)
        for job in _given(desk, Job):
            if not runner.run(job, fresh=False, following=job):
                return


def _start(side: Side) -> None:
    start_up(side)
    from parity_tests.observe import compile_cache
    from parity_tests.observe.jit_on_side import warm_up

    if CACHE_OFF in os.environ:
        compile_cache.is_off_for_the_user()
    warm_up(side)


def _runner(how: RunJobs, desk: Desk, say: Say) -> _Runner:
    from parity_tests.observe.hazards import MeasuredTraces
    from parity_tests.observe.process_state import MeasuringProcess

    return _Runner(how, desk, say, MeasuringProcess(), MeasuredTraces())


def serve_truth(request: ServeTruth, desk: Desk) -> None:
    """Evaluate jobs in double precision as they come, until the parent goes."""
    at_start = _state_at_start("jax-legacy", TO_MEASURE)
    with events(desk) as say:
        for job in _given(desk, Job):
            say(f"started {job.number}")
            arbitrate(job, truth_files(desk.files.folder, job.number))
            _say_if_changed(at_start, job, say)
            say(f"done {job.number}")


def serve_reruns(request: ServeReruns, desk: Desk) -> None:
    """Run programs again as they come, until the parent goes."""
    at_start = _state_at_start(request.side, TO_RERUN)
    import jax

    target = ""
    with events(desk) as say:
        for order in _given(desk, Rerun):
            say(f"started {order.number}")
            if order.target != target:
                jax.clear_caches()  # they hold the executables of the program before
                target = order.target
            staging = rerun(order, request.side, rerun_files(desk.files.folder, order.number))
            say(f"staging {staging:.6f}")
            _say_if_changed(at_start, order, say)
            say(f"done {order.number}")


def _state_at_start(side: Side, modules: Sequence[str]) -> ProcessState:
    start_up(side, modules)
    from parity_tests.observe.process_state import ProcessState

    return ProcessState.now()


def _say_if_changed(at_start: ProcessState, job: Job | Rerun, say: Say) -> None:
    if at_start.apart_from_path(type(at_start).now()):
        say(f"changed {job.number}")


@dataclass(frozen=True)
class _Runner:
    """Runs jobs in this process as a request says, and says how far it has come."""

    how: RunJobs
    desk: Desk
    say: Say
    process: MeasuringProcess
    traces: MeasuredTraces

    def run(self, job: Job, *, fresh: bool, following: Job) -> bool:
        """Run a job, and return whether this process is fit for another.

        `following` is the job that comes next, or the same one where that is not known.
        """
        self.say(f"started {job.number}")
        self._run(job, fresh=fresh)
        is_fit = self.process.may_go_on_with(following.target)
        if not is_fit:
            self.say(f"spent {job.number}")
        self.say(f"done {job.number}")
        return is_fit

    def _run(self, job: Job, *, fresh: bool) -> None:
        """Measure one program and leave its observation, outputs, jaxpr and hazards in files.

        What is measured is kept before checks come last, or hazards are detected, since these may
        take the process along. Many programs have neither.
        """
        from parity_tests.processes.kept_files import finish, leaving

        files = ProgramFiles(self.desk.files.folder, job.number)

        def keep(measured: Measured) -> None:
            with leaving(self.desk.files):
                _save(measured, files)
                write(files.measured, to_json(measured.observation))
            self.say(f"measured {job.number}")

        measured, once = self._measured(job, fresh=fresh, keep=keep)
        times = measured.observation.times
        if times and times.processor is not None:
            self.say(f"staging {times.processor:.6f}")
        changed = self.process.changes_of_program(measured.observation.changed_process)
        found = measured.observation.model_copy(update={"changed_process": changed})
        with leaving(self.desk.files):
            if not files.measured.exists():
                _save(measured, files)
            if self.how.hazards:
                hazards = self.traces.found()
                if hazards is None:
                    # Detecting them may take the process along, and has a time limit of its own.
                    write(files.measured, to_json(found))
                    self.say(f"measured {job.number}")
                    self.say("stage hazards")
                    hazards = _detected(job, once, files.reads, found)
                    changed += self.process.changes_of_checks()
                    found = found.model_copy(update={"changed_process": changed})
                write(files.hazards, to_json(hazards))
            # The last file: a campaign that goes on takes the program for finished by it.
            finish(files, found)
            files.measured.unlink(missing_ok=True)
            files.reads.unlink(missing_ok=True)

    def _measured(
        self, job: Job, *, fresh: bool, keep: Callable[[Measured], None]
    ) -> tuple[Measured, BuiltOnce | None]:
        """Measure a program; what was built is kept where its hazards are to be looked for."""
        from parity_tests import targets
        from parity_tests.observe import hazards, measure

        # Recording takes time. Of the first program of a process the peaks of memory are judged.
        how, traces = self.how, self.traces
        is_untimed = how.hazards and not how.steady_calls
        watches = is_untimed and how.side == "jax-simplified" and not traces.has_read
        with traces.watching() if watches else nullcontext():
            try:
                program = load(job.target)
            except targets.TargetError as error:
                # It was there when targets were listed: it is its import on this side that fails.
                failure = Failure(
                    kind="unavailable" if is_collision(error) else "exception",
                    stage="import", type=type(error).__name__, message=str(error),
                )  # fmt: skip
                failed = Observation(program=job.name, side=how.side, failure=failure)
                return measure.Measured(failed), None
            finally:
                self.process.has_imported(job.target)
            once = hazards.BuiltOnce(program, records=not watches) if how.hazards else None
            target, noting = once.program if once else program, traces.note if watches else None
            if how.proves:
                observed = measure.number(
                    target,
                    how.side,
                    name=job.name,
                    platforms=how.platforms,
                    lowers=job.lowers,
                    on_stage=lambda name: self.say(f"stage {name}"),
                    on_traced=noting,
                )
                measured = measure.Measured(observed)
            else:
                measured = measure.measure(
                    target,
                    how.side,
                    name=job.name,
                    on_stage=lambda name: self.say(f"stage {name}"),
                    on_measured=keep,
                    on_traced=None if fresh else noting,
                    steady_calls=how.steady_calls,
                    exact_peaks=fresh or how.exact_peaks,
                    fresh=fresh,
                    reload=how.reload,
                    flips="called" if fresh else how.flips,
                )
        if once is not None and watches:
            once.has_read = traces.has_read
        return measured, once


def _detected(job: Job, once: BuiltOnce | None, reads: Path, measured: Observation) -> HazardsFound:
    """Trace a program once more for its hazards; a process in legacy form may tell more.

    It is built once more only where it read something while it was built: the programs after it
    may draw from what its module shares, on this side as on the others. Where the measurement has
    left it in a state in which it raises, the other process tells.
    """
    from parity_tests.observe.reads.recording import needs_legacy

    def loaded() -> Program:
        return load(job.target)

    def as_measured() -> Program:
        anew = loaded()  # from where the process was started, wherever the program went
        return anew if once is None else once.program

    is_measured = once is not None and not once.has_read
    found = hazards_of(as_measured if is_measured else loaded, reads)
    may_tell_more = measured.side == "jax-simplified" and needs_legacy(job.target)
    return found.model_copy(update={"again": bool(found.not_detected) or may_tell_more})


def _save(measured: Measured, files: ProgramFiles) -> None:
    from parity_tests.evidence import values

    values.save(files.outputs, measured.values)
    write(files.jaxpr, measured.jaxpr)


def rerun(order: Rerun, side: Side, files: ProcessFiles) -> float:
    """Run one program once more, and save its outputs, or the results of equations.

    Returns the seconds of the processors that JAX took to trace, lower and compile it.
    """
    from parity_tests.drift import equation_values
    from parity_tests.evidence import values

    files.folder.mkdir()
    found = equation_values.run(load(order.target), side, order)
    values.save(files.outputs, found.outputs)
    if order.equations != "none":
        values.save(files.equations, found.arrays)
        write(files.answer, to_json(found.equations))
    return found.staging


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


def _given(desk: Desk, kind: type[GivenT]) -> Iterator[GivenT]:
    while True:
        yield kind.model_validate_json(desk.lines.get())
