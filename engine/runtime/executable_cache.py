"""Share one lowering and one executable among closures of one program over different values.

In the simplified pipeline the compiled module does not contain the const args, so such closures
lower to the same module. JAX finds its lowerings and executables by identity only. Here, a program
that equals an earlier one (`program_equality`) is replaced by it and needs no lowering. A program
that is lowered nevertheless finds its executable by the text of its module. The rest of the key
(devices, layouts, options) is JAX's, plus all settings: JAX leaves some out of its keys. JAX's
persistent compilation cache shares across processes; it compares modules, too. Programs that call
the user's functions are never shared, because the cache would keep these functions alive.

A shared program is neither logged nor dumped again; in a block of `unshared` every one is.

Why two levels: comparing programs misses those with other source lines or with params that cannot
be compared, while modules are compared without lines. Comparing modules alone still costs the
lowering, half of a closure's first call.
"""

from __future__ import annotations

import hashlib
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any, Generic, TypeVar

from engine import jax_internals
from engine.ir.jaxprs import ClosedJaxpr
from engine.runtime import program_equality

# Numbers of values. A cached program keeps its module, about a megabyte of host memory for the MLIR
# context; a module's text keeps executables only. Seen once: evicted early, its hash kept. Seen
# twice: long-lived (2Q).
MAX_SEEN_ONCE = 16
MAX_SEEN_TWICE = 128
MAX_EVICTED = 4096
MAX_PER_KEY = 8

T = TypeVar("T")


class _FirstSeen(Generic[T]):
    """Cache of the first of equal values; a key narrows the search to at most `MAX_PER_KEY`.

    With `while_alive`, a value seen once lives only as long as others hold it.

    Source: the 2Q algorithm (Johnson and Shasha, VLDB 1994).
    """

    def __init__(self, what: str, *, while_alive: bool) -> None:
        self._what = what
        self._reference_to: Callable[[T], Callable[[], T | None]] = (
            weakref.ref if while_alive else lambda value: lambda: value
        )
        self._seen_once: OrderedDict[Hashable, Callable[[], T | None]] = OrderedDict()
        self._seen_twice: OrderedDict[Hashable, list[T]] = OrderedDict()
        self._evicted: OrderedDict[int, bool] = OrderedDict()  # hashes of keys seen once
        self._lock = RLock()  # reentrant: a finalizer of the user's may call programs
        jax_internals.register_cache(self, f"{what} of engine.jit")

    def first_like(
        self,
        value: T,
        key: Hashable,
        are_equal: Callable[[T, T], bool] = lambda first, value: True,
        copied: Callable[[T], T] = lambda value: value,
    ) -> T:
        """Return the cached value with this key that equals `value`; cache `value` if none does.

        The cache holds `copied(value)`, and returns that. Values are compared and copied without
        the lock, because reading an array waits until it is computed.
        """
        compared: list[T] = []
        while True:
            with self._lock:
                found = self._with_key(key)
            uncompared = [first for first in found if not _is_among(first, compared)]
            for first in uncompared:
                if are_equal(first, value):
                    with self._lock:
                        self._note_use(key, first)
                    return first
            compared += uncompared
            own = copied(value)
            with self._lock:
                if all(_is_among(first, compared) for first in self._with_key(key)):
                    self._note_use(key, own)  # no other thread added a value meanwhile
                    return own

    def _with_key(self, key: Hashable) -> list[T]:
        seen_once = self._seen_once[key]() if key in self._seen_once else None
        return [*self._seen_twice.get(key, ()), *([] if seen_once is None else [seen_once])]

    def _note_use(self, key: Hashable, first: T) -> None:
        is_known = key in self._seen_once or key in self._seen_twice
        if not (is_known or self._evicted.pop(hash(key), False)):
            self._seen_once[key] = self._reference_to(first)
            while len(self._seen_once) > MAX_SEEN_ONCE:
                evicted, _ = self._seen_once.popitem(last=False)
                self._evicted[hash(evicted)] = True
            while len(self._evicted) > MAX_EVICTED:
                self._evicted.popitem(last=False)
            return
        others = [each for each in self._with_key(key) if each is not first]
        self._seen_once.pop(key, None)
        self._seen_twice[key] = [*others, first][-MAX_PER_KEY:]
        self._seen_twice.move_to_end(key)
        while sum(map(len, self._seen_twice.values())) > MAX_SEEN_TWICE:
            self._seen_twice.popitem(last=False)

    def cache_clear(self) -> None:
        """Forget everything; part of JAX's protocol of caches."""
        with self._lock:
            for table in (self._seen_once, self._seen_twice, self._evicted):
                table.clear()

    def cache_info(self) -> str:
        """Say how full the cache is, in words; part of JAX's protocol of caches."""
        alive = sum(reference() is not None for reference in self._seen_once.values())
        return (
            f"{alive} of {MAX_SEEN_ONCE} {self._what} seen once, "
            f"{sum(map(len, self._seen_twice.values()))} of {MAX_SEEN_TWICE} seen twice"
        )

    def cache_keys(self) -> list[Hashable]:
        """Return the keys of the cache; part of JAX's protocol of caches."""
        with self._lock:
            return [*self._seen_once, *self._seen_twice]


