"""Measure what bounds a campaign beyond this machine: the store, the reports, and the scheduler.

    python tests/scripts/campaign_scale.py STORE [--programs N] [--task-size N] [--tasks N]

The rows of the last plan of STORE, a real campaign, are written again and again to another store,
until it has N programs; that is timed, as are its report, its list and the comparison of two such
runs. The resident memory is read after each commit. With --tasks, a scheduler of Dask and two
workers get as many tasks that do nothing.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import psutil

from parity_tests.campaign.plan import PlannedProgram
from parity_tests.campaign.scheduling import run_tasks
from parity_tests.campaign.spec import CampaignSpec
from parity_tests.campaign.tasks import Task, TaskResult
from reports import render_report
from reports.output import json_file
from reports.rows import Environment
from reports.rows.fail_rules import DEFAULT_RULES
from reports.store.database import opened_for_reading
from reports.store.plan_records import Finished, PlanBegin, PlannedText, finished
from reports.store.plan_report import find_plan, plan_report
from reports.store.plans import opened_plan
from reports.store.reading import list_runs, load_programs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--programs", type=int, default=100_000)
    parser.add_argument("--task-size", type=int, default=100)
    parser.add_argument("--tasks", type=int, default=0)
    options = parser.parse_args()
    texts, environment = rows_of(options.store)
    with timed(f"read {len(texts):,} rows, where their tasks run", len(texts)):
        rows = [finished(0, json_file.program_of(text), DEFAULT_RULES) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "scale.db"
        measure_store(store, rows, environment, options.programs, options.task_size)
    if options.tasks:
        measure_scheduler(options.tasks)


def rows_of(store: Path) -> tuple[list[str], Environment]:
    """Return the rows of the last plan of a store, as JSON, and what they were measured with."""
    plan = find_plan(store)
    with opened_for_reading(store) as connection:
        found = connection.execute(
            "SELECT row FROM rows JOIN runs ON runs.id = rows.run WHERE plan = ?", (plan.id,)
        ).fetchall()
        [root] = connection.execute(
            "SELECT root FROM runs WHERE plan = ? LIMIT 1", (plan.id,)
        ).fetchone()
    texts = [zlib.decompress(packed).decode("utf-8") for (packed,) in found]
    return texts, json_file.campaign_of(root, ()).environment


def measure_store(
    path: Path, rows: list[Finished], environment: Environment, count: int, size: int
) -> None:
    for _ in range(2):  # two plans, to be compared
        programs = [
            PlannedProgram(place=place, environment="here", corpus="c", name=f"program_{place}")
            for place in range(count)
        ]
        begin = PlanBegin(
            name="scale", digest="d", whole="w", total=count, spec="{}",
            sides=("legacy", "simplified", "jax-legacy", "jax-simplified"),
            environments=(environment,), settings={}, machine="a machine",
            programs=[PlannedText(p.place, 0, p.name, p.model_dump_json()) for p in programs],
        )  # fmt: skip
        tasks = Task(campaign=CampaignSpec(task_size=size)).cut(programs)
        sent = [result(task, rows, environment).model_dump_json() for task in tasks[:5]]
        resident: list[int] = []  # in MiB, from before the first commit

        run = functools.partial(results, sent=sent)
        with opened_plan(path, begin, anew=True) as writer:
            with timed(f"commit {count:,} programs", count):
                run_tasks(
                    writer, tasks, run,
                    on_step=lambda _, seen=resident: seen.append(
                        psutil.Process().memory_info().rss >> 20
                    ),
                )  # fmt: skip
            print(f"resident memory, the most in each tenth: {most_in_tenths(resident)} MiB")
            with timed("finish"):
                writer.finish()
    print(f"the store: {path.stat().st_size / 2 / count / 1000:.1f} kB a program")
    with timed("report on a plan"):
        report = plan_report(path)
    for kind in ("md", "comment", "html", "json"):
        with timed(f"render {kind}"):
            render_report(kind, report)
    with timed("list the runs"):
        runs = list_runs(path)
    with timed("load the programs of two runs, to compare them"):
        for each in runs:
            load_programs(path, each)


def most_in_tenths(numbers: list[int]) -> str:
    """Return the largest number of each tenth of a list, in words."""
    ends = [round(len(numbers) * tenth / 10) for tenth in range(11)]
    parts = [numbers[begin:end] for begin, end in itertools.pairwise(ends)]
    return ", ".join(str(max(part)) for part in parts if part)


def result(task: Task, rows: list[Finished], environment: Environment) -> TaskResult:
    return TaskResult(
        key=task.key, machine="a machine", environment=environment, seconds=1.0,
        processor_seconds=1.0, floor_seconds=1.0,
        programs=tuple(rows[each.place % len(rows)] for each in task.programs),
    )  # fmt: skip


def results(waiting: Iterator[Task], sent: list[str]) -> Iterator[tuple[Task, TaskResult]]:
    """Give results as they come from a machine, each as text that is read."""
    for number, task in enumerate(waiting):
        yield task, placed(TaskResult.model_validate_json(sent[number % len(sent)]), task)


def placed(found: TaskResult, task: Task) -> TaskResult:
    """Return a result whose rows are those of the programs of another task."""
    pairs = zip(found.programs, task.programs, strict=False)
    own = tuple(ran.model_copy(update={"place": each.place}) for ran, each in pairs)
    return found.model_copy(update={"key": task.key, "programs": own})


class timed:
    """Print how long a block takes, and the rate of what it does."""

    def __init__(self, what: str, count: int = 0) -> None:
        self.what, self.count = what, count

    def __enter__(self) -> None:
        self.begun = (time.monotonic(), time.process_time())

    def __exit__(self, *_: object) -> None:
        clock, used = time.monotonic() - self.begun[0], time.process_time() - self.begun[1]
        rate = f", {self.count / clock:,.0f} a second" if self.count else ""
        print(f"{self.what}: {clock:.1f} s, {used:.1f} s of processor{rate}", flush=True)


def measure_scheduler(count: int) -> None:
    from distributed import Client, as_completed

    started = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scheduler.json"
        dask = [sys.executable, "-m"]
        options = ["--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(file)]
        started.append(
            subprocess.Popen([*dask, "distributed.cli.dask_scheduler", "--port", "0", *options])
        )
        for _ in range(2):
            worker = [*dask, "distributed.cli.dask_worker", *options, "--nthreads", "1"]
            started.append(subprocess.Popen(worker))
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(2)
            text = "x" * 20_000
            # A task of 100 programs has some 20 kB, and a result of 1.5 MB.
            for times in (1, 75):
                what = f"{count:,} tasks of the scheduler, {20 * times:,} kB back"
                with timed(what, count):
                    futures = client.map(
                        lambda number, text, times: text * times, range(count), text=text,
                        times=times, pure=False,
                    )  # fmt: skip
                    for future in as_completed(futures):
                        future.result()
                        future.release()
    for each in reversed(started):
        each.terminate()
        each.wait()


if __name__ == "__main__":
    main()
