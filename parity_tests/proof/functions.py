"""Python functions as content: callbacks, whose meaning is in their code.

A function is its code, its defaults, what it captures, and the globals that it names. A function of
an installed package is its name, for an environment is one of the settings of a proof.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

from parity_tests.jaxpr.source_places import kind_of_file
from parity_tests.proof.numbers import number

Encode = Callable[[Any], bytes]


def encoded_function(function: Any, encode: Encode) -> bytes:
    """Return the number of a function; `encode` encodes what it captures.

    Raises `UndecidedError` for what it reads and cannot be encoded.
    """
    return _Reading(encode, ()).function(function)


class _Reading:
    def __init__(self, encode: Encode, within: tuple[Any, ...]) -> None:
        self._encode = encode
        self._within = within

    def function(self, function: Any) -> bytes:
        if isinstance(function, types.MethodType):
            return number("method", self.function(function.__func__), self.value(function.__self__))
        code = getattr(function, "__code__", None)
        if code is None or (is_installed(code) and "<locals>" not in function.__qualname__):
            return number("named", function.__module__ or "", function.__qualname__)
        if function in self._within:
            return number("itself", self._within.index(function))
        inside = _Reading(self._encode, (*self._within, function))
        names = _free_values(function)
        parts = [part for name in sorted(names) for part in (name, inside.value(names[name]))]
        defaults = (function.__defaults__ or (), function.__kwdefaults__ or {})
        code_read = self.code(code)
        return number("function", code_read, *map(inside.value, defaults), "|", *parts)

    def code(self, code: types.CodeType) -> bytes:
        """Return the number of some code: its instructions, names and constants, not its lines."""
        constants = (
            self.code(each) if isinstance(each, types.CodeType) else self._encode(each)
            for each in code.co_consts
        )
        names = (*code.co_names, "|", *code.co_varnames, "|", *code.co_freevars)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        table = code.co_exceptiontable
        return number(code.co_code, table, *counts, *names, "|", *constants)

    def value(self, value: Any) -> bytes:
        if isinstance(value, types.ModuleType):
            return number("module", value.__name__)
        if isinstance(value, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
            return self.function(value)
        return self._encode(value)


def is_installed(code: types.CodeType) -> bool:
    """Say whether some code is JAX's or that of an installed package."""
    return kind_of_file(code.co_filename) != "user"


def _free_values(function: types.FunctionType) -> dict[str, Any]:
    """Return what a function captures and the globals that its code names, inner code included.

    A name that is only an attribute's may be among them: it does no harm.
    """
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {f"captured {name}": cell.cell_contents for name, cell in cells}
    for code in _codes(function.__code__):
        for name in code.co_names:
            if name in function.__globals__:
                found[f"global {name}"] = function.__globals__[name]
    return found


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)
