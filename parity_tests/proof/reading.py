"""A StableHLO module as plain records, read once through MLIR's bindings.

Operations are numbered more than once: a function that is called twice, the body of a loop. Records
say all that their numbers are made of, and what no rule reads is an `UndecidedError`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from parity_tests.proof.attributes import Resources, Texts, constant_content, static_shape
from parity_tests.proof.contents import Content
from parity_tests.proof.numbers import Number, UndecidedError, number
from parity_tests.proof.operations import (
    BROADCAST,
    CALLEES,
    CONSTANT,
    MANUAL,
    RETURNS,
    SHARDINGS,
    UNTYPED,
    check,
    has_effect,
    has_rule,
    is_callback,
)

Value = int  # of an argument of a block, or of a result of an operation; one module has each once


@dataclass(slots=True, eq=False)
class Block:
    """The only block of a region."""

    arguments: tuple[Value, ...]
    types: tuple[str, ...]
    operations: tuple[Operation, ...]
    returned: tuple[Value, ...]


@dataclass(slots=True, eq=False)
class Operation:
    """An operation; `key` is the number of its name, its attributes and its results' types.

    `callees` are the functions that it names. `content` is that of a constant, `broadcast` says
    what an operation does that does nothing but broadcast, and `shardings` has that of each operand
    of a manual computation.
    """

    name: str
    attributes: Mapping[str, str]
    types: tuple[str, ...]
    key: Number
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    regions: tuple[Block, ...]
    callees: tuple[str, ...]
    has_effect: bool
    content: Content | None
    broadcast: Broadcast | None
    shardings: tuple[str, ...]
    location: Any


class Broadcast(NamedTuple):
    """A broadcast to a shape: axis n of the operand, whose shape is `of`, is axis `axes[n]`."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    of: tuple[int, ...]


@dataclass(slots=True, eq=False)
class Function:
    """A function, with the attributes of itself, of its arguments and of its results."""

    block: Block
    attributes: Mapping[str, str]
    of_arguments: tuple[Mapping[str, str], ...]
    of_results: tuple[Mapping[str, str], ...]
    types_of_results: tuple[str, ...]