def _is_among(value: Any, others: list[Any]) -> bool:
    return any(value is other for other in others)


_programs: _FirstSeen[ClosedJaxpr] = _FirstSeen("programs", while_alive=True)
_modules: _FirstSeen[jax_internals.Executables] = _FirstSeen("modules", while_alive=False)

# The program lowered in its place; None means itself, because a value must not keep its own key
# alive. Remembered, so that the answer never changes: JAX finds its lowerings by identity.
_lowered_instead: weakref.WeakKeyDictionary[ClosedJaxpr, ClosedJaxpr | None] = (
    weakref.WeakKeyDictionary()
)

_shares = ContextVar("_shares", default=True)


@contextmanager
def unshared() -> Iterator[None]:
    """Share nothing in this block: lower and compile each new program, to measure or to log it.

    Example::

        with unshared():
            lowered.compile()
    """
    token = _shares.set(False)
    try:
        yield
    finally:
        _shares.reset(token)


def forget() -> None:
    """Empty the caches; programs that exist keep their lowerings and executables."""
    _programs.cache_clear()
    _modules.cache_clear()


def as_lowered_first(closed_jaxpr: ClosedJaxpr, num_const_args: int) -> ClosedJaxpr:
    """Return the first program seen that equals this one, for JAX to lower in its place; or itself.

    The first `num_const_args` inputs of the program are const args.

    Example::

        closed_jaxpr = as_lowered_first(plan.closed_jaxpr, plan.num_const_args)
    """
    if closed_jaxpr in _lowered_instead:
        return _lowered_instead[closed_jaxpr] or closed_jaxpr
    first = closed_jaxpr
    if _shares.get() and (outline := program_equality.outline(closed_jaxpr)) is not None:
        key = num_const_args, outline.number, jax_internals.settings()
        copied = program_equality.kept if outline.to_be_copied else lambda own: own
        first = _programs.first_like(closed_jaxpr, key, program_equality.are_equal, copied)
    instead = None if first is closed_jaxpr else first
    return _lowered_instead.setdefault(closed_jaxpr, instead) or closed_jaxpr


def compile_shared(computation: Any, **options: Any) -> jax_internals.Executable:
    """Compile, or find the executable of an equal module with the same devices and options.

    Programs without const args are compiled as in JAX, without a search.

    Example::

        executable = compile_shared(computation, compiler_options=None)

    Source: `MeshComputation.compile` (jax 0.10.2).
    """
    if not computation.const_args:
        executable: jax_internals.Executable = computation.lowered.compile(**options)
        return executable
    is_shared = _shares.get() and not jax_internals.holds_callbacks(computation)
    return jax_internals.compile_into(
        computation, _executables_of_text if is_shared else lambda module: {}, options
    )


def _executables_of_text(module: Any) -> jax_internals.Executables:
    """Return the executables of all modules with the same text, without source locations."""
    text = module.operation.get_asm(enable_debug_info=False)
    digest = hashlib.sha256(text.encode()).digest()
    return _modules.first_like({}, (digest, jax_internals.settings()))
