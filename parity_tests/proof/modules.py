"""Value numbering of StableHLO modules.

Each value has a number that says how it is computed from the program's arguments. These count as
one: a call and the body in its place, an array passed as a const arg and one written as a constant,
carried values of a loop in any order, and programs that differ in what nobody needs. Written apart
from the numbering of jaxprs: the two check each other.

**Loops.** A carried value stands for a symbol, made of its initial number and of how many regions
are around it. `symbol = number(symbol, number of what the body returns for it)` is repeated until
no class of equal symbols splits. The symbols of a round determine those of the round before, and at
the end no class splits, so that loops with equal sets of symbols do the same in each turn: they are
bisimilar. A carried value that never changes stands for its initial number.

**Branches.** A result is the choice, by the index, among what each branch returns for it; where all
return the same, it is that, as where both operands of a selection are the same. Within branch k, an
earlier choice by the same index is its k-th value.

**Repeated values.** vmap repeats an array along a new axis in one form alone. So what is computed
element by element from repeated values, or reduced along axes of their own, is what is computed
before, repeated (`repeated.py`).

**Devices.** What a `shard_map` passes to each device is a part of an operand, wherever this stands
among the operands and however often; JAX passes a captured array once for each use. One that is not
divided is itself.

**Calls.** All calls are expanded where that makes at most `_GROWTH` times the operations that are
written, or `_SMALL` operations; otherwise none is. A call that is not expanded has the numbers of
its body, with the operands that are arrays known by content bound, and symbols by position for the
others. A program near the bound is numbered in both ways (`Numbered.by_calls`), because its other
form may be on the other side of it.

**Effects.** Operations with effects are in a list, in order; what they return has the number of
their place in it. Bodies of loops and branches have lists of their own. Kinds of ordered effects
have a token each, and JAX passes and returns these in the order of a set: it is none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from parity_tests.proof.attributes import passed_content
from parity_tests.proof.contents import Content
from parity_tests.proof.liveness import LiveBlock, Liveness, LiveOperation
from parity_tests.proof.numbers import Number, Numbered, Step, UndecidedError, number
from parity_tests.proof.operations import (
    BARRIER,
    BRANCHES,
    CALL,
    COMPOSITE,
    MANUAL,
    SELECT,
    WHILE,
)
from parity_tests.proof.reading import (
    Block,
    Function,
    Module,
    Operation,
    Value,
)
from parity_tests.proof.repeated import Repeated, Repeats

_GROWTH = 8
_SMALL = 1000
_MUCH = _GROWTH // 2  # from here on, a program is also numbered by its calls
_MOST_BODIES = 10_000  # of calls that are not expanded: one for each set of bound operands

# What an argument is, beside the user's own (jax 0.10.2).
_DIMENSION, _TOKEN, _CONST = "jax.global_constant", "jax.token", "jax.const"
# These name arguments and results by their paths, for people. The output tree is for the caller.
_NAMES = frozenset((_CONST, "jax.arg_info", "jax.result_info"))
_OF_JAX = _NAMES | {_DIMENSION, _TOKEN}
# Where a captured array is placed is no part of the computation.
_PLACEMENT = frozenset(
    (
        "mhlo.is_same_data_across_replicas",
        "mhlo.layout_mode",
        "mhlo.memory_kind",
        "mhlo.sharding",
        "sdy.sharding",
    )
)


def number_module(
    module: Any, const_args: Sequence[Any], kept: Sequence[int] | None = None
) -> Numbered:
    """Return the numbers of what `lowered.compiler_ir("stablehlo")` returned.

    `const_args` are the arrays that a call passes for the arguments marked `jax.const`, in order,
    `kept` the positions of the user's arguments that the module takes, by default all. The output
    tree is for the caller to compare. The source of a step is for `place_of_locations`. Raises
    `UndecidedError` where the module has something without a rule.

    Example::

        lowered = jax.jit(f).lower(x)
        number_module(lowered.compiler_ir("stablehlo"), ()).digest
    """
    try:
        return _numbered(Module(module), const_args, kept)
    except RecursionError:
        raise UndecidedError("functions or regions that are nested too deeply") from None


def _numbered(read: Module, const_args: Sequence[Any], kept: Sequence[int] | None) -> Numbered:
    written, expanded = _sizes(read)
    expands = expanded <= max(_SMALL, _GROWTH * written)
    numbered = _Numbering(read, expands).of_main(const_args, kept)
    if expanded <= max(_SMALL, _MUCH * written):
        return numbered
    apart = _Numbering(read, expands=False)
    by_calls = apart.of_main(const_args, kept) if expands else numbered
    return replace(numbered, by_calls=by_calls.digest)


@dataclass(slots=True)
class _Scope:
    """Where operations stand: how many regions are around them, and the effects so far."""

    level: int = 0
    effects: list[Number] = field(default_factory=list)

    def inside(self) -> _Scope:
        """Return the scope of a region in this one."""
        return _Scope(self.level + 1)


_Environment = dict[Value, Number]


@dataclass(frozen=True, slots=True)
class _Turn:
    """A loop's turn: its condition, the carried values' symbols, effects of both, what stays."""

    goes_on: Number
    symbols: Mapping[int, Number]
    effects: tuple[Sequence[Number], Sequence[Number]]
    unchanged: set[int]


class _Numbering:
    def __init__(self, module: Module, expands: bool) -> None:
        self._module = module
        self._live = Liveness(module)
        self._expands = expands
        self._contents: dict[Number, Content] = {}
        self._repeats = Repeats(self._contents)
        self._constants: set[Number] = set()
        self._choices: dict[Number, tuple[Number, tuple[Number, ...]]] = {}
        self._known: dict[Any, tuple[Number, ...]] = {}  # what expanded calls return
        self._bodies: dict[Any, tuple[tuple[Number, ...], tuple[Number, ...]]] = {}
        self._steps: list[Step] = []
        self._steps_of_bodies: list[Step] = []
        self._calls: list[Any] = []  # the locations of the calls around, outermost first

    def of_main(self, const_args: Sequence[Any], kept: Sequence[int] | None) -> Numbered:
        main = self._module.main
        environment, arguments = self._arguments(main, const_args, kept)
        scope = _Scope()
        outputs = _tokens_first(
            self._block(self._live.block(main.block), environment, scope), main.of_results
        )
        of_results = [
            _marked(type_, marks)
            for type_, marks in zip(main.types_of_results, main.of_results, strict=True)
        ]
        digest = number(
            "module",
            _marked("", self._module.attributes),
            _marked("", main.attributes),
            *_counted(arguments),
            *_counted(of_results),
            *_counted(outputs),
            *_counted(scope.effects),
        )
        effects = tuple(scope.effects)
        steps = *self._steps_of_bodies, *self._steps
        bodies = _count_bodies(self._module)
        return Numbered(
            digest,
            outputs,
            effects,
            steps,
            frozenset(self._constants),
            bodies,
            callbacks=self._module.callbacks,
        )

    def _arguments(
        self, main: Function, const_args: Sequence[Any], kept: Sequence[int] | None
    ) -> tuple[_Environment, list[Number]]:
        """Return the numbers of all arguments of main, and a list without const args."""
        passed = iter(const_args)
        environment: _Environment = {}
        numbers: list[Number] = []
        of_kind: Counter[str] = Counter()
        positions = count() if kept is None else iter(kept)
        block = main.block
        for value, type_, marks in zip(
            block.arguments, block.types, main.of_arguments, strict=True
        ):
            if _CONST in marks:
                if strange := sorted(set(marks) - _NAMES - _PLACEMENT):
                    raise UndecidedError(f"a const arg that is marked {', '.join(strange)}")
                try:
                    array = next(passed)
                except StopIteration:
                    raise UndecidedError("a const arg that is not known") from None
                environment[value] = self._constant(passed_content(array, type_))
                continue
            kind = next((each for each in (_DIMENSION, _TOKEN) if each in marks), "argument")
            position = next(positions, None) if kind == "argument" else of_kind[kind]
            if position is None:
                raise UndecidedError("an argument of main that is not the user's")
            found = number("input", kind, position, _marked(type_, marks))
            of_kind[kind] += kind != _TOKEN
            environment[value] = found
            numbers.append(found)
        if next(passed, None) is not None:
            raise UndecidedError("a captured array that is passed for no const arg")
        return environment, numbers

    def _constant(self, content: Content) -> Number:
        found = content.number
        self._contents[found] = content
        self._constants.add(found)
        return found

    def _block(
        self, live: LiveBlock, environment: _Environment, scope: _Scope
    ) -> tuple[Number, ...]:
        """Return the numbers of what a block returns and somebody needs."""
        for each in live.operations:
            operation = each.operation
            if operation.name == WHILE:
                self._loop(each, environment, scope)
            elif operation.name == CALL:
                self._call(each, environment, scope)
            elif operation.name in BRANCHES:
                self._branches(each, environment, scope)
            elif operation.name == BARRIER:
                self._barrier(operation, environment)
            elif operation.name == MANUAL:
                self._manual(each, environment, scope)
            elif operation.name == COMPOSITE:
                self._composite(each, environment, scope)
            elif operation.content is not None:
                environment[operation.results[0]] = self._constant(operation.content)
            else:
                self._plain(each, environment, scope)
        return tuple(environment[value] for value in live.returned)

    def _plain(self, live: LiveOperation, environment: _Environment, scope: _Scope) -> None:
        operation = live.operation
        operands = tuple(environment[operand] for operand in operation.operands)
        known = self._by_law(operation, operands)
        if known is not None:
            environment[operation.results[0]] = known
            return
        if operation.broadcast is not None:
            repeated = self._repeats.broadcast(operation, operation.broadcast, operands[0])
            if repeated is not None:
                environment[operation.results[0]] = self._repeat(operation, repeated)
                return
        before = self._repeats.before(operation, operands)
        key, own = (operation.key, operands) if before is None else before[:2]
        made: list[Number | int] = [key, *_counted(own)]
        for region in live.regions:
            arguments = _symbols(region.block, scope.level + 1)
            made += self._region(region, arguments, environment, scope, operation)
        for callee in operation.callees:
            made += self._callee(callee, operation)
        found = number(*made)
        if operation.has_effect:
            scope.effects.append(found)
            found = _at_place(found, scope)
        self._step(found, operation, own)
        if before is not None:
            found = self._repeat(operation, replace(before[2], base=found))
        _set(environment, operation, found)

    def _by_law(self, operation: Operation, operands: Sequence[Number]) -> Number | None:
        """Return what is known of a result without its operation."""
        if operation.broadcast is not None and operands[0] in self._contents:
            shape, axes, _ = operation.broadcast
            bigger = self._contents[operands[0]].broadcast(shape, axes)
            if bigger is not None:
                self._contents[bigger.number] = bigger
                return bigger.number
        if operation.name == SELECT and operands[1] == operands[2] and not operation.attributes:
            return operands[1]
        return None

    def _repeat(self, operation: Operation, repeated: Repeated) -> Number:
        found = self._repeats.number_of(repeated)
        self._step(found, operation, (repeated.base,))
        return found

    def _barrier(self, operation: Operation, environment: _Environment) -> None:
        """Take an array through a barrier as it is: it needs no place among the others."""
        taken = [environment[operand] for operand in operation.operands]
        others = [each for each in taken if each not in self._contents]
        found = number(operation.key, *others)
        position = 0
        for result, operand in zip(operation.results, taken, strict=True):
            if operand in self._contents:
                environment[result] = operand
            else:
                environment[result] = number("result", found, position)
                position += 1
        self._step(found, operation, others)

    def _manual(self, live: LiveOperation, environment: _Environment, scope: _Scope) -> None:
        """Give each device its parts of the operands, wherever these stand and however often.

        Every device has the whole of an array that is not divided.
        """
        operation, [body] = live.operation, live.regions
        operands = [environment[operand] for operand in operation.operands]
        parts = [
            each if each in self._contents and _WHOLE.fullmatch(sharding)
            else number("part", operation.key, sharding, type_, each)
            for each, sharding, type_ in zip(
                operands, operation.shardings, body.block.types, strict=True
            )
        ]  # fmt: skip
        found = number(operation.key, *self._region(body, parts, environment, scope, operation))
        self._step(found, operation, operands)
        _set(environment, operation, found)

    def _region(
        self,
        region: LiveBlock,
        arguments: Sequence[Number],
        environment: _Environment,
        scope: _Scope,
        operation: Operation,
    ) -> list[Number | int]:
        """Return the numbers of a region with arguments of its own, as that of a sort."""
        inner = scope.inside()
        environment.update(zip(region.block.arguments, arguments, strict=True))
        returned = self._block(region, environment, inner)
        if inner.effects:
            raise UndecidedError(f"effects in a region of {operation.name}")
        return _counted(returned)

    def _branches(self, live: LiveOperation, environment: _Environment, scope: _Scope) -> None:
        """Make each result a choice among what the branches return for it alone."""
        operation = live.operation
        [index] = (environment[operand] for operand in operation.operands)
        made_by = number(operation.key, len(live.regions), index)
        returned, effects = [], []
        for position, branch in enumerate(live.regions):
            inner = scope.inside()
            known = self._chosen(branch, environment, made_by, position)
            returned.append(
                self._block(branch, environment | known if known else environment, inner)
            )
            effects.append(inner.effects)
        if any(effects):
            scope.effects.append(number("effects", made_by, *map(_listed, effects)))
            made_by = _at_place(scope.effects[-1], scope)
        choices = iter(zip(*returned, strict=True))
        for result, is_needed in zip(operation.results, live.demand, strict=True):
            if is_needed:
                environment[result] = self._choice(made_by, next(choices), any(effects))
        self._step(number(made_by, *map(_listed, returned)), operation, (index,))

    def _choice(self, made_by: Number, choices: tuple[Number, ...], has_effects: bool) -> Number:
        if has_effects:
            return number("choice", made_by, *choices)
        if len(set(choices)) == 1:
            return choices[0]
        found = number("choice", made_by, *choices)
        self._choices[found] = made_by, choices
        return found

    def _chosen(
        self, branch: LiveBlock, environment: _Environment, made_by: Number, position: int
    ) -> _Environment:
        """Return the values that a branch takes from earlier choices by the same index."""
        found = {value: self._choices.get(environment.get(value, b"")) for value in branch.needs}
        return {
            value: choice[1][position]
            for value, choice in found.items()
            if choice is not None and choice[0] == made_by
        }

    def _loop(self, live: LiveOperation, environment: _Environment, scope: _Scope) -> None:
        operation = live.operation
        _, body = live.regions
        carried = [i for i, is_live in enumerate(live.demand) if is_live]
        start = {i: environment[operation.operands[i]] for i in carried}
        fixed = {i for i in carried if body.block.returned[i] == body.block.arguments[i]}
        while True:
            turn = self._turn(live, start, fixed, environment, scope)
            if not turn.unchanged:
                break
            fixed |= turn.unchanged
        classes = sorted(set(turn.symbols.values()))
        loop = number(operation.key, turn.goes_on, *_counted(classes), *map(_listed, turn.effects))
        self._step(loop, operation, tuple(start.values()))
        if any(turn.effects):
            scope.effects.append(loop)
            loop = _at_place(loop, scope)
        for i in carried:
            is_fixed = i in fixed
            environment[operation.results[i]] = (
                start[i] if is_fixed else number("end of loop", loop, turn.symbols[i])
            )

    def _turn(
        self,
        live: LiveOperation,
        start: Mapping[int, Number],
        fixed: set[int],
        environment: _Environment,
        scope: _Scope,
    ) -> _Turn:
        """Repeat the numbering of a loop until no class of equal carried values splits."""
        condition, body = live.regions
        steps, calls = len(self._steps), len(self._known)
        level = scope.level + 1
        symbols = {i: number("carried", level, each) for i, each in start.items() if i not in fixed}
        while True:
            # Only the last round's steps are kept, also those of calls that were known.
            del self._steps[steps:]
            while len(self._known) > calls:
                self._known.popitem()
            for block in (condition.block, body.block):
                for i, each in start.items():
                    environment[block.arguments[i]] = symbols.get(i, each)
            asked, turned = scope.inside(), scope.inside()
            [goes_on] = self._block(condition, environment, asked)
            returned = dict(zip(start, self._block(body, environment, turned), strict=True))
            refined = {i: number("turn", each, returned[i]) for i, each in symbols.items()}
            if len(set(refined.values())) == len(set(symbols.values())):
                break
            symbols = refined
        unchanged = {i for i, each in symbols.items() if returned[i] == each}
        return _Turn(goes_on, refined, (asked.effects, turned.effects), unchanged)

    def _call(self, live: LiveOperation, environment: _Environment, scope: _Scope) -> None:
        operation = live.operation
        [body], [callee] = live.regions, operation.callees
        pairs = zip(operation.operands, body.block.arguments, strict=True)
        operands = [
            environment[operand] if taken in body.needs else None for operand, taken in pairs
        ]
        function = self._module.functions[callee]
        returned = iter(self._called(operation, body, operands, scope))
        marks = self._marks_of_call(operation, function, operands)
        for position, result in enumerate(operation.results):
            if live.demand[position]:
                found = next(returned)
                of_result = _kept_marks(function.of_results[position])
                if marks or of_result:
                    found = number("marked", found, *_counted(marks), _marked("", of_result))
                environment[result] = found

    def _marks_of_call(
        self, operation: Operation, function: Function, operands: Sequence[Number | None]
    ) -> list[Number]:
        """Return numbers of all that is set on a call, its function and its arguments."""
        found = [_marked("", each) for each in (operation.attributes, function.attributes) if each]
        for operand, marks in zip(operands, function.of_arguments, strict=True):
            kept = _kept_marks(marks)
            if kept and operand is not None and operand not in self._contents:
                found.append(number(operand, _marked("", kept)))
        return found

    def _called(
        self,
        call: Operation,
        body: LiveBlock,
        operands: Sequence[Number | None],
        scope: _Scope,
    ) -> tuple[Number, ...]:
        self._calls.append(call.location)
        number_call = self._expanded if self._expands else self._not_expanded
        returned = number_call(body, operands, scope)
        self._calls.pop()
        return returned

    def _expanded(
        self, body: LiveBlock, operands: Sequence[Number | None], scope: _Scope
    ) -> tuple[Number, ...]:
        key = id(body), tuple(operands), scope.level
        if key in self._known:
            return self._known[key]
        taken = zip(body.block.arguments, operands, strict=True)
        environment = {value: operand for value, operand in taken if operand is not None}
        before = len(scope.effects)
        returned = self._block(body, environment, scope)
        if len(scope.effects) == before:
            self._known[key] = returned
        return returned

    def _not_expanded(
        self, body: LiveBlock, operands: Sequence[Number | None], scope: _Scope
    ) -> tuple[Number, ...]:
        returned, effects, free = self._body(body, operands)
        parameters = {_parameter(position): each for position, each in enumerate(free)}
        made = number("call", *_counted(free), *_counted(effects))
        if effects:
            scope.effects.append(made)
            made = _at_place(made, scope)
        return tuple(
            each if each in self._contents else parameters.get(each, number("returned", made, each))
            for each in returned
        )

    def _body(
        self, body: LiveBlock, operands: Sequence[Number | None]
    ) -> tuple[tuple[Number, ...], tuple[Number, ...], list[Number]]:
        """Return what a function returns, its effects, and the operands that stay free.

        Arrays among the operands are bound, so that they stand in the body.
        """
        bound = tuple(each if each in self._contents else None for each in operands)
        free: list[Number] = []
        environment: _Environment = {}
        for value, operand, array in zip(body.block.arguments, operands, bound, strict=True):
            if array is not None:
                environment[value] = array
            elif operand is not None:
                environment[value] = _parameter(len(free))
                free.append(operand)
        key = id(body), bound
        if key not in self._bodies:
            if len(self._bodies) == _MOST_BODIES:
                raise UndecidedError(f"calls with {_MOST_BODIES} sets of arrays")
            outer, self._steps = self._steps, []
            scope = _Scope()
            self._bodies[key] = self._block(body, environment, scope), tuple(scope.effects)
            self._steps_of_bodies += self._steps
            self._steps = outer
        return *self._bodies[key], free

    def _composite(self, live: LiveOperation, environment: _Environment, scope: _Scope) -> None:
        """Take all of a composite: a backend may know it by its name and operands."""
        operation = live.operation
        [callee] = operation.callees
        operands = [environment[operand] for operand in operation.operands]
        body = self._live.block(self._module.functions[callee].block)
        returned = self._called(operation, body, operands, scope)
        found = number(operation.key, *_counted(operands), *_counted(returned))
        self._step(found, operation, operands)
        _set(environment, operation, found)

    def _callee(self, name: str, operation: Operation) -> list[Number | int]:
        """Return the numbers of a function that a custom call names."""
        function = self._module.functions[name]
        body = self._live.block(function.block)
        types = map(number, function.block.types)
        symbols = [number("argument of callee", i, each) for i, each in enumerate(types)]
        returned, effects, _ = self._body(body, symbols)
        if effects:
            raise UndecidedError(f"effects in a function that {operation.name} names")
        marks = [_marked("", each) for each in (function.attributes, *function.of_arguments)]
        return [*_counted(symbols), *_counted(marks), *_counted(returned)]

    def _step(self, found: Number, operation: Operation, operands: Sequence[Number]) -> None:
        source = operation.location, *reversed(self._calls)
        self._steps.append(
            Step(found, operation.name, tuple(operands), operation.attributes, source)
        )


# A sharding by a mesh, named or not, whose axes divide no axis of the array.
_WHOLE = re.compile(r"<.*, \[(?:\{\??\}(?:, )?)*\]>")


def _symbols(block: Block, level: int) -> list[Number]:
    """Return numbers of the arguments of a region's block by their places and types."""
    types = enumerate(block.types)
    return [number("argument of region", level, position, type_) for position, type_ in types]


