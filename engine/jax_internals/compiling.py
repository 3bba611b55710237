"""Compiling, with one executable for all modules of one text.

JAX finds what it compiled by the module and forgets it with the module. Here executables are found
by the text of the module and all settings (`engine/runtime/executable_cache.py` holds the table);
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

Executables = dict[tuple, Any]
"""What was compiled of modules of one text, by all else that decides: JAX's own key."""


MOST_OF_ONE_TEXT = 8


# The module that this thread compiles, and the table that its executable goes into.
being_compiled: ContextVar[tuple[Any, Executables] | None] = ContextVar(
    "being_compiled", default=None
)


@dataclasses.dataclass
class _Compiled:
    """What was compiled of one lowered program, by settings: for JAX's keys, and for its own."""

    shared: dict[Settings, Executables] = dataclasses.field(default_factory=dict)
    own: dict[Settings, Executable] = dataclasses.field(default_factory=dict)


_compiled: weakref.WeakKeyDictionary[pxla.MeshComputation, _Compiled] = weakref.WeakKeyDictionary()


_settings_of: weakref.WeakKeyDictionary[Any, Settings] = weakref.WeakKeyDictionary()  # of modules


def compile_into(
    computation: Computation, executables_of: Callable[[Any], Executables], options: dict
) -> Executable:
    """Compile a computation, or find among the executables of its module what is compiled already.

    `executables_of` is asked for those where the program has not been compiled yet under the
    settings that are in force. `options` are those of `compile`.
    """
    has_options = any(options.values())
    if computation._executable is not None and not has_options:
        return computation._executable
    compiled = _compiled.setdefault(computation.lowered, _Compiled())
    now = settings()
    if has_options or now not in compiled.own:
        if now not in compiled.shared:
            compiled.shared.setdefault(now, executables_of(computation._hlo))
        twin = copy.copy(computation)  # another thread may give the original its executable
        twin._executable, twin._hlo = None, _for_settings(computation._hlo, now)
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


def _for_settings(module: Any, now: Settings) -> Any:
    """A module, or a copy of it: JAX finds what it compiled by the module, whatever was set."""
    if _settings_of.setdefault(module, now) == now:
        return module
    with module.context:
        return _ir.Module.parse(mlir.module_to_bytecode(module))


def holds_callbacks(computation: Computation) -> bool:
    """Whether a lowered program calls functions of the user, which what is compiled keeps alive."""
    return bool(computation.compile_args["host_callbacks"] or computation.compile_args["keepalive"])


def register_cache(cache: Any, name: str) -> None:
    """Have `jax.clear_caches` clear a table that follows the protocol of JAX's caches."""
    _util.register_cache(cache, name)


def const_shardings(executable: Any, count: int) -> Sequence[Any]:
    """The shardings that an executable takes its leading `count` inputs in: the const args."""
    return executable._in_shardings[:count]
