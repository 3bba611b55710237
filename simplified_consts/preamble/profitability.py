"""The constant preamble: compute what depends on constants alone once, and pass the results.

XLA computes with inlined constants while it compiles, which may take minutes, and with const args
at every call. Here the equations that depend on constants alone (`constant_search.py`) are taken
out of a program where that is worth it (`choose_results`), and become a program of their own
whose results are const args of the rest. It runs once, compiled, on the device.

A table of work and the sizes decide what is worth it. Nothing is measured, so a release of JAX cuts
the same program at the same place everywhere:

- Some equations stay in the program, where a fusion does them for nothing: those that only relabel
  or repeat elements (broadcasts, reshapes, iotas, conversions), and cheap elementwise ones whose
  result is larger than their operands. Elementwise equations on repeated elements stay, too, since
  XLA computes before it repeats; and so does all that is less work than passing a result.
- A result that the program reads in one transposition alone is passed transposed: since jax 0.11 a
  product may take six times as long to read the other order (CPU). On 0.10.2 it takes as long, and
  the kernel for the transposed order is 40 ms more to compile, so it is passed as it is.
- If little work makes many results from one value (its rows, its elements), the value is passed and
  the program makes the results: each const arg costs time in each call.
- A result has the width that the program reads: a narrow float that is only widened is passed wide.
- The results may take `Limits.extra_bytes` more memory than the arrays that they replace. Beyond
  that, the largest results are dropped, and the values that they are made from are passed instead.
- To save less than `Limits.least_operations` in a call is not worth compiling a second program.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from simplified_consts.preamble.constant_graph import (
    Computed,
    ConstantGraph,
    Known,
    Operation,
    ProgramConstant,
)
from simplified_consts.preamble.operation_cost import CHEAP_ELEMENTWISE, ELEMENTWISE, RELABELLING


@dataclass(frozen=True)
class Limits:
    """What a preamble may cost, and what it must save.

    - `extra_bytes`: bytes that the const args may have more than without a preamble.
    - `least_operations`: scalar operations that a preamble must save in each call.
    - `least_operations_of_a_result`: scalar operations that a result must save to be passed.
    - `most_of_one_value`: most results that are passed if one value makes them with less work.
    - `passes_transposed`: whether a result may be passed in the order in which it is read.
    """

    extra_bytes: int = 2**20
    least_operations: float = 2**20
    least_operations_of_a_result: float = 2**14
    most_of_one_value: int = 8
    passes_transposed: bool = jax.__version_info__ >= (0, 11)


LIMITS = Limits()


def choose_results(
    graph: ConstantGraph, embed_threshold: int, limits: Limits = LIMITS
) -> list[Computed]:
    """Choose the values to compute in a preamble, in their operations' order; none if not worth it.

    Captured arrays of at most `embed_threshold` bytes are embedded in the program and do not count.

    Example::

        choose_results(constant_graph(closed_jaxpr), embed_threshold=32)
    """
    judge = _Judge(graph, embed_threshold, limits)
    judge.demand(graph.demanded)
    judge.pass_common_sources()
    judge.drop_the_largest()
    chosen = {value for values in judge.results.values() for value in values}
    operations = operations_below(chosen)
    if sum(operation.work for operation in operations) < limits.least_operations:
        return []
    return [v for operation in graph.operations for v in operation.outputs if v in chosen]


def operations_below(values: Iterable[Known]) -> set[Operation]:
    """Return the operations that compute values, directly or indirectly."""
    found: set[Operation] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, Computed) and value.operation not in found:
            found.add(value.operation)
            pending.extend(value.operation.inputs)
    return found


class _Judge:
    """Draws the line between a preamble and the rest of the program.

    `results` are the values to pass, by operation; `kept` are the captured arrays that the rest
    still reads.
    """

    def __init__(self, graph: ConstantGraph, embed_threshold: int, limits: Limits) -> None:
        self._embed_threshold = embed_threshold
        self._limits = limits
        self._order = {operation: i for i, operation in enumerate(graph.operations)}
        self._stays = _staying(graph, limits)
        self._expanded: set[Operation] = set()
        self._heap: list[tuple[int, int]] = []
        self._operations = graph.operations
        self.results: dict[Operation, set[Computed]] = {}
        self.kept: set[ProgramConstant] = set()
        self._bytes = 0
        captured = {k for op in operations_below(graph.demanded) for k in op.reads}
        captured |= set(graph.demanded)
        self._bytes_without = sum(self._size(k) for k in captured if isinstance(k, ProgramConstant))

    def _size(self, constant: ProgramConstant) -> int:
        return constant.nbytes if constant.nbytes > self._embed_threshold else 0

    def demand(self, demanded: Sequence[Known]) -> None:
        """Pass values to the rest, or, for operations that stay in it, their operands."""
        pending = list(demanded)
        while pending:
            known = pending.pop()
            if isinstance(known, ProgramConstant):
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

    def pass_common_sources(self) -> None:
        """Pass one value in the place of the many results that little work makes from it.

        A value that is too large is not passed: then the many small results save the work.
        """
        chains_from: dict[Operation, list[list[Operation]]] = {}
        for operation in self.results:
            *chain, root = self._cheap_chain(operation)
            if chain and root not in self._stays:
                chains_from.setdefault(root, []).append(chain)
        for root, chains in chains_from.items():
            size = sum(value.nbytes for value in root.outputs)
            passed = sum(len(self.results[chain[0]]) for chain in chains)
            if passed > self._limits.most_of_one_value and self._bytes + size <= self._most_bytes():
                self._stays.update(*chains)
                for chain in chains:
                    self._drop(chain[0])

    def _cheap_chain(self, operation: Operation) -> list[Operation]:
        """Return an operation and its sources, while each reads one array and adds little work."""
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

    def drop_the_largest(self) -> None:
        """Drop results, the largest first, until the const args are within their limit."""
        while self._bytes > self._most_bytes():
            _, index = heapq.heappop(self._heap)
            operation = self._operations[index]
            if operation in self.results:  # an operation that grew is in the heap several times
                self._drop(operation)

    def _drop(self, operation: Operation) -> None:
        self._bytes -= sum(value.nbytes for value in self.results.pop(operation))
        self._stays.add(operation)
        self._expanded.add(operation)
        self.demand(operation.reads)


def _staying(graph: ConstantGraph, limits: Limits) -> set[Operation]:
    """Return the operations that stay in the program and take their inputs from the preamble.

    The work of a result is the work of the longest chain that leads to it: a sum over all its
    sources would count shared ones many times.
    """
    stays: set[Operation] = set()
    repetitions: dict[Operation, _Repetition] = {}
    chain: dict[Operation, float] = {}
    below: dict[Operation, float] = {}  # bytes that the operation and staying ones before it read
    readers = Counter(known for operation in graph.operations for known in set(operation.reads))
    readers.update(set(graph.demanded))

    def read(known: Known) -> float:
        if isinstance(known, Computed) and known.operation in stays:
            return below[known.operation]
        return known.nbytes

    def transposes_a_result(operation: Operation) -> bool:
        if operation.eqn.primitive.name != "transpose" or not limits.passes_transposed:
            return False
        [known] = operation.inputs
        return isinstance(known, Computed) and known.operation not in stays and readers[known] == 1

    for operation in graph.operations:
        computed = {k.operation for k in operation.inputs if isinstance(k, Computed)}
        chain[operation] = operation.work + max((chain[o] for o in computed), default=0)
        below[operation] = sum(read(known) for known in set(operation.reads))
        made = sum(value.nbytes for value in operation.outputs)
        name = operation.eqn.primitive.name
        if (repetition := _repetition(operation, repetitions)) is not None:
            repetitions[operation] = repetition
        if (
            chain[operation] < limits.least_operations_of_a_result
            or operation in repetitions
            or (
                name in RELABELLING
                and made >= below[operation]
                and not _widens(operation)
                and not transposes_a_result(operation)
            )
            or (name in CHEAP_ELEMENTWISE and made > below[operation])
        ):
            stays.add(operation)
    return stays


def _widens(operation: Operation) -> bool:
    """Say whether an operation converts a computed float to a wider one.

    Where XLA sees both operations, it computes in the wider type from the start: a result passed in
    the narrow type would be rounded, unlike anywhere in the program.
    """
    if operation.eqn.primitive.name != "convert_element_type":
        return False
    [known] = operation.inputs
    if not isinstance(known, Computed):
        return False
    narrow, wide = known.aval.dtype, operation.outputs[0].aval.dtype
    are_floats = all(jnp.issubdtype(dtype, jnp.floating) for dtype in (narrow, wide))
    return bool(are_floats and narrow.itemsize < wide.itemsize)


# The shape of the array that is repeated, and the dimensions of the result that it fills.
_Repetition = tuple[tuple[int, ...], tuple[int, ...]]
_A_NUMBER: _Repetition = (), ()


def _repetition(
    operation: Operation, repetitions: Mapping[Operation, _Repetition]
) -> _Repetition | None:
    """Return how the result of an operation repeats elements; None if it does not.

    `repetitions` has the answers for the operations before. An elementwise operation on numbers and
    one repeated array repeats like this array: XLA computes it before it repeats.
    """
    if not operation.outputs[0].aval.shape:
        return None

    def repetition_of(known: Known) -> _Repetition | None:
        if not _shape(known):
            return _A_NUMBER
        return repetitions.get(known.operation) if isinstance(known, Computed) else None

    name, params = operation.eqn.primitive.name, operation.eqn.params
    if name == "broadcast_in_dim":
        [operand] = operation.inputs
        dimensions = params["broadcast_dimensions"]
        if (inner := repetition_of(operand)) is not None:
            return inner[0], tuple(dimensions[i] for i in inner[1])
        is_repeated = math.prod(_shape(operand)) < math.prod(params["shape"])
        return (_shape(operand), dimensions) if is_repeated else None
    if name in ELEMENTWISE or name == "convert_element_type":
        arrays = [known for known in set(operation.inputs) if repetition_of(known) != _A_NUMBER]
        if len(arrays) <= 1:
            return repetition_of(arrays[0]) if arrays else _A_NUMBER
    return None


def _shape(known: Known) -> tuple[int, ...]:
    return known.aval.shape if isinstance(known, Computed) else np.shape(known.value)