def _tokens_first(
    outputs: Sequence[Number], of_results: Sequence[Mapping[str, str]]
) -> tuple[Number, ...]:
    """Sort the tokens among what a program returns, which have no order."""
    tokens = [each for each, marks in zip(outputs, of_results, strict=True) if _TOKEN in marks]
    others = [each for each, marks in zip(outputs, of_results, strict=True) if _TOKEN not in marks]
    return *sorted(tokens), *others


def _parameter(position: int) -> Number:
    return number("parameter", position)


def _set(environment: _Environment, operation: Operation, found: Number) -> None:
    if len(operation.results) == 1:
        environment[operation.results[0]] = found
        return
    for position, result in enumerate(operation.results):
        environment[result] = number("result", found, position)


def _at_place(effect: Number, scope: _Scope) -> Number:
    """Return the number of what the last effect of a scope returns: each time it may differ."""
    return number("effect", effect, scope.level, len(scope.effects))


def _listed(numbers: Sequence[Number]) -> Number:
    return number("list", *numbers)


def _counted(numbers: Sequence[Number]) -> list[Number | int]:
    """Return numbers behind their count, so that they can be followed by others."""
    return [len(numbers), *numbers]


def _marked(type_: str, marks: Mapping[str, str]) -> Number:
    """Return the number of a type with the attributes that are set beside it."""
    texts = [part for pair in sorted(marks.items()) if pair[0] not in _NAMES for part in pair]
    return number("marked", type_, *texts)


