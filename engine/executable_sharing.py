"""One executable for one program, whatever values its closures hold.

The const args are no part of what is compiled in the simplified pipeline, so closures of one
program over other values lower to the same module. JAX looks for an executable by the identity of
the module; here a module that is lowered again goes to the compiler as the equal one that was
there first, and everything else that decides (devices, layouts, options, callbacks) stays JAX's
key. Sharing across processes is that of JAX's persistent compilation cache, which compares modules
as well.

The alternative was to look for an equal jaxpr before lowering. It would save the lowering, too, but
it takes an equality of jaxprs that is right for every param of every primitive.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

from engine import jax_internals

# Of the modules that are kept; each keeps its executables alive in JAX's cache.
MOST_MODULES = 256


class _Modules:
    """The modules that were compiled last, by a hash of their text without source locations."""

    def __init__(self) -> None:
        self._modules: OrderedDict[bytes, Any] = OrderedDict()
        self._lock = Lock()
        jax_internals.register_cache(self, "modules of engine.jit")

    def first_like(self, module: Any) -> Any:
        """The module of the same text that was here first; this one where there was none."""
        text = module.operation.get_asm(enable_debug_info=False)
        digest = hashlib.sha256(text.encode()).digest()
        with self._lock:
            first = self._modules.setdefault(digest, module)
            self._modules.move_to_end(digest)
            while len(self._modules) > MOST_MODULES:
                self._modules.popitem(last=False)
        return first

    def cache_clear(self) -> None:
        """Forget every module; the protocol of JAX's caches."""
        with self._lock:
            self._modules.clear()

    def cache_info(self) -> str:
        """How full the table is, in words; the protocol of JAX's caches."""
        return f"{len(self._modules)} of {MOST_MODULES} modules"

    def cache_keys(self) -> list[bytes]:
        """The hashes of the modules; the protocol of JAX's caches."""
        return list(self._modules)


_modules = _Modules()
_shares = ContextVar("_shares", default=True)


@contextmanager
def unshared() -> Iterator[None]:
    """Compile every program for itself in this block: what measures compiling asks for.

    with unshared():
        lowered.compile()
    """
    token = _shares.set(False)
    try:
        yield
    finally:
        _shares.reset(token)


def compile_shared(computation: Any, **options: Any) -> jax_internals.Executable:
    """Compile, or find the executable of an equal module with the same devices and options.

    Only a program with const args is looked for: one without is its function's own, as in JAX.

    Source: `MeshComputation.compile` (jax 0.10.2).
    """
    if not computation.const_args or not _shares.get():
        return computation.compile(**options)
    return jax_internals.compile_as(computation, _modules.first_like, options)
