"""Run the tasks of a plan somewhere, and write what they come to as it comes."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from parity_tests.campaign.plan import PlannedProgram
from parity_tests.campaign.tasks import Task, TaskLost, TaskResult
from reports.rows import Environment
from reports.rows.plan import State
from reports.store.plan_records import TaskEnd
from reports.store.plans import PlanWriter

Outcome = tuple[Task, TaskResult | TaskLost]


class Runner(Protocol):
    """Runs tasks as they come, some at once, and gives each as it ends.

    A runner owes this:

    - Each task that it takes it gives once, with its result or with why it was lost. It raises what
      is no fault of the task: a folder that is full, or a scheduler that stays away.
    - It takes a task that it gave as lost once more, with the same key.
    - On this machine a task writes to the folder of its key. What the task finished there before
      the campaign was stopped is not run again. A worker of a cluster runs the task anew.
    - It leaves that folder there: `campaign` removes it, once the outcome is in the store.
    - Where its iterator is closed, it ends the tasks in hand.
    """

    def __call__(self, tasks: Iterator[Task]) -> Iterator[Outcome]:
        """Run tasks, and give each as it ends."""


class MakesRunner(Protocol):
    """Makes a runner for the tasks of a campaign, whose number is unique in its store."""

    def __call__(self, folder: Path, campaign: str, *, alone: bool) -> Runner:
        """Return a runner whose tasks write to `folder` where they run on this machine.

        With `alone` each machine has one task at a time, as for tasks that take times.
        """


@dataclass
class Tally:
    """How far a campaign has come: programs in this session, and by state."""

    total: int
    done: int = 0
    states: Counter[State] = field(default_factory=Counter)
    tasks_lost: int = 0


def run_tasks(
    writer: PlanWriter,
    tasks: Sequence[Task],
    run: Runner,
    *,
    on_step: Callable[[Tally], object] = lambda tally: None,
) -> Tally:
    """Run tasks and commit each when it ends; a task that is lost is tried again.

    A task of several programs that was lost is divided the next time, so that a program which ends
    its process is told from those beside it. Raises `StoreError`, after which nothing is lost but
    the tasks in hand.

    Example::

        run_tasks(writer, tasks, partial(run_here, folder=folder, jobs=2)).states["breaks"]
    """
    waiting = deque(tasks)
    tally = Tally(sum(len(each.programs) for each in tasks))
    tried: Counter[int] = Counter()  # by the place of a program

    def given() -> Iterator[Task]:
        while waiting:
            yield waiting.popleft()

    if waiting:
        on_step(tally)
    while waiting:
        for task, outcome in run(given()):
            if isinstance(outcome, TaskResult):
                states = writer.commit(_end(outcome), outcome.programs, is_timed=bool(task.rounds))
                tally.done += len(task.programs)
                tally.states.update(states)
            else:
                again = _after_loss(writer, task, outcome, tried)
                waiting.extend(again)
                tally.tasks_lost += 1
                if not again:
                    tally.done += len(task.programs)
                    tally.states["lost"] += len(task.programs)
            on_step(tally)
    return tally


def _after_loss(writer: PlanWriter, task: Task, lost: TaskLost, tried: Counter[int]) -> list[Task]:
    """Write that a task was lost; return the tasks that try its programs again."""
    places = [each.place for each in task.programs]
    tried.update(places)
    is_last = len(places) == 1 and tried[places[0]] >= task.campaign.attempts
    writer.lose(TaskEnd(task.key, lost=lost.why), places, for_good=is_last and not task.rounds)
    return [] if is_last else task.halves()


def _end(result: TaskResult) -> TaskEnd:
    return TaskEnd(
        key=result.key,
        machine=result.machine,
        versions=versions_of(result.environment),
        seconds=result.seconds,
        processor_seconds=result.processor_seconds,
        floor_seconds=result.floor_seconds,
    )


def versions_of(environment: Environment) -> str:
    """Name what a task measured with, for machines of a cluster may differ.

    Example::

        versions_of(environment) == "python 3.12.4, jax 0.12.0.1, jaxlib 0.12.0, numpy 2.4.0"
    """
    each = environment
    return f"python {each.python}, jax {each.jax}, jaxlib {each.jaxlib}, numpy {each.numpy}"


def programs_of(texts: Sequence[str]) -> list[PlannedProgram]:
    """Read planned programs from what a store has of them."""
    return [PlannedProgram.model_validate_json(each) for each in texts]
