"""The process of a task that runs nothing: the name of a program says what happens to it.

It stands in for `parity_tests.campaign.running`, so that faults of processes and machines are tried
with real processes, and without the seconds that JAX takes to start.
"""

import os
import resource
import signal
import sys
import time
from pathlib import Path

from parity_tests.campaign.tasks import Task, TaskResult
from parity_tests.evidence.folder_layout import TaskFiles
from parity_tests.processes.protocol import write
from reports.rows import FlipVerdict, Observation, ProgramRow, StageTimes, TimeSamples
from reports.store.plan_records import finished
from tests.helpers.built_grids import ENVIRONMENT

TIMES = StageTimes(trace=1.0, lower=1.0, compile=1.0, first_call=1.0, call=None, call_samples=0)


def row(name, outcome="safe", *, has_times=False):
    """Make the row of a program for which the flip comes to `outcome`."""
    times = (TimeSamples(side="legacy", metric="call", seconds=(1.0,)),)
    return ProgramRow(
        name=name,
        source="model.py:1",
        summary="",
        verdict="parity",
        reasons=(),
        observations=(Observation(program=name, side="legacy", times=TIMES),),
        comparisons=(),
        time_samples=times if has_times else (),
        flip=FlipVerdict(left="jax-legacy", right="jax-simplified", outcome=outcome, reasons=()),
    )


def result(task, machine="this one", kept=None):
    """Make the result of a task, by what is `kept` of each program.

    By default all are safe, with times where they are asked.
    """

    def safe(each):
        found = row(each.name, has_times=task.rounds > 0)
        return finished(each.place, found, task.campaign.rules)

    return TaskResult(
        key=task.key,
        machine=machine,
        environment=ENVIRONMENT,
        programs=tuple(map(kept or safe, task.programs)),
        seconds=1.0,
        processor_seconds=1.0,
        floor_seconds=0.5,
    )


def run_with(kept):
    """Return what runs tasks in no process; `kept` is as for `result`."""

    def run(waiting):
        for task in waiting:
            yield task, result(task, kept=kept)

    return run


run = run_with(None)


def main(folder):
    files = TaskFiles(Path(folder))
    task = Task.model_validate_json(files.request.read_bytes())
    marks = Path(os.environ["QUICK_TASKS"])
    for number, each in enumerate(task.programs):
        files.beat.write_text(f"{number} {len(task.programs)}")
        name = each.name
        first = not (marks / name).exists()
        with open(marks / name, "a") as mark:
            mark.write(f"{os.getppid()}\n")
        if name.startswith("dies") or (name.startswith("once dies") and first):
            os.kill(os.getpid(), signal.SIGKILL)
        if name.startswith("hangs"):
            time.sleep(600)
        if name.startswith("grows"):
            resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
            bytearray(2**30)
        while name.startswith("follows ") and not (marks / name.removeprefix("follows ")).exists():
            time.sleep(0.05)
        if name.startswith("slow"):
            time.sleep(0.5)
        if name.startswith("waits"):
            parent = os.getppid()
            while os.getppid() == parent and not (marks / f"go {parent}").exists():
                time.sleep(0.02)
        if name.startswith("once fills") and first:
            print("No space left on device", flush=True)
            os._exit(os.EX_IOERR)
    write(files.result, result(task).model_dump_json())


if __name__ == "__main__":
    main(sys.argv[1])
