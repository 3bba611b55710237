"""The constant preamble: what depends on constants alone is computed once, and passed.

XLA computes with inlined constants while it compiles, which may take minutes, and with const args
at every call. Here the equations that depend on constants alone (`constant_graph.py`) are taken
out of a program where that is worth it (`choose_results`), and become a program of their own
whose results are const args of the rest. It runs once, compiled, on the device.

What is worth it is judged by a table of work and by sizes, and by nothing that is measured, so the
same program is cut at the same place everywhere:

- Equations that only relabel or repeat elements (broadcasts, reshapes, iotas, conversions), and
  cheap elementwise ones whose result is larger than what they read, stay in the program, where a
  fusion does them for nothing. So do elementwise ones of what is repeated, for XLA does them before
  it repeats, and what is less work than passing a result.
- Where many results are made of one value with little work (its rows, its elements), that value is
  passed and they are made in the program: each const arg is a cost of each call.
- A result is as wide as the program reads it: a narrow float that is only widened is passed wide.
- The results may not take more memory than the arrays that they replace and `Limits.extra_bytes`.
  Where they would, the largest ones are given up for what they are made of, until they do not.
- Less than `Limits.least_operations` in a call is not worth compiling a second program.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from simplified_consts.preamble.constant_graph import (
    Captured,
    Computed,
    ConstantGraph,
    Known,
    Operation,
)
from simplified_consts.preamble.operation_cost import CHEAP_ELEMENTWISE, ELEMENTWISE, RELABELLING


@dataclass(frozen=True)
class Limits:
    """What a preamble may cost, and what it must save.

    - `extra_bytes`: how much larger the const args may be than without a preamble, in bytes.
    - `least_operations`: scalar operations that it must save in each call.
    - `least_operations_of_a_result`: those without which a result is not worth being passed.
    - `most_of_one_value`: how many results may be made of one value with less work than that.
    """

    extra_bytes: int = 2**20
    least_operations: float = 2**20
    least_operations_of_a_result: float = 2**14
    most_of_one_value: int = 8


LIMITS = Limits()


def choose_results(graph: ConstantGraph, max_bytes: int, limits: Limits = LIMITS) -> list[Computed]:
    """The values to compute in a preamble, in the order of their operations; none if not worth it.

    Captured arrays of at most `max_bytes` are embedded in the program and count as nothing.
    """
    judge = _Judge(graph, max_bytes, limits)
    judge.settle(graph.demanded)
    judge.gather()
    judge.give_up_the_largest()
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
        self._limits = limits
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

    def gather(self) -> None:
        """Pass a value that many results are made of with little work, in the place of those.

        Unless it is too large for that: then many small ones are what saves the work.
        """
        made_of: dict[Operation, list[list[Operation]]] = {}
        for operation in self.results:
            *chain, root = self._made_with_little_work(operation)
            if chain and root not in self._stays:
                made_of.setdefault(root, []).append(chain)
        for root, chains in made_of.items():
            size = sum(value.nbytes for value in root.outputs)
            passed = sum(len(self.results[chain[0]]) for chain in chains)
            if passed > self._limits.most_of_one_value and self._bytes + size <= self._most_bytes():
                self._stays.update(*chains)
                for chain in chains:
                    self._give_up(chain[0])

    def _made_with_little_work(self, operation: Operation) -> list[Operation]:
        """An operation, and what it is made of with little work in all: each of one array alone."""
        chain, work = [operation], operation.work
        while work < self._limits.least_operations_of_a_result:
            arrays = {known for known in chain[-1].reads if _shape(known)}
            read = {known.operation for known in arrays if isinstance(known, Computed)}
            if len(arrays) != 1 or len(read) != 1:
                break
            chain += read
            work += chain[-1].work
        return chain

    def _most_bytes(self) -> int:
        return self._bytes_without + self._limits.extra_bytes

    def give_up_the_largest(self) -> None:
        """Give results up, the largest first, until const args are within their limit."""
        while self._bytes > self._most_bytes():
            _, index = heapq.heappop(self._heap)
            operation = self._operations[index]
            if operation in self.results:  # it is not where it has grown, and was met before
                self._give_up(operation)

    def _give_up(self, operation: Operation) -> None:
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
    repeated: dict[Operation, _Repeated] = {}
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
        if (of := _repeated(operation, repeated)) is not None:
            repeated[operation] = of
        if (
            chain[operation] < least
            or operation in repeated
            or (name in RELABELLING and made >= below[operation] and not _widens(operation))
            or (name in CHEAP_ELEMENTWISE and made > below[operation])
        ):
            stays.add(operation)
    return stays


def _widens(operation: Operation) -> bool:
    """Whether an operation converts a computed float to a wider one.

    XLA computes such a value in the wider type to begin with, where it sees both: a result in the
    narrow type would be rounded as it is nowhere in the program.
    """
    if operation.eqn.primitive.name != "convert_element_type":
        return False
    [known] = operation.inputs
    if not isinstance(known, Computed):
        return False
    narrow, wide = known.aval.dtype, operation.outputs[0].aval.dtype
    of_floats = all(jnp.issubdtype(dtype, jnp.floating) for dtype in (narrow, wide))
    return bool(of_floats and narrow.itemsize < wide.itemsize)


# The shape of what is repeated, and which dimensions of the result are its own.
_Repeated = tuple[tuple[int, ...], tuple[int, ...]]
_A_NUMBER: _Repeated = (), ()


def _repeated(operation: Operation, repeated: Mapping[Operation, _Repeated]) -> _Repeated | None:
    """What the result of an operation repeats; None where its elements are all its own.

    `repeated` has those of the operations before. What is elementwise of one array that is
    repeated, and of numbers, is repeated as that is: XLA computes it before it repeats.
    """
    if not operation.outputs[0].aval.shape:
        return None

    def of(known: Known) -> _Repeated | None:
        if not _shape(known):
            return _A_NUMBER
        return repeated.get(known.operation) if isinstance(known, Computed) else None

    name, params = operation.eqn.primitive.name, operation.eqn.params
    if name == "broadcast_in_dim":
        [operand] = operation.inputs
        dimensions = params["broadcast_dimensions"]
        if (inner := of(operand)) is not None:
            return inner[0], tuple(dimensions[i] for i in inner[1])
        is_repeated = math.prod(_shape(operand)) < math.prod(params["shape"])
        return (_shape(operand), dimensions) if is_repeated else None
    if name in ELEMENTWISE or name == "convert_element_type":
        arrays = [known for known in set(operation.inputs) if of(known) != _A_NUMBER]
        if len(arrays) <= 1:
            return of(arrays[0]) if arrays else _A_NUMBER
    return None


def _shape(known: Known) -> tuple[int, ...]:
    return known.aval.shape if isinstance(known, Computed) else np.shape(known.value)
