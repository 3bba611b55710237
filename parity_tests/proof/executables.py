"""Value numbering of optimised HLO, modulo constants: whether XLA made one program of two forms.

What a captured array holds does not count, nor whether it stands in the module, is passed, or is
handed from turn to turn of a loop. All else does: each instruction, what is fused, and layouts. A
module is read as it is printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from parity_tests.proof.numbers import Number, UndecidedError, number

# A tuple has a number for each element.
Value: TypeAlias = "Number | tuple[Value, ...]"

_COMPUTATION = re.compile(
    r"^(?P<entry>ENTRY )?%?(?P<name>[\w.-]+) \(.*\{\n(?P<body>(?:  .*\n)*)^\}", re.MULTILINE
)
_INSTRUCTION = re.compile(
    r"^  (?P<root>ROOT )?%?(?P<name>[\w.-]+) = (?P<type>\(.*?\)|\S+) (?P<opcode>[a-z][\w-]*)"
    r"\((?P<rest>.*)$"
)
# Where it comes from, and after which other instruction it is run.
_ASIDE = re.compile(r', metadata=\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}|, control-predecessors=\{[^}]*\}')
_COMMENT = re.compile(r"/\*.*?\*/")
_NAMED = re.compile(r"%[\w.-]+")
_SCALAR = re.compile(r"\w+\[\]")
_MOST = 16  # times as many instructions are numbered as a module has, with its calls expanded


def number_executable(text: str, const_args: int) -> Number:
    """Return the number of an optimised module that takes so many captured arrays first.

    Raises `UndecidedError` for what has no rule: a call of Python is by an address of its own.

    Example::

        number_executable(compiled.as_text(), 0)
    """
    if "callback" in text:
        raise UndecidedError("a call of Python")
    read = {found["name"]: _read(found["body"]) for found in _COMPUTATION.finditer(text)}
    entry = next((found for found in _COMPUTATION.finditer(text) if found["entry"]), None)
    if entry is None:
        raise UndecidedError("a module without an entry")
    parameters = _parameters(read[entry["name"]])
    if any(each.type.startswith(("(", "token")) for each in parameters):
        raise UndecidedError("a parameter that is no array")
    arguments = [
        number("constant", each.type) if each.index < const_args
        else number("argument", each.index - const_args, each.type)
        for each in parameters
    ]  # fmt: skip
    walk = _Walk(read)
    result = walk.computation(entry["name"], arguments)
    return number("module", _flat(result), *sorted(walk.made))


@dataclass(frozen=True)
class _Instruction:
    name: str
    type: str
    opcode: str
    operands: tuple[str, ...]
    attributes: str
    literal: str
    is_root: bool

    @property
    def index(self) -> int:
        """Of a parameter, its place."""
        return int(self.literal)


def _read(body: str) -> list[_Instruction]:
    found = []
    for line in body.splitlines():
        match = _INSTRUCTION.match(_ASIDE.sub("", _COMMENT.sub("", line)))
        if match is None:
            raise UndecidedError(f"the instruction {line.strip()[:60]}")
        given, _, attributes = match["rest"].partition(")")
        is_leaf = match["opcode"] in ("constant", "parameter")
        operands = () if is_leaf else tuple(each[1:] for each in _NAMED.findall(given))
        if given.strip() and not (is_leaf or operands):
            raise UndecidedError(f"the operands of {match['name']}")
        found.append(
            _Instruction(
                match["name"], match["type"], match["opcode"], operands,
                "" if match["opcode"] == "constant" else attributes, given, bool(match["root"]),
            )
        )  # fmt: skip
    return found


def _parameters(instructions: Sequence[_Instruction]) -> list[_Instruction]:
    found = [each for each in instructions if each.opcode == "parameter"]
    return sorted(found, key=lambda each: each.index)


def _flat(value: Value) -> Number:
    return value if isinstance(value, bytes) else number("tuple", *map(_flat, value))


@dataclass
class _Walk:
    """One walk over a module; `made` has the number of each instruction, `level` counts loops.

    Work that one form does twice stands in it twice.
    """

    read: dict[str, list[_Instruction]]
    made: list[Number] = field(default_factory=list)
    level: int = 0
    numbered: int = 0
    _alone: dict[str, Number] = field(default_factory=dict)

    def computation(self, name: str, given: Sequence[Value]) -> Value:
        """Return the value of a computation, of what its parameters stand for."""
        self.numbered += len(self.read[name])
        if self.numbered > _MOST * sum(map(len, self.read.values())):
            raise UndecidedError("calls that nest deeply")
        values: dict[str, Value] = {}
        result: Value = b""
        for each in self.read[name]:
            values[each.name] = self._value(each, given, values)
            if each.is_root:
                result = values[each.name]
        return result

    def _value(self, each: _Instruction, given: Sequence[Value], values: dict[str, Value]) -> Value:
        if each.opcode == "parameter":
            return given[each.index]
        if each.opcode == "constant":
            # A scalar says what is computed; XLA prints no large array.
            is_scalar = _SCALAR.fullmatch(each.type) is not None
            return number("constant", each.type, *([each.literal] if is_scalar else []))
        if not values.keys() >= {*each.operands}:
            raise UndecidedError(f"the operands of {each.name}")
        operands = [values[operand] for operand in each.operands]
        if each.opcode == "tuple":
            return tuple(operands)
        if each.opcode == "get-tuple-element" and isinstance(operands[0], tuple):
            return operands[0][int(each.attributes.partition("index=")[2].partition(",")[0])]
        if each.opcode in ("fusion", "call"):
            return self._called(each, operands)
        if each.opcode == "while":
            return self._loop(each, operands[0])
        if each.opcode == "conditional":
            return self._branches(each, operands)
        parts: list[str | Number] = [self._attributes(each.attributes), *map(_flat, operands)]
        return self._note(number(each.opcode, each.type, *parts))

    def _note(self, own: Number) -> Number:
        self.made.append(own)
        return own

    def _names(self, each: _Instruction, count: int) -> list[str]:
        """Return the names of the computations that an instruction calls, so many."""
        found = [name[1:] for name in _NAMED.findall(each.attributes)]
        if len(found) != count or not self.read.keys() >= {*found}:
            raise UndecidedError(f"what {each.opcode} calls")
        return found

    @contextmanager
    def _apart(self) -> Iterator[list[Number]]:
        """Collect the numbers of instructions that are part of another."""
        around, self.made = self.made, []
        yield self.made
        self.made = around

    def _called(self, each: _Instruction, operands: list[Value]) -> Value:
        """Return the value of what a fusion or a call expands to; what is fused counts."""
        [called] = self._names(each, 1)
        inside = self.computation(called, operands)
        how = each.attributes.replace(f"%{called}", "")
        # A call may hand captured arrays on.
        self._note(number(each.opcode, how, *([_flat(inside)] if each.opcode == "fusion" else [])))
        return inside

    def _attributes(self, text: str) -> str:
        """Return attributes with the number of each computation in the place of its name."""

        def digest(name: re.Match[str]) -> str:
            if name[0][1:] not in self.read:
                raise UndecidedError(f"an attribute that names {name[0]}")
            return self._by_itself(name[0][1:]).hex()

        return _NAMED.sub(digest, text)

    def _by_itself(self, name: str) -> Number:
        """Return the digest of a computation whose parameters are symbols."""
        if name not in self._alone:
            symbols = [
                number("parameter", n, each.type)
                for n, each in enumerate(_parameters(self.read[name]))
            ]
            with self._apart() as made:
                result = self.computation(name, symbols)
                self._alone[name] = number("computation", _flat(result), *sorted(made))
        return self._alone[name]

    def _branches(self, each: _Instruction, operands: Sequence[Value]) -> Value:
        """Return what a conditional gives: what its branches make of the operand of each."""
        names = self._names(each, len(operands) - 1)
        parts: list[Number] = []
        for name, operand in zip(names, operands[1:], strict=True):
            with self._apart() as made:
                result = self.computation(name, [operand])
                parts += [_flat(result), *sorted(made)]
        own = self._note(number("conditional", each.type, _flat(operands[0]), *parts))
        if not isinstance(result, tuple):
            return own
        return tuple(number("result", own, n) for n in range(len(result)))

    def _loop(self, each: _Instruction, start: Value) -> Value:
        """Return what a loop carries at its end; what no turn changes is its start, and counts not.

        So an array that is handed from turn to turn is the constant that it is in the other form.
        """
        self._names(each, 2)
        named = dict(re.findall(r"\b(condition|body)=%([\w.-]+)", each.attributes))
        starts = start if isinstance(start, tuple) else (start,)

        def turn(values: Sequence[Value]) -> tuple[Value, tuple[Value, ...]]:
            given = [tuple(values) if isinstance(start, tuple) else values[0]]
            goes_on = self.computation(named["condition"], given)
            after = self.computation(named["body"], given)
            return goes_on, after if isinstance(after, tuple) else (after,)

        self.level += 1
        symbols = [number("carried", self.level, n) for n in range(len(starts))]
        with self._apart():
            _, after = turn(symbols)
        changed = [
            n for n, (one, other) in enumerate(zip(symbols, after, strict=True)) if one != other
        ]
        carried = list(starts)
        for rank, n in enumerate(changed):
            carried[n] = number("carry", self.level, rank)
        with self._apart() as made:
            goes_on, after = turn(carried)
        self.level -= 1
        how = _NAMED.sub("", each.attributes)
        own = self._note(
            number(
                "while", how, _flat(goes_on), *sorted(made),
                *(_flat(starts[n]) for n in changed), *(_flat(after[n]) for n in changed),
            )
        )  # fmt: skip
        ends = list(starts)
        for rank, n in enumerate(changed):
            ends[n] = number("result", own, rank)
        return tuple(ends) if isinstance(start, tuple) else ends[0]
