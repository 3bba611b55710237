"""Python functions as content: callbacks, whose meaning is in their code.

A function is its code, its defaults, its attributes, what it captures, and the globals that it
names. A function that an installed package has under its name is its name, for an environment is
one of the settings of a proof.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import numpy as np

from parity_tests.jaxpr.source_places import kind_of_file
from parity_tests.proof.numbers import UndecidedError, number

Encode = Callable[[Any], bytes]


def encoded_function(function: Any, encode: Encode) -> bytes:
    """Return the number of a function; `encode` encodes what it captures.

    Raises `UndecidedError` for what it reads and cannot be encoded.
    """
    return _Reading(encode, ()).function(function)


def may_write(function: Any) -> bool:
    """Say whether a function that was encoded reaches a NumPy array by what it holds.

    It may write to that array when it is called. Arrays that it is passed are read-only.
    """
    return _reaches_array(function, set())


def _reaches_array(value: Any, seen: set[int]) -> bool:
    if id(value) in seen or isinstance(value, _HARMLESS):
        return False
    seen.add(id(value))
    held: Iterable[Any]
    if isinstance(value, types.MethodType):
        held = (value.__func__, value.__self__)
    elif isinstance(value, types.FunctionType):
        if is_installed(value.__code__) and _is_found(value):
            return False
        defaults = (value.__defaults__, value.__kwdefaults__)
        held = (*_free_values(value).values(), *vars(value).values(), *defaults)
    elif isinstance(value, functools.partial):
        held = (value.func, value.args, value.keywords)
    elif isinstance(value, dict):
        held = (*value, *value.values())
    elif isinstance(value, (list, tuple, set, frozenset)):
        held = value
    elif dataclasses.is_dataclass(value):
        held = [getattr(value, each.name) for each in dataclasses.fields(value)]
    else:
        return True  # an array, or something that may hold one
    return any(_reaches_array(each, seen) for each in held)


_HARMLESS = (
    type(None), bool, int, float, complex, str, bytes, type, np.generic, np.dtype, np.ufunc,
    jax.Array, jax.tree_util.PyTreeDef, types.ModuleType,
)  # fmt: skip


class _Reading:
    def __init__(self, encode: Encode, within: tuple[Any, ...]) -> None:
        self._encode = encode
        self._within = within

    def function(self, function: Any) -> bytes:
        if isinstance(function, types.MethodType):
            return number("method", self.function(function.__func__), self.value(function.__self__))
        if isinstance(function, types.BuiltinFunctionType):
            owner = function.__self__  # of `[1, 2].index`, the list
            bound = b"" if owner is None else self.value(owner)
            return number("builtin", function.__module__ or "", function.__qualname__, bound)
        code = function.__code__
        if is_installed(code) and _is_found(function):
            return number("named", function.__module__, function.__qualname__)
        if function in self._within:
            return number("itself", self._within.index(function))
        inside = _Reading(self._encode, (*self._within, function))
        names = _free_values(function)
        names |= {f"attribute {name}": each for name, each in vars(function).items()}
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
            if _is_users(value):
                raise UndecidedError(f"a callback that reads the module {value.__name__}")
            return number("module", value.__name__)
        if isinstance(value, dict):  # whose order a callback may see
            return number("dict", self._encode(value), *map(self._encode, value))
        if isinstance(value, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
            return self.function(value)
        return number(self._encode(value), kinds_of(value))


def kinds_of(value: Any) -> str:
    """Name the types of what a value holds: a Python function may tell an integer from NumPy's."""
    return ",".join(type(leaf).__name__ for leaf in jax.tree.leaves(value))


def is_installed(code: types.CodeType) -> bool:
    """Say whether some code is in a file of JAX or of an installed package."""
    file = code.co_filename
    return not file.startswith("<") and kind_of_file(file) != "user"


def _is_found(function: types.FunctionType) -> bool:
    """Say whether a function is what its module has under its name."""
    try:
        path = function.__qualname__.split(".")
        found = functools.reduce(getattr, path, sys.modules[function.__module__])
    except (AttributeError, KeyError):
        return False
    return found is function


def _is_users(module: types.ModuleType) -> bool:
    """Say whether a module is no part of the environment: a user's file, or made at run time."""
    file = getattr(module, "__file__", None)
    if file is None:
        return module.__name__ not in sys.builtin_module_names and module.__spec__ is None
    return kind_of_file(file) == "user"


_FLAG = "use_simplified_jaxpr_constants"

# What reads a global by a name that is no part of the code.
_READERS = frozenset({"__import__", "eval", "exec", "globals", "locals", "vars"})


def _free_values(function: types.FunctionType) -> dict[str, Any]:
    """Return what a function captures and the globals that its code names, inner code included.

    A name that is only an attribute's may be among them: it does no harm.
    """
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    for name in sorted(_READERS & names):
        raise UndecidedError(f"a callback that calls {name}")
    texts = {each for code in _codes(function.__code__) for each in code.co_consts} - {None}
    if any(_FLAG in each.lower() for each in names | texts if isinstance(each, str)):
        raise UndecidedError("a callback that reads the flag when it runs")
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {f"captured {name}": cell.cell_contents for name, cell in cells}
    for name in names:
        if name in function.__globals__:
            found[f"global {name}"] = function.__globals__[name]
        elif name in sys.modules and _is_users(sys.modules[name]):
            found[f"imported {name}"] = sys.modules[name]
    return found


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)
