"""The tasks of a planned campaign: some programs, all sides, one environment, one machine.

All sides of a program are in one task, since they are compared on the machine that ran them:
outputs of two kinds of processors differ, and times of two machines say nothing. A task for each
side was the alternative; it would also have to ship the arrays of all outputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parity_tests.campaign.options import CampaignOptions
from parity_tests.observe.environment import version
from parity_tests.planned.plan import PlannedProgram
from parity_tests.planned.spec import CampaignSpec, EnvironmentSpec
from parity_tests.processes.protocol import Record
from reports.rows import Environment
from reports.store.plan_records import Finished


class Task(Record):
    """Some programs of a plan, by their places in it; its key is the same whenever it is tried.

    `python` is the interpreter of its environment on the machine that planned it; None is
    constparity's own. Another machine makes the `environment`. Targets that are paths are relative
    to the `working_directory`. With `rounds` its programs are timed, and nothing else is to run on
    its processors. `constparity` is the version that planned it.
    """

    key: str
    campaign: CampaignSpec
    python: Path | None
    programs: tuple[PlannedProgram, ...]
    rounds: int = 0
    environment: EnvironmentSpec = EnvironmentSpec()
    working_directory: str = ""
    constparity: str = ""
    jax: str = ""
    jaxlib: str = ""

    def with_key(self) -> Task:
        """Return the task with its key, which is the same on every machine."""
        same = {"key": "", "python": None, "working_directory": ""}
        text = self.model_copy(update=same).model_dump_json()
        return self.model_copy(update={"key": hashlib.sha256(text.encode()).hexdigest()[:20]})

    @property
    def options(self) -> CampaignOptions:
        """How its programs are run."""
        how = {"rounds": self.rounds, "processes": 1}
        return options_of(self.campaign, self.python).model_copy(update=how)


def options_of(campaign: CampaignSpec, python: Path | None) -> CampaignOptions:
    """Return how the programs of a campaign run in an interpreter; None is constparity's own.

    Example::

        options_of(spec.campaign, None).timeout == 120.0
    """
    memory = campaign.memory_limit
    return CampaignOptions(
        sides=campaign.sides,
        timeout=campaign.timeout,
        memory_limit=memory * 2**20 if memory else None,
        steady_calls=campaign.steady_calls,
        attribute=campaign.attribute,
        flips=campaign.flips,
        run_again=campaign.run_again,
        python=python,
    )


class TaskResult(Record):
    """What a task came to, on which machine; seconds are those of the clock and of processors.

    `floor_seconds` are what of the latter JAX took to trace, lower and compile: programs on their
    sides, and again where they differ and a cause is looked for.
    """

    key: str
    machine: str
    environment: Environment
    programs: tuple[Finished, ...]
    seconds: float
    processor_seconds: float
    floor_seconds: float


class TaskLost(Record):
    """A task that ended without a result, and how.

    `unfit_worker` is the worker of a cluster that cannot run any task, as one whose disk is full:
    the task is not to blame.
    """

    key: str
    why: str
    unfit_worker: str = ""


@dataclass(frozen=True)
class Cutter:
    """Cuts the programs of one environment into tasks that are alike but for their programs."""

    campaign: CampaignSpec
    python: Path | None = None
    environment: EnvironmentSpec = field(default_factory=EnvironmentSpec)
    working_directory: str = ""
    rounds: int = 0
    jax: str = ""
    jaxlib: str = ""

    def tasks(self, programs: Sequence[PlannedProgram]) -> list[Task]:
        """Cut programs, in their order; a task has programs of one corpus.

        Example::

            Cutter(spec.campaign).tasks(programs)[0].key
        """
        groups: list[list[PlannedProgram]] = []
        for each in programs:
            last = groups[-1] if groups else []
            is_like_it = bool(last) and last[0].corpus == each.corpus
            if is_like_it and len(last) < self.campaign.size_of_task(len(groups) - 1):
                last.append(each)
            else:
                groups.append([each])
        return [self._task(group) for group in groups]

    def _task(self, programs: Sequence[PlannedProgram]) -> Task:
        return Task(
            key="",
            campaign=self.campaign,
            python=self.python,
            programs=tuple(programs),
            rounds=self.rounds,
            environment=self.environment,
            working_directory=self.working_directory,
            constparity=version(),
            jax=self.jax,
            jaxlib=self.jaxlib,
        ).with_key()


def halves(task: Task) -> list[Task]:
    """Cut a task in two, where it has several programs.

    Example::

        [len(each.programs) for each in halves(task)] == [50, 50]
    """
    middle = -(-len(task.programs) // 2)
    parts = (task.programs[:middle], task.programs[middle:])
    return [task.model_copy(update={"programs": part}).with_key() for part in parts if part]
