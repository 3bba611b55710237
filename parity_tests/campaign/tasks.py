"""The tasks of a planned campaign: some programs, all sides, one environment, one machine.

All sides of a program are in one task, since they are compared on the machine that ran them:
outputs of two kinds of processors differ, and times of two machines say nothing. A task for each
side was the alternative; it would also have to ship the arrays of all outputs.

Shards are the programs of a plan dealt to several machines that know nothing of each other.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from parity_tests.campaign.plan import PlannedProgram
from parity_tests.campaign.spec import CampaignSpec, EnvironmentSpec
from parity_tests.observe.environment import version
from parity_tests.run.options import CampaignOptions
from reports.rows import Environment, Row
from reports.store.plan_records import Finished

# Groups for each shard, if there are programs enough: small groups balance, large ones are quick.
_GROUPS = 32


class Task(Row):
    """Some programs of a plan, by their places in it; its key is the same whenever it is tried.

    `python` is the interpreter of its environment on the machine that planned it; None is
    constparity's own. Another machine makes the `environment`. Targets that are paths are relative
    to the `working_directory`. With `rounds` its programs are timed, and nothing else is to run on
    its processors. `constparity` is the version that planned it.
    """

    key: str = ""
    campaign: CampaignSpec
    python: Path | None = None
    programs: tuple[PlannedProgram, ...] = ()
    rounds: int = 0
    environment: EnvironmentSpec = EnvironmentSpec()
    working_directory: str = ""
    constparity: str = Field(default_factory=version)
    jax: str = ""
    jaxlib: str = ""

    def cut(self, programs: Sequence[PlannedProgram]) -> list[Task]:
        """Cut programs, in their order, into tasks like this one; each has programs of one corpus.

        Example::

            Task(campaign=spec.campaign).cut(programs)[0].key
        """
        return [self._of(each) for each in _groups(programs, self.campaign.size_of_task)]

    def halves(self) -> list[Task]:
        """Cut the task in two, where it has several programs.

        Example::

            [len(each.programs) for each in task.halves()] == [50, 50]
        """
        middle = -(-len(self.programs) // 2)
        parts = (self.programs[:middle], self.programs[middle:])
        return [self._of(part) for part in parts if part]

    def _of(self, programs: Sequence[PlannedProgram]) -> Task:
        return self.model_copy(update={"programs": tuple(programs)}).with_key()

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


class TaskResult(Row):
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


class TaskLost(Row):
    """A task that ended without a result, and how.

    `unfit_worker` is the worker of a cluster that cannot run any task, as one whose disk is full:
    the task is not to blame.
    """

    key: str
    why: str
    unfit_worker: str = ""


def _groups(
    programs: Sequence[PlannedProgram], size_of: Callable[[int], int]
) -> list[list[PlannedProgram]]:
    """Cut programs of one corpus and environment into groups, each of a size by its number."""
    groups: list[list[PlannedProgram]] = []
    for each in programs:
        last = groups[-1] if groups else []
        if last and len(last) < size_of(len(groups) - 1) and _kind(last[0]) == _kind(each):
            last.append(each)
        else:
            groups.append([each])
    return groups


def _kind(program: PlannedProgram) -> tuple[str, str]:
    return program.environment, program.corpus


# -- shards ----------------------------------------------------------------------------------------


class ShardError(ValueError):
    """A shard is named wrongly; the message says how one is written."""


@dataclass(frozen=True)
class Shard:
    """One of several shards, counted from 1."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def read_shard(text: str) -> Shard:
    """Read a shard. Raises `ShardError`.

    Example::

        >>> read_shard("3/8")
        Shard(number=3, of=8)
        >>> read_shard("9/8")
        Traceback (most recent call last):
        ...
        parity_tests.campaign.tasks.ShardError: '9/8' is no shard; write 3/8 for the third of 8
    """
    number, slash, of = text.partition("/")
    if slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
        return Shard(int(number), int(of))
    raise ShardError(f"{text!r} is no shard; write 3/8 for the third of 8")


def programs_of_shard(
    programs: Sequence[PlannedProgram], task_size: int, shard: Shard, seconds: Mapping[str, float]
) -> list[PlannedProgram]:
    """Return the programs of a shard: all shards together have each program once.

    Neighbours stay together, since they share modules. `seconds` are by name, of an earlier
    campaign; a program that is not in it counts as the mean of those that are.

    Example::

        programs_of_shard(programs, 100, Shard(3, 8), {})
    """
    size = max(1, min(task_size, len(programs) // (_GROUPS * shard.of)))
    mean = sum(seconds.values()) / len(seconds) if seconds else 1.0
    groups = _groups(programs, lambda number: size)
    costs = [sum(seconds.get(each.name, mean) for each in group) for group in groups]
    # The longest first, each to the shard that has least so far.
    order = sorted(range(len(groups)), key=lambda place: (-costs[place], place))
    loads = [(0.0, number) for number in range(1, shard.of + 1)]
    own = set()
    for place in order:
        load, number = heapq.heappop(loads)
        heapq.heappush(loads, (load + costs[place], number))
        if number == shard.number:
            own.add(place)
    return [each for place, group in enumerate(groups) if place in own for each in group]
