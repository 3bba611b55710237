"""The tasks of a planned campaign: some programs, all sides, one environment, one machine.

All sides of a program are in one task, since they are compared on the machine that ran them:
outputs of two kinds of processors differ, and times of two machines say nothing. A task for each
side was the alternative; it would also have to ship the arrays of all outputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from parity_tests.campaign.options import CampaignOptions
from parity_tests.planned.plan import PlannedProgram
from parity_tests.planned.spec import CampaignSpec
from parity_tests.processes.protocol import Record
from reports.rows import Environment


class Task(Record):
    """Some programs of a plan, by their places in it; its key is the same whenever it is tried.

    `python` is the interpreter of its environment; None is the one that runs the task. With
    `rounds` its programs are timed, and nothing else is to run on its processors.
    """

    key: str
    campaign: CampaignSpec
    python: Path | None
    programs: tuple[PlannedProgram, ...]
    rounds: int = 0

    @property
    def options(self) -> CampaignOptions:
        """How its programs are run."""
        given, memory = self.campaign, self.campaign.memory_limit
        return CampaignOptions(
            sides=given.sides,
            timeout=given.timeout,
            memory_limit=memory * 2**20 if memory else None,
            rounds=self.rounds,
            steady_calls=given.steady_calls,
            attribute=given.attribute,
            processes=1,
            python=self.python,
        )


class Ran(Record):
    """What became of one program: its row as a line of JSON, or why it has none.

    `differs_from_itself` says what was different when its first side ran twice.
    """

    place: int
    row: str = ""
    missing: str = ""
    differs_from_itself: str = ""
    is_refused: bool = False  # by stock JAX, alike in both modes


class TaskResult(Record):
    """What a task came to, on which machine; seconds are those of the clock and of processors.

    `floor_seconds` are what the sides themselves took to trace, lower and compile.
    """

    key: str
    machine: str
    environment: Environment
    programs: tuple[Ran, ...]
    seconds: float
    processor_seconds: float
    floor_seconds: float


class TaskLost(Record):
    """A task whose process ended without a result, and how."""

    key: str
    why: str


def tasks_of(
    programs: Sequence[PlannedProgram],
    campaign: CampaignSpec,
    python: Path | None,
    *,
    rounds: int = 0,
) -> list[Task]:
    """Cut the programs of one environment into tasks, in their order, each of one corpus.

    Example::

        tasks_of(programs, spec.campaign, None)[0].key
    """
    tasks: list[Task] = []
    waiting: list[PlannedProgram] = []
    for each in programs:
        if waiting and (waiting[0].corpus != each.corpus or len(waiting) == campaign.task_size):
            tasks.append(_task(waiting, campaign, python, rounds))
            waiting = []
        waiting.append(each)
    if waiting:
        tasks.append(_task(waiting, campaign, python, rounds))
    return tasks


def _task(
    programs: Sequence[PlannedProgram], campaign: CampaignSpec, python: Path | None, rounds: int
) -> Task:
    what = [campaign.model_dump_json(), str(python), str(rounds)]
    what += [each.model_dump_json() for each in programs]
    key = hashlib.sha256("\n".join(what).encode()).hexdigest()[:20]
    return Task(key=key, campaign=campaign, python=python, programs=tuple(programs), rounds=rounds)
