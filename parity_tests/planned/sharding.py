"""Shards: the programs of a plan dealt to several machines that know nothing of each other."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parity_tests.planned.plan import PlannedProgram

# Groups for each shard, if there are programs enough: small groups balance, large ones are quick.
_GROUPS = 32


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
        parity_tests.planned.sharding.ShardError: '9/8' is no shard; write 3/8 for the third of 8
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
    groups = _groups(programs, size)
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


def _groups(programs: Sequence[PlannedProgram], size: int) -> list[list[PlannedProgram]]:
    groups: list[list[PlannedProgram]] = []
    for each in programs:
        last = groups[-1] if groups else []
        if last and len(last) < size and _kind(last[0]) == _kind(each):
            last.append(each)
        else:
            groups.append([each])
    return groups


def _kind(program: PlannedProgram) -> tuple[str, str]:
    return program.environment, program.corpus
