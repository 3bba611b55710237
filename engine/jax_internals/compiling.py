"""Compiling, with one executable for all modules of one text.

JAX finds an executable by the identity of its module, and forgets it with the module. Here the key
is the module's text and all settings: `engine/runtime/executable_cache.py` holds the table, and
`hooks.py` puts the look-up into JAX.
"""

from __future__ import annotations

import copy
import dataclasses
import weakref
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from jax._src import util as _util
from jax._src.interpreters import mlir, pxla
from jax._src.lib.mlir import ir as _ir

from engine.jax_internals.lowering import Computation
from engine.jax_internals.names import Executable
from engine.jax_internals.settings import Settings, settings

# The executables of modules of one text, by JAX's own key: devices, layouts, options.
Executables = dict[tuple[Any, ...], Any]
MOST_OF_ONE_TEXT = 8  # executables in one such table

# The module that this thread compiles, and the table that its executable goes into.
being_compiled: ContextVar[tuple[Any, Executables] | None] = ContextVar(
    "being_compiled", default=None
)


@dataclasses.dataclass
class _CompiledProgram:
    """The executables of one lowered program, by settings.

    - `shared`: the tables that it shares with programs of the same text.
    - `own`: its executable without compiler options.
    """

    shared: dict[Settings, Executables] = dataclasses.field(default_factory=dict)
    own: dict[Settings, Executable] = dataclasses.field(default_factory=dict)


_compiled_programs: weakref.WeakKeyDictionary[pxla.MeshComputation, _CompiledProgram] = (
    weakref.WeakKeyDictionary()
)

# The settings that each module was compiled under first.
_first_settings: weakref.WeakKeyDictionary[Any, Settings] = weakref.WeakKeyDictionary()


def compile_into(
    computation: Computation, executables_of: Callable[[Any], Executables], options: dict[str, Any]
) -> Executable:
    """Compile a computation, or find its executable among those of its module.

    `executables_of(module)` returns the table to share; it is called where the program has not been
    compiled under the settings in force. `options` are the keywords of `MeshComputation.compile`.
    """
    has_options = any(options.values())
    if computation._executable is not None and not has_options:
        return computation._executable
    compiled = _compiled_programs.setdefault(computation.lowered, _CompiledProgram())
    now = settings()
    if has_options or now not in compiled.own:
        if now not in compiled.shared:
            compiled.shared.setdefault(now, executables_of(computation._hlo))
        # A copy, because another thread may set the executable of the original meanwhile.
        twin = copy.copy(computation)
        twin._executable, twin._hlo = None, _module_for(computation._hlo, now)
        token = being_compiled.set((twin._hlo, compiled.shared[now]))
        try:
            executable = twin.compile(**options)
        finally:
            being_compiled.reset(token)
        if has_options:
            return executable
        compiled.own.setdefault(now, executable)
    computation._executable = compiled.own[now]
    return computation._executable


def _module_for(module: Any, now: Settings) -> Any:
    """Return the module, or a copy if other settings compiled it before: JAX's key omits them."""
    if _first_settings.setdefault(module, now) == now:
        return module
    with module.context:
        return _ir.Module.parse(mlir.module_to_bytecode(module))


def holds_callbacks(computation: Computation) -> bool:
    """Say whether a program calls the user's functions, which its executable keeps alive."""
    return bool(computation.compile_args["host_callbacks"] or computation.compile_args["keepalive"])


def register_cache(cache: Any, name: str) -> None:
    """Let `jax.clear_caches` clear a table that follows the protocol of JAX's caches."""
    _util.register_cache(cache, name)


def const_shardings(executable: Any, count: int) -> Sequence[Any]:
    """Return the shardings of the first `count` inputs of an executable: its const args."""
    return list(executable._in_shardings[:count])
