"""Value numbering of optimised HLO, modulo constants: whether XLA made one program of two forms.

What a captured array holds does not count, nor whether it stands in the module, is passed, or is
handed from turn to turn of a loop. All else does: each instruction, what is fused, and layouts. A
module is read as it is printed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
_ELEMENT = re.compile(r"\w+\[[^\]]*\](?:\{[^}]*\})?")


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
        found.append(
            _Instruction(
                match["name"], match["type"], match["opcode"],
                () if is_leaf else tuple(each[1:] for each in _NAMED.findall(given)),
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
    """One walk over a module; `made` has the number of each instruction, `level` counts loops."""

    read: dict[str, list[_Instruction]]
    made: set[Number] = field(default_factory=set)
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
        operands = [values[operand] for operand in each.operands]
        if each.opcode == "tuple":
            return tuple(operands)
        if each.opcode == "get-tuple-element" and isinstance(operands[0], tuple):
            return operands[0][int(each.attributes.partition("index=")[2].partition(",")[0])]
        if each.opcode in ("fusion", "call"):
            return self._called(each, operands)
        if each.opcode == "while":
            return self._loop(each, operands[0])
        parts: list[str | Number] = [self._attributes(each.attributes), *map(_flat, operands)]
        return self._note(number(each.opcode, each.type, *parts))

    def _note(self, own: Number) -> Number:
        self.made.add(own)
        return own

    def _called(self, each: _Instruction, operands: list[Value]) -> Value:
        """Return the value of what a fusion or a call expands to; what is fused counts."""
        [called] = [name[1:] for name in _NAMED.findall(each.attributes) if name[1:] in self.read]
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
            inner = _Walk(self.read, _alone=self._alone)
            symbols = [
                self._symbols(each.type, f"parameter {n}")
                for n, each in enumerate(_parameters(self.read[name]))
            ]
            result = inner.computation(name, symbols)
            self._alone[name] = number("computation", _flat(result), *sorted(inner.made))
        return self._alone[name]

    def _symbols(self, type_: str, what: str) -> Value:
        if not type_.startswith("("):
            return number(what, self.level, type_)
        if type_.count("(") > 1:
            raise UndecidedError("a tuple in a tuple")
        elements = enumerate(_ELEMENT.findall(type_))
        return tuple(number(what, self.level, n, each) for n, each in elements)

    def _loop(self, each: _Instruction, start: Value) -> Value:
        """Return what a loop carries at its end; what no turn changes is its start, and counts not.

        So an array that is handed from turn to turn is the constant that it is in the other form.
        """
        named = dict(re.findall(r"\b(condition|body)=%([\w.-]+)", each.attributes))
        is_one = not isinstance(start, tuple)
        start = start if isinstance(start, tuple) else (start,)

        def turn(values: Sequence[Value]) -> tuple[Value, tuple[Value, ...]]:
            given = [values[0] if is_one else tuple(values)]
            goes_on = self.computation(named["condition"], given)
            after = self.computation(named["body"], given)
            return goes_on, after if isinstance(after, tuple) else (after,)

        self.level += 1
        made, self.made = self.made, set()
        symbols = [number("carried", self.level, n) for n in range(len(start))]
        _, after = turn(symbols)
        changed = [n for n, each_after in enumerate(after) if each_after != symbols[n]]
        carried = [
            number("carry", self.level, changed.index(n)) if n in changed else start[n]
            for n in range(len(start))
        ]
        self.made = set()
        goes_on, after = turn(carried)
        self.level -= 1
        how = re.sub(r"\b(condition|body)=%[\w.-]+", "", each.attributes)
        loop = number(
            "while", how, _flat(goes_on), *sorted(self.made),
            *(_flat(start[n]) for n in changed), *(_flat(after[n]) for n in changed),
        )  # fmt: skip
        self.made = made | {loop}
        ends = [
            number("carried", loop, changed.index(n)) if n in changed else start[n]
            for n in range(len(start))
        ]
        return ends[0] if is_one else tuple(ends)
