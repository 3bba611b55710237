"""Python functions as content: callbacks, whose meaning is in their code.

A function is its code, its defaults, its attributes, what it captures, and the globals that it
names. A function that an installed package has under its name is its name, for an environment is
one of the settings of a proof. One that a package's decorator made of a user's is not: its code is
the package's, and its name and module are the user's (`functools.wraps`).
"""

from __future__ import annotations

import dataclasses
import dis
import functools
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Set
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import numpy as np

from parity_tests.proof.numbers import UndecidedError, number
from parity_tests.proof.objects import parts_of
from parity_tests.proof.origins import is_installed, is_users, may_be_a_users

Encode = Callable[[Any], bytes]


def encoded_function(function: Any, encode: Encode) -> bytes:
    """Return the number of a function, or of a partial; `encode` encodes what it captures.

    Raises `UndecidedError` for what it reads and cannot be encoded.
    """
    try:
        return _Reading(encode).value(function)
    except RecursionError as error:
        raise UndecidedError("a callback that holds objects too deep in others") from error


def may_write(function: Any) -> bool:
    """Say whether a function that was encoded reaches a NumPy array by what it holds.

    It may write to that array when it is called. Arrays that it is passed are read-only.
    """
    return any(True for _ in _reached(function))


def arrays_reached(function: Any) -> list[np.ndarray[Any, Any]]:
    """Return the NumPy arrays that a function reaches by what it holds; [] if it has no rule.

    Example::

        arrays_reached(lambda x: table[0]) == [table]
    """
    try:
        return [each for each in _reached(function) if isinstance(each, np.ndarray)]
    except UndecidedError:
        return []


def _reached(value: Any) -> Iterator[Any]:
    """Yield the arrays that a value holds, and what may hold one."""
    seen: dict[int, Any] = {}
    left = [value]
    while left:
        value = left.pop()
        parts = parts_of(value)
        if id(value) in seen or (parts is None and isinstance(value, _HARMLESS)):
            continue
        seen[id(value)] = value  # held, so that its id stays its own
        held = parts.values if parts is not None else _held_by(value)
        if held is None:
            yield value
        else:
            left.extend(held)


def _held_by(value: Any) -> Iterable[Any] | None:
    """Return what a value without parts holds; None if that is not known."""
    if isinstance(value, types.MethodType):
        return value.__func__, value.__self__
    if isinstance(value, types.BuiltinFunctionType):
        return (value.__self__,)
    if isinstance(value, types.FunctionType):
        if _is_of_a_package(value):
            return ()
        defaults = (value.__defaults__, value.__kwdefaults__)
        return *_free_values(value).values(), *vars(value).values(), *defaults
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords, vars(value)
    if isinstance(value, (dict, types.MappingProxyType)):
        return *value, *value.values()
    if isinstance(value, (list, tuple, set, frozenset)):
        return value
    if dataclasses.is_dataclass(value):
        return [getattr(value, each.name) for each in dataclasses.fields(value)]
    return None


_HARMLESS = (
    type(None), bool, int, float, complex, str, bytes, type, np.generic, np.dtype, np.ufunc,
    jax.Array, jax.tree_util.PyTreeDef, types.ModuleType,
)  # fmt: skip


# What a function of a package tells when it raises, and makes nothing of: the text of the stack and
# random bytes, which are others each time that Equinox's `error_if` is traced (0.13.8).
_TOLD_ALONE = {("equinox._errors", "_error.<locals>.raises"): "captured stack"}

# What maps over the leaves of its arguments alone, where a TPU goes on after Equinox's `error_if`.
_MAPS_OVER_LEAVES = ("equinox._errors", "_error.<locals>.tpu_msg")


def maps_over_leaves(function: Any) -> bool:
    """Say whether a callback is one of a package to which only leaves of its arguments matter."""
    if not isinstance(function, types.FunctionType) or not is_installed(function.__code__):
        return False
    return (function.__module__, function.__qualname__) == _MAPS_OVER_LEAVES


# The function that one of ours calls, as an attribute of ours, which notes that it is called.
NOTED = "__constparity_noted__"