class Module:
    """A module's functions by name, as far as main calls them, and the module's attributes.

    `callbacks` counts calls of Python functions, which the module has by their places alone.
    """

    def __init__(self, module: Any) -> None:
        operations = [each.operation for each in module.body.operations]
        self._unread = {
            each.attributes["sym_name"].value: each
            for each in operations
            if each.name == "func.func"
        }
        self._texts = Texts({})
        meshes = {
            each.attributes["sym_name"].value: str(
                sorted(self._attributes(each, "sym_name").items())
            )
            for each in operations
            if each.name == "sdy.mesh"
        }
        for each in operations:
            if each.name not in ("func.func", "sdy.mesh"):
                raise UndecidedError(f"the operation {each.name} beside functions")
        self._texts = Texts(meshes)
        self._resources = Resources(module)
        self._values: dict[Any, Value] = {}
        self._channels: dict[str, str] = {}
        self.callbacks = 0
        self.attributes = self._attributes(module.operation, "sym_name")
        self.functions: dict[str, Function] = {}
        if "main" not in self._unread:
            raise UndecidedError("a module without a function main")
        self._function("main")

    @cached_property
    def main(self) -> Function:
        """The function that a call of the program runs."""
        return self.functions["main"]

    def _function(self, name: str) -> None:
        """Read a function where it is first called: channels are counted in this order."""
        if name in self.functions:
            return
        if name not in self._unread:
            raise UndecidedError(f"a call of {name}, which is no function or calls itself")
        operation = self._unread.pop(name)
        [region] = operation.regions
        if not len(region.blocks):
            raise UndecidedError(f"the function {name}, which has no body")
        block = self._block(region)
        attributes = operation.attributes
        self.functions[name] = Function(
            block,
            {
                mark: text
                for mark, text in self._attributes(operation, "function_type").items()
                if mark not in _OF_FUNCTIONS
            },
            self._each(attributes, "arg_attrs", len(block.arguments)),
            self._each(attributes, "res_attrs", len(block.returned)),
            tuple(map(self._texts.of_type, attributes["function_type"].value.results)),
        )

    def _each(self, attributes: Any, name: str, count: int) -> tuple[Mapping[str, str], ...]:
        if name not in attributes:
            return ({},) * count
        return tuple(
            {each[index].name: self._texts.of(each[index].attr) for index in range(len(each))}
            for each in attributes[name]
        )

    def _block(self, region: Any) -> Block:
        blocks = list(region.blocks)
        if len(blocks) != 1:
            raise UndecidedError(f"a region of {len(blocks)} blocks")
        [block] = blocks
        arguments = self._new(block.arguments)
        types = self._types(block.arguments)
        operations: list[Operation] = []
        for each in block.operations:
            operation = each.operation
            name = operation.name
            if name in RETURNS:
                returned = tuple([self._values[operand] for operand in operation.operands])
                if self._attributes(operation):
                    raise UndecidedError(f"attributes of {name}")
                return Block(arguments, types, tuple(operations), returned)
            if not has_rule(name):
                raise UndecidedError(f"the operation {name}")
            operations.append(self._operation(name, operation))
        raise UndecidedError("a block that returns nothing")

    def _operation(self, name: str, operation: Any) -> Operation:
        # Nothing is read twice or in vain here: to reach it through the bindings takes the longest.
        operands = tuple([self._values[operand] for operand in operation.operands])
        of_callees = CALLEES.get(name)
        callees = () if of_callees is None else self._callees(operation, of_callees)
        regions = tuple([self._block(region) for region in operation.regions])
        is_constant = name == CONSTANT
        attributes = self._attributes(operation, _READ_APART.get(name))
        if "channel_handle" in attributes:
            attributes["channel_handle"] = self._channel(attributes["channel_handle"])
        check(name, attributes)
        self.callbacks += is_callback(name, attributes)
        results = list(operation.results)
        types = () if name in UNTYPED else self._types(results)
        broadcast = None
        if name == BROADCAST and len(attributes) == 1:
            [of] = self._types(operation.operands)
            broadcast = _broadcast(attributes["broadcast_dimensions"], types[0], of)
        return Operation(
            name,
            attributes,
            types,
            key_of(name, tuple(sorted(attributes.items())), types),
            operands,
            self._new(results),
            regions,
            callees,
            has_effect(name, attributes),
            constant_content(operation, self._resources) if is_constant else None,
            broadcast,
            self._texts.of_each(operation.attributes[SHARDINGS]) if name == MANUAL else (),
            operation.location,
        )

    def _new(self, values: Any) -> tuple[Value, ...]:
        known = self._values
        return tuple([known.setdefault(value, len(known)) for value in values])

    def _types(self, values: Any) -> tuple[str, ...]:
        return tuple([self._texts.of_type(value.type) for value in values])

    def _attributes(self, operation: Any, without: str | None = None) -> dict[str, str]:
        attributes = operation.attributes
        if not len(attributes):
            return {}
        try:
            named = [attributes[index] for index in range(len(attributes))]
            return {each.name: self._texts.of(each.attr) for each in named if each.name != without}
        except TypeError as error:  # the bindings make no object of some attributes
            raise UndecidedError(f"an attribute of {operation.name}: {error}") from error

    def _callees(self, operation: Any, attribute: str) -> tuple[str, ...]:
        """Read the functions that an operation names, and return their names."""
        if attribute not in operation.attributes:
            return ()
        named = operation.attributes[attribute]
        names = tuple(
            each.value for each in (named if type(named).__name__ == "ArrayAttr" else [named])
        )
        for name in names:
            self._function(name)
        return names

    def _channel(self, handle: str) -> str:
        """Count channels in the order in which they are met; 0 is no channel."""
        found = _HANDLE.fullmatch(handle)
        if found is None:
            raise UndecidedError(f"the channel {handle}")
        if found["handle"] == "0":
            return handle
        position = self._channels.setdefault(found["handle"], f"channel {len(self._channels)}")
        return f"{position} of type {found['type']}"


@lru_cache(maxsize=10_000)
def key_of(name: str, attributes: tuple[tuple[str, str], ...], types: tuple[str, ...]) -> Number:
    """Return the number of the name, the attributes and the results' types of an operation."""
    return number(name, len(attributes), *(part for pair in attributes for part in pair), *types)


_HANDLE = re.compile(
    r"#stablehlo\.channel_handle<handle = (?P<handle>-?\d+), type = (?P<type>-?\d+)>"
)
_READ_APART = {CONSTANT: "value", MANUAL: SHARDINGS, **CALLEES}  # an attribute by its operation
_OF_FUNCTIONS = frozenset(("sym_name", "sym_visibility", "arg_attrs", "res_attrs"))


@lru_cache(maxsize=10_000)
def _broadcast(dimensions: str, type_: str, of: str) -> Broadcast | None:
    """Return what a broadcast does; None where a shape is not static."""
    shape, before, axes = static_shape(type_), static_shape(of), integers_of(dimensions)
    return None if shape is None or before is None else Broadcast(shape, axes, before)


def integers_of(attribute: str) -> tuple[int, ...]:
    """Return the integers of an attribute of dimensions, given as its text."""
    found = _INTEGERS.fullmatch(attribute)
    assert found is not None
    return tuple(map(int, found[1].split(","))) if found[1] else ()


_INTEGERS = re.compile(r"array<i64(?:: ([-0-9, ]+))?>")
