"""What of a module's records its results and effects need; the rest is never numbered."""

from __future__ import annotations

from dataclasses import dataclass

from parity_tests.proof.operations import BRANCHES, CALL, WHILE
from parity_tests.proof.reading import Block, Module, Operation, Value

Demand = tuple[bool, ...]  # for each result, whether somebody needs it


@dataclass(slots=True, eq=False)
class LiveBlock:
    """The live operations of a block for a demand, and the values that it needs.

    Among these are the block's own arguments.
    """

    block: Block
    operations: tuple[LiveOperation, ...]
    demand: Demand
    needs: frozenset[Value]

    @property
    def returned(self) -> tuple[Value, ...]:
        """The values that are returned and needed."""
        pairs = zip(self.block.returned, self.demand, strict=True)
        return tuple(value for value, is_needed in pairs if is_needed)


@dataclass(slots=True, eq=False)
class LiveOperation:
    """An operation, which of its results are needed, and its live regions.

    Of a loop, `demand` says which carried values are live. `regions` of a call is the block of the
    function.
    """

    operation: Operation
    demand: Demand
    regions: tuple[LiveBlock, ...]
    needs: frozenset[Value]


class Liveness:
    """Finds what is live in the functions of a module; each block once for each demand."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._blocks: dict[tuple[int, Demand], LiveBlock] = {}
        self._effects: dict[int, bool] = {}

    def block(self, block: Block, demand: Demand | None = None) -> LiveBlock:
        """Return what is live in a block; without a demand, all that it returns is needed."""
        demand = (True,) * len(block.returned) if demand is None else demand
        key = id(block), demand
        if key not in self._blocks:
            self._blocks[key] = self._live(block, demand)
        return self._blocks[key]

    def has_effects(self, block: Block) -> bool:
        """Say whether a block, or what it calls, has effects."""
        if id(block) not in self._effects:
            self._effects[id(block)] = any(map(self._has_effect, block.operations))
        return self._effects[id(block)]

    def _has_effect(self, operation: Operation) -> bool:
        called = (self._module.functions[name].block for name in operation.callees)
        return operation.has_effect or any(map(self.has_effects, (*operation.regions, *called)))

    def _live(self, block: Block, demand: Demand) -> LiveBlock:
        needs = {value for value, needed in zip(block.returned, demand, strict=True) if needed}
        operations = []
        for operation in reversed(block.operations):
            used = tuple(result in needs for result in operation.results)
            if any(used) or self._has_effect(operation):
                live = self._operation(operation, used)
                operations.append(live)
                needs |= live.needs
        return LiveBlock(block, tuple(reversed(operations)), demand, frozenset(needs))

    def _operation(self, operation: Operation, used: Demand) -> LiveOperation:
        if operation.name == WHILE:
            return self._loop(operation, used)
        if operation.name == CALL:
            [callee] = operation.callees
            body = self.block(self._module.functions[callee].block, used)
            operands = zip(operation.operands, body.block.arguments, strict=True)
            needs = frozenset(operand for operand, taken in operands if taken in body.needs)
            return LiveOperation(operation, used, (body,), needs)
        if not operation.regions:
            return LiveOperation(operation, used, (), frozenset(operation.operands))
        demand = used if operation.name in BRANCHES else None
        regions = tuple(self.block(region, demand) for region in operation.regions)
        return LiveOperation(
            operation, used, regions, frozenset(operation.operands).union(*map(_captured, regions))
        )

    def _loop(self, operation: Operation, used: Demand) -> LiveOperation:
        """Close the demand of a loop: a carried value is live if a live one is made of it."""
        condition = self.block(operation.regions[0])
        while True:
            body = self.block(operation.regions[1], used)
            taken = zip(used, condition.block.arguments, body.block.arguments, strict=True)
            closed = tuple(
                is_used or first in condition.needs or second in body.needs
                for is_used, first, second in taken
            )
            if closed == used:
                break
            used = closed
        start = (value for value, is_live in zip(operation.operands, used, strict=True) if is_live)
        needs = frozenset(start) | _captured(condition) | _captured(body)
        return LiveOperation(operation, used, (condition, body), needs)


def _captured(block: LiveBlock) -> frozenset[Value]:
    return block.needs - frozenset(block.block.arguments)