class _Reading:
    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        # What may change, and what may hold itself, with its place: a function tells one from its
        # equal.
        self._held: dict[int, tuple[Any, int]] = {}

    def function(self, function: Any) -> bytes:
        if isinstance(function, types.MethodType):
            return number("method", self.function(function.__func__), self.value(function.__self__))
        if isinstance(function, types.BuiltinFunctionType):
            _refuse({function.__name__, *(function.__module__ or "").split(".")})
            owner = function.__self__  # of `[1, 2].index`, the list
            bound = b"" if owner is None else self.value(owner)
            return number("builtin", function.__module__ or "", function.__qualname__, bound)
        if NOTED in vars(function):
            return self.value(vars(function)[NOTED])
        code = function.__code__
        if _is_of_a_package(function):
            _refuse({function.__name__, *function.__module__.split(".")})
            return number("named", function.__module__, function.__qualname__)
        if (again := self._again(function)) is not None:
            return again
        names = _free_values(function)
        names |= {f"attribute {name}": each for name, each in vars(function).items()}
        if is_installed(code):
            names.pop(_TOLD_ALONE.get((function.__module__, function.__qualname__), ""), None)
        parts = [part for name in sorted(names) for part in (name, self.value(names[name]))]
        defaults = (function.__defaults__ or (), function.__kwdefaults__ or {})
        told = map(self.value, (*defaults, function.__name__, function.__doc__))
        return number("function", self.code(code), *told, "|", *parts)

    def code(self, code: types.CodeType) -> bytes:
        """Return the number of some code: its instructions, names and constants, not its lines."""
        constants = (
            self.code(each) if isinstance(each, types.CodeType) else self.value(each)
            for each in code.co_consts
        )
        names = (*code.co_names, "|", *code.co_varnames, "|", *code.co_freevars)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        table = code.co_exceptiontable
        return number(code.co_code, table, *counts, *names, "|", *constants)

    def value(self, value: Any) -> bytes:
        if isinstance(value, types.ModuleType):
            if _is_read_by_attribute(value):
                raise UndecidedError(f"a callback that reads the module {value.__name__}")
            _refuse({*value.__name__.split(".")})
            return number("module", value.__name__)
        if isinstance(value, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
            return self.function(value)
        if type(value) is functools.partial:
            held = (value.func, value.args, value.keywords, vars(value))
            return number("partial", *map(self.value, held))
        if isinstance(value, type):
            _refuse({value.__name__, *value.__module__.split(".")})
        if isinstance(value, (str, bytes)):
            _refuse(set(), {value})
        parts, kind = parts_of(value), type(value).__name__
        is_one = parts is not None or type(value) in (list, dict, set, np.ndarray)
        if is_one and (again := self._again(value)) is not None:
            return again
        if parts is not None:
            return number(parts.name, *map(self.value, parts.values))
        if type(value) in (dict, types.MappingProxyType):  # whose order a function may see
            return number(kind, *(self.value(each) for pair in value.items() for each in pair))
        if type(value) in (tuple, list):
            return number(kind, *map(self.value, value))
        if type(value) in (set, frozenset):
            before = len(self._held)
            numbers = sorted(map(self.value, value))
            if len(numbers) > 1 and len(self._held) > before:  # which comes first is not known
                raise UndecidedError(f"a callback that holds functions or objects in a {kind}")
            return number(kind, *numbers)
        laid: tuple[int, ...] = ()
        if isinstance(value, np.ndarray):
            laid = (value.flags.writeable, *value.strides)
        return number(self._encode(value), kinds_of(value), *laid)

    def _again(self, value: Any) -> bytes | None:
        """Return the number of what was met before; None of what is met now."""
        if id(value) in self._held:
            return number("again", self._held[id(value)][1])
        self._held[id(value)] = value, len(self._held)
        return None


def kinds_of(value: Any) -> str:
    """Name the types of what a value holds: a Python function may tell an integer from NumPy's."""
    return ",".join(type(leaf).__name__ for leaf in jax.tree.leaves(value))


def _is_of_a_package(function: types.FunctionType) -> bool:
    """Say whether a function is what an installed module has under its name."""
    module = sys.modules.get(function.__module__)
    if module is None or is_users(module) or not is_installed(function.__code__):
        return False
    try:
        found = functools.reduce(getattr, function.__qualname__.split("."), module)
    except AttributeError:
        return False
    return found is function


_FLAG = "use_simplified_jaxpr_constants"

# What reads a global, or a module, by a name that is no part of the code. Whoever has a frame, as
# of `sys._getframe`, reads its `f_globals` or `f_locals`.
_READERS = frozenset(
    {
        "__annotations__",
        "__dict__",
        "__globals__",
        "__import__",
        "__subclasses__",
        "currentframe",
        "eval",
        "exec",
        "f_globals",
        "get_annotations",
        "get_type_hints",
        "getfullargspec",
        "signature",
    }
    | {"f_locals", sys._getframe.__name__, "globals", "import_module", "locals", "vars"}
)

# What tells objects that the process holds, which both forms hold otherwise.
_HELD = frozenset({"get_objects", "get_referrers", "getrefcount", "live_arrays"})

# What reads the variables of the environment, of which the flag is one.
_ENVIRONMENT = frozenset(
    {"environ", "environb", "expandvars", "getenv", "getenvb", "print_environment_info"}
)

# What starts a process, which inherits the environment: modules, and functions of others.
_STARTERS = frozenset(
    {"multiprocessing", "pty", "subprocess"}
    | {"Popen", "ProcessPoolExecutor", "create_subprocess_exec", "create_subprocess_shell"}
)
_OF_OS = frozenset(
    {each for each in dir(os) if each.startswith(("exec", "fork", "posix_spawn", "spawn"))}
    | {"popen", "startfile", "system"}
)

# What traces a function when it is called: that is a program of its own, which has two forms too.
_TRACERS = frozenset({"closure_convert", "jit", "make_jaxpr", "pjit", "pmap", "shard_map"})


def _refuse(names: Set[str], texts: Set[Any] = frozenset()) -> None:
    """Raise `UndecidedError` if names, or texts, are those of what may tell the forms apart.

    What starts a process has common names in `os`, which is to be among the names then.
    """
    starters = _STARTERS | (_OF_OS if _OS & names else frozenset())
    for name in sorted((_READERS | _HELD) & names):
        raise UndecidedError(f"a callback that uses {name}")
    for name in sorted(_ENVIRONMENT & (names | texts)):
        raise UndecidedError(f"a callback that reads the environment by {name}")
    for name in sorted(starters & (names | texts)):
        raise UndecidedError(f"a callback that may start a process, which has the flag, by {name}")
    for text in texts:
        parts = Path(os.fsdecode(text)).parts if isinstance(text, (str, bytes)) else ()
        if any(above in ("/", "//", "..") and part == "proc" for above, part in pairwise(parts)):
            raise UndecidedError(f"a callback that may read the environment by {text!r}")
    for name in sorted(_TRACERS & names):
        raise UndecidedError(f"a callback that traces a program of its own by {name}")


def _free_values(function: types.FunctionType) -> dict[str, Any]:
    """Return what a function captures and the globals that its code names, inner code included."""
    codes = [*_codes(function.__code__)]
    names = {part for code in codes for name in code.co_names for part in name.split(".")}
    texts = {*jax.tree.leaves([code.co_consts for code in codes])}
    _refuse(names, texts)
    if _reads_unnamed_settings(function.__code__):
        raise UndecidedError("a callback that uses jax.config, and not one setting by its name")
    if "delete" in names | texts:
        raise UndecidedError("a callback that uses delete, as of a captured array")
    if {"sys", "modules"} <= names:
        raise UndecidedError("a callback that reads sys.modules")
    for name in _imported_by(function):
        if may_be_a_users(name):
            raise UndecidedError(f"a callback that imports {name} when it is called")
    if any(_FLAG in each.lower() for each in names | texts if isinstance(each, str)):
        raise UndecidedError("a callback that reads the flag when it runs")
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    try:
        found = {f"captured {name}": cell.cell_contents for name, cell in cells}
    except ValueError as error:
        raise UndecidedError("a callback that captures a name without a value") from error
    for name in _globals_named(function.__code__) & function.__globals__.keys():
        value = function.__globals__[name]
        if isinstance(value, types.ModuleType) and _is_read_by_attribute(value):
            found |= _read_of_module(function.__code__, name, value)
        else:
            found[f"global {name}"] = value
    return found


def _is_read_by_attribute(module: types.ModuleType) -> bool:
    """Say whether a module counts by what some code names of it: the user's, and `os`."""
    return is_users(module) or module.__name__ in _OS


_OS = frozenset({"os", "posix"})


def _read_of_module(code: types.CodeType, name: str, module: types.ModuleType) -> dict[str, Any]:
    """Return what some code reads of a module, by the name of each attribute."""
    found = {}
    for inner in _codes(code):
        steps = [*dis.get_instructions(inner), None]
        for step, read in pairwise(steps):
            if step is None or step.opname not in _LOAD_GLOBAL or step.argval != name:
                continue
            is_read = read is not None and read.opname in ("LOAD_ATTR", "LOAD_METHOD")
            if read is None or not is_read or read.argval not in vars(module):
                raise UndecidedError(f"a callback that reads the module {module.__name__}")
            found[f"global {name}.{read.argval}"] = vars(module)[read.argval]
    return found


@functools.lru_cache(maxsize=1000)
def _reads_unnamed_settings(code: types.CodeType) -> bool:
    """Say whether some code has `jax.config` other than in `jax.config.jax_enable_x64`."""
    for inner in _codes(code):
        steps = [*dis.get_instructions(inner), None]
        for owner, config, setting in zip(steps, steps[1:], steps[2:], strict=False):
            if owner is None or config is None or config.argval != "config":
                continue
            is_imported = config.opname == "IMPORT_FROM" and owner.opname == "IMPORT_NAME"
            name = str(setting.argval) if setting and not is_imported else ""
            if str(owner.argval).split(".")[0] == "jax" and not name.startswith("jax_"):
                return True
    return False


_LOAD_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")


@functools.lru_cache(maxsize=1000)
def _globals_named(code: types.CodeType) -> frozenset[str]:
    return frozenset(
        each.argval
        for inner in _codes(code)
        for each in dis.get_instructions(inner)
        if each.opname in _LOAD_GLOBAL
    )


def _imported_by(function: types.FunctionType) -> Iterator[str]:
    """Yield the packages and modules of the top that a function imports when it is called."""
    for is_relative, name in _imports_in(function.__code__):
        within = function.__globals__.get("__package__")
        yield str(within if is_relative else name).partition(".")[0]


@functools.lru_cache(maxsize=1000)
def _imports_in(code: types.CodeType) -> tuple[tuple[bool, str], ...]:
    found = []
    for inner in _codes(code):
        steps = list(dis.get_instructions(inner))
        for level, _, step in zip(steps, steps[1:], steps[2:], strict=False):
            if step.opname == "IMPORT_NAME":  # after its level, and the names that it takes
                found.append((level.argval != 0, step.argval))
    return tuple(found)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from _codes(each)
