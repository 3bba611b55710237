"""What results and effects need, of a module's records or of a jaxpr; the rest has no number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from parity_tests.jaxpr.bodies import HAVE_BODIES, bodies_of, folded
from parity_tests.proof.operations import BRANCHES, CALL, WHILE
from parity_tests.proof.reading import Block, Module, Operation, Value

Used: TypeAlias = tuple[bool, ...]  # for each result, whether somebody needs it


@dataclass(slots=True, eq=False)
class LiveBlock:
    """The live operations of a block for a demand, and the values that it needs.

    Among these are the block's own arguments.
    """

    block: Block
    operations: tuple[LiveOperation, ...]
    demand: Used
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
    demand: Used
    regions: tuple[LiveBlock, ...]
    needs: frozenset[Value]


class Liveness:
    """Finds what is live in the functions of a module; each block once for each demand."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._blocks: dict[tuple[int, Used], LiveBlock] = {}
        self._effects: dict[int, bool] = {}

    def block(self, block: Block, demand: Used | None = None) -> LiveBlock:
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

    def _live(self, block: Block, demand: Used) -> LiveBlock:
        needs = {value for value, needed in zip(block.returned, demand, strict=True) if needed}
        operations = []
        for operation in reversed(block.operations):
            used = tuple(result in needs for result in operation.results)
            if any(used) or self._has_effect(operation):
                live = self._operation(operation, used)
                operations.append(live)
                needs |= live.needs
        return LiveBlock(block, tuple(reversed(operations)), demand, frozenset(needs))

    def _operation(self, operation: Operation, used: Used) -> LiveOperation:
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

    def _loop(self, operation: Operation, used: Used) -> LiveOperation:
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


# -- of a jaxpr ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Live:
    """The equations that are needed, with which of their results are used, and the inputs."""

    equations: tuple[tuple[Any, Used], ...]
    inputs: Used


def live(jaxpr: Any, used: Used) -> Live:
    """Return what of a jaxpr is needed for the outputs that are used, and for its effects.

    Example::

        live(jaxpr, (True, False)).inputs == (True, True, False)
    """
    needed = {id(atom) for atom, is_used in zip(jaxpr.outvars, used, strict=True) if is_used}
    kept = []
    for equation in reversed(jaxpr.eqns):
        outs = tuple([id(var) in needed for var in equation.outvars])
        if True in outs or is_effectful(equation):
            kept.append((equation, outs))
            needed.update(map(id, equation.invars))
    return Live(tuple(reversed(kept)), tuple([id(var) in needed for var in jaxpr.invars]))


# Each time another result, of a state or a reference of their own, and JAX calls them pure.
_STATEFUL = frozenset({"get_global", "prng_random_bits", "rng_uniform", "semaphore_read"})
# Bodies with effects on references, which nothing around them enters: kernels of Pallas, what
# allocates references in one, and what makes references of arrays.
STAND_ALONE = frozenset({"pallas_call", "mpmd_map", "run_scoped", "run_state"})
_MAY_ACT = STAND_ALONE | HAVE_BODIES | _STATEFUL | {"random_bits"}
# JAX does not tell these of a kernel that is interpreted.
_CALLS_PYTHON = frozenset({"DebugEffect", "OrderedDebugEffect", "IOEffect", "OrderedIOEffect"})


def is_effectful(equation: Any) -> bool:
    """Say whether an equation does more than compute; to name an axis is no effect."""
    effects = equation.effects  # mostly none
    if effects and any(type(each).__name__ != "NamedAxisEffect" for each in effects):
        return True
    return equation.primitive.name in _MAY_ACT and _acts(equation)


def _acts(equation: Any, acts_in: Callable[[Any], bool] | None = None) -> bool:
    """Say whether an equation, or one in its bodies, does what JAX does not tell as its effect."""
    name = equation.primitive.name
    if name in STAND_ALONE and _has_side_effects(equation.params.get("compiler_params")):
        return True
    if name in STAND_ALONE or name in HAVE_BODIES:
        acts_in = acts_in or (lambda body: folded(body, _acts_in))
        return any(acts_in(each.jaxpr) for each in bodies_of(equation))
    if name == "random_bits":  # of the generator of a chip, which is seeded or goes on by it
        return str(equation.invars[0].aval.dtype) in ("key<pl>", "key<_pl_stateful>")
    return name in _STATEFUL


def _acts_in(jaxpr: Any, acts_in: Callable[[Any], bool]) -> bool:
    calls_python = any(type(effect).__name__ in _CALLS_PYTHON for effect in jaxpr.effects)
    may_act = (each for each in jaxpr.eqns if each.primitive.name in _MAY_ACT)
    return calls_python or any(_acts(each, acts_in) for each in may_act)


def _has_side_effects(compiler_params: Any) -> bool:
    """Say whether a kernel is to be kept as it is: by True, or by a kind of side effects."""
    asked = getattr(compiler_params, "has_side_effects", False)
    return bool(getattr(asked, "name", asked) not in (False, "PURE"))


def live_in_loop(live_of: Callable[[Used], Live], consts: int, carry: int, used: Used) -> Used:
    """Return which outputs of the body of a loop are needed in some turn.

    `used` says which results are used after the loop; `consts` inputs of the body come before the
    carry.
    """
    while True:
        inputs = live_of(used).inputs[consts : consts + carry]
        needed = (*(a or b for a, b in zip(used, inputs, strict=False)), *used[carry:])
        if needed == used:
            return used
        used = needed