def _kept_marks(marks: Mapping[str, str]) -> dict[str, str]:
    """Leave out what JAX says of arguments for its own use."""
    return {name: text for name, text in marks.items() if name not in _OF_JAX}


def _sizes(module: Module) -> tuple[int, int]:
    """Count a module's operations as they are written, and with all calls expanded.

    Constants and their broadcasts do not count, and a function counts as written once if another
    has the same operations: so the two forms of a program have equal sizes, whether or not JAX
    lowers a function twice.
    """
    written: dict[Number, int] = {}
    known: dict[str, tuple[Number, int]] = {}

    def of_function(name: str) -> tuple[Number, int]:
        if name not in known:
            own, expanded, outline = of_block(module.functions[name].block)
            known[name] = number(*outline), expanded
            written[known[name][0]] = own
        return known[name]

    def of_block(block: Block) -> tuple[int, int, list[Number | str]]:
        """Return the operations that are written, those after expansion, and an outline."""
        own = expanded = 0
        outline: list[Number | str] = []
        for operation in block.operations:
            if operation.content is not None or operation.broadcast is not None:
                continue
            own += 1
            expanded += 1
            outline.append(operation.name)
            for region in operation.regions:
                inner = of_block(region)
                own += inner[0]
                expanded += inner[1]
                outline += ["(", *inner[2], ")"]
            for callee in operation.callees:
                of_callee, size = of_function(callee)
                expanded += size
                outline.append(of_callee)
        return own, expanded, outline

    expanded = of_function("main")[1]
    return sum(written.values()), expanded


def _count_bodies(module: Module) -> int:
    def inside(block: Block) -> int:
        return sum(map(of_operation, block.operations))

    def of_operation(operation: Operation) -> int:
        regions = len(operation.regions) if operation.name in BRANCHES else 0
        return (operation.name == WHILE) + regions + sum(map(inside, operation.regions))

    return len(module.functions) - 1 + sum(inside(each.block) for each in module.functions.values())
