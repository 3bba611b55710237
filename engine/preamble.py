"""The constant preamble: what depends on constants alone is computed once, and passed.

XLA computes with inlined constants while it compiles, which may take minutes, and with const args
at every call. Here the equations that depend on constants alone (`engine/constant_graph.py`) are
taken out of a program where that is worth it (`choose_results`), and become a program of their own
whose results are const args of the rest. It runs once, compiled, on the device.

What is worth it is judged by a table of work and by sizes, and by nothing that is measured, so the
same program is cut at the same place everywhere:

- Equations that only relabel or repeat elements (broadcasts, reshapes, iotas, conversions), and
  cheap elementwise ones whose result is larger than what they read, stay in the program, where a
  fusion does them for nothing. So does what is less work than passing a result.
- The results may not take more memory than the arrays that they replace and `Limits.extra_bytes`.
  Where they would, the largest ones are given up for what they are made of, until they do not.
- Less than `Limits.least_operations` in a call is not worth compiling a second program.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.constant_graph import Captured, Computed, ConstantGraph, Known, Operation
from engine.operation_work import CHEAP_ELEMENTWISE, RELABELLING


@dataclass(frozen=True)
class Limits:
    """What a preamble may cost, and what it must save.

    - `extra_bytes`: how much larger the const args may be than without a preamble, in bytes.
    - `least_operations`: scalar operations that it must save in each call.
    - `least_operations_of_a_result`: those without which a result is not worth being passed.
    """

    extra_bytes: int = 2**20
    least_operations: float = 2**20
    least_operations_of_a_result: float = 2**14


LIMITS = Limits()


def choose_results(graph: ConstantGraph, max_bytes: int, limits: Limits = LIMITS) -> list[Computed]:
    """The values to compute in a preamble, in the order of their operations; none if not worth it.

    Captured arrays of at most `max_bytes` are embedded in the program and count as nothing.
    """
    judge = _Judge(graph, max_bytes, limits)
    judge.settle(graph.demanded)
    judge.give_up_the_largest(limits.extra_bytes)
    chosen = {value for values in judge.results.values() for value in values}
    operations = operations_below(chosen)
    if sum(operation.work for operation in operations) < limits.least_operations:
        return []
    return [v for operation in graph.operations for v in operation.outputs if v in chosen]


def operations_below(values: Iterable[Known]) -> set[Operation]:
    """The operations that it takes to compute values."""
    found: set[Operation] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, Computed) and value.operation not in found:
            found.add(value.operation)
            pending.extend(value.operation.inputs)
    return found


class _Judge:
    """Where the line runs between a preamble and the rest.

    `results` are the values that are to be passed, by operation; `kept` the captured arrays that
    the rest goes on reading.
    """

    def __init__(self, graph: ConstantGraph, max_bytes: int, limits: Limits) -> None:
        self._max_bytes = max_bytes
        self._order = {operation: i for i, operation in enumerate(graph.operations)}
        self._stays = _staying(graph.operations, limits.least_operations_of_a_result)
        self._expanded: set[Operation] = set()
        self._heap: list[tuple[int, int]] = []
        self._operations = graph.operations
        self.results: dict[Operation, set[Computed]] = {}
        self.kept: set[Captured] = set()
        self._bytes = 0
        captured = {k for op in operations_below(graph.demanded) for k in op.reads}
        captured |= set(graph.demanded)
        self._bytes_without = sum(self._size(k) for k in captured if isinstance(k, Captured))

    def _size(self, constant: Captured) -> int:
        return constant.nbytes if constant.nbytes > self._max_bytes else 0

    def settle(self, demanded: Sequence[Known]) -> None:
        """Let the rest of the program read values, or what those that stay in it are made of."""
        pending = list(demanded)
        while pending:
            known = pending.pop()
            if isinstance(known, Captured):
                if known not in self.kept:
                    self.kept.add(known)
                    self._bytes += self._size(known)
            elif known.operation in self._stays:
                if known.operation not in self._expanded:
                    self._expanded.add(known.operation)
                    pending.extend(known.operation.reads)
            elif known not in (passed := self.results.setdefault(known.operation, set())):
                passed.add(known)
                self._bytes += known.nbytes
                self._push(known.operation)

    def _push(self, operation: Operation) -> None:
        size = sum(value.nbytes for value in self.results[operation])
        heapq.heappush(self._heap, (-size, self._order[operation]))

    def give_up_the_largest(self, extra_bytes: int) -> None:
        """Give results up, the largest first, until const args have grown by `extra_bytes`."""
        while self._bytes > self._bytes_without + extra_bytes:
            _, index = heapq.heappop(self._heap)
            operation = self._operations[index]
            if operation in self.results:  # it is not where it has grown, and was met before
                self._bytes -= sum(value.nbytes for value in self.results.pop(operation))
                self._stays.add(operation)
                self._expanded.add(operation)
                self.settle(operation.reads)


def _staying(operations: Sequence[Operation], least: float) -> set[Operation]:
    """The operations that are done where they are, given their inputs.

    The work that a result stands for is that of the longest chain below it: a sum over all that is
    below would count what several operations share again and again.
    """
    stays: set[Operation] = set()
    chain: dict[Operation, float] = {}
    below: dict[Operation, float] = {}  # bytes that the operation reads, seen through those before

    def read(known: Known) -> float:
        if isinstance(known, Computed) and known.operation in stays:
            return below[known.operation]
        return known.nbytes

    for operation in operations:
        computed = {k.operation for k in operation.inputs if isinstance(k, Computed)}
        chain[operation] = operation.work + max((chain[o] for o in computed), default=0)
        below[operation] = sum(read(known) for known in set(operation.reads))
        made = sum(value.nbytes for value in operation.outputs)
        name = operation.eqn.primitive.name
        if (
            chain[operation] < least
            or (name in RELABELLING and made >= below[operation])
            or (name in CHEAP_ELEMENTWISE and made > below[operation])
        ):
            stays.add(operation)
    return stays
