"""One executable for one program, whatever values its closures hold.

The const args are no part of what is compiled in the simplified pipeline, so closures of one
program over other values lower to the same module. JAX looks for what it lowered and compiled by
identity. So here a program that equals one before it (`equal_programs.py`) is lowered as that one,
which takes no lowering; and of a module that was lowered all the same, the executable is found by
its text. Everything else that decides (devices, layouts, options) stays JAX's key, but for
settings: some are in no key of JAX, so all are in ours. Sharing across processes is that of JAX's
persistent compilation cache, which compares modules as well. What calls functions of the user is
never shared, for it would keep them alive.

What is not lowered or compiled is not logged or dumped either; within a block of `unshared` it is.

Programs alone would not do: they are equal where their lines are, and those that hold what cannot
be compared equal none. Modules have no lines when they are compared. Modules alone, the alternative
that was here first, cost the lowering, half of the time of a closure.
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

# What is kept: a module, and with it some megabyte of the host for its MLIR context, with each
# program, and executables alone with the text of a module. What was met once, which is nearly all,
# soon goes, but for a hash that tells when it is met again; and then it stays.
MOST_MET_ONCE = 16
MOST_MET_AGAIN = 128
MOST_GONE = 4096
MOST_WITH_ONE_KEY = 8

T = TypeVar("T")


class _Firsts(Generic[T]):
    """What was there first among equals, for the keys that were asked for last.

    `while_alive` keeps what was met once only as long as somebody else does.

    Source: the 2Q algorithm (Johnson and Shasha, VLDB 1994).
    """

    def __init__(self, what: str, *, while_alive: bool) -> None:
        self._what = what
        self._held: Callable[[T], Callable[[], T | None]] = (
            weakref.ref if while_alive else lambda value: lambda: value
        )
        self._once: OrderedDict[Hashable, Callable[[], T | None]] = OrderedDict()
        self._again: OrderedDict[Hashable, list[T]] = OrderedDict()
        self._gone: OrderedDict[int, bool] = OrderedDict()  # hashes of keys that were met once
        self._lock = RLock()  # collecting garbage may run code of the user, which calls programs
        jax_internals.register_cache(self, f"{what} of engine.jit")

    def first_like(
        self,
        value: T,
        key: Hashable,
        are_equal: Callable[[T, T], bool] = lambda first, value: True,
        kept: Callable[[T], T] = lambda value: value,
    ) -> T:
        """The first with this key that equals a value; where there is none, what is kept of it.

        Values are compared and copied without the lock: to read an array waits for who computes it.
        """
        compared: list[T] = []
        while True:
            with self._lock:
                found = self._with_key(key)
            others = [first for first in found if not _is_among(first, compared)]
            for first in others:
                if are_equal(first, value):
                    with self._lock:
                        self._meet(key, first)
                    return first
            compared += others
            own = kept(value)
            with self._lock:
                if all(_is_among(first, compared) for first in self._with_key(key)):
                    self._meet(key, own)  # and no thread was faster
                    return own

    def _with_key(self, key: Hashable) -> list[T]:
        met_once = self._once[key]() if key in self._once else None
        return [*self._again.get(key, ()), *([] if met_once is None else [met_once])]

    def _meet(self, key: Hashable, first: T) -> None:
        if not (key in self._once or key in self._again or self._gone.pop(hash(key), False)):
            self._once[key] = self._held(first)
        else:
            others = [each for each in self._with_key(key) if each is not first]
            self._once.pop(key, None)
            self._again[key] = [*others, first][-MOST_WITH_ONE_KEY:]
            self._again.move_to_end(key)
        while len(self._once) > MOST_MET_ONCE:
            gone, _ = self._once.popitem(last=False)
            self._gone[hash(gone)] = True
        while len(self._gone) > MOST_GONE:
            self._gone.popitem(last=False)
        while sum(map(len, self._again.values())) > MOST_MET_AGAIN:
            self._again.popitem(last=False)

    def cache_clear(self) -> None:
        """Forget all of them; the protocol of JAX's caches."""
        with self._lock:
            for table in (self._once, self._again, self._gone):
                table.clear()

    def cache_info(self) -> str:
        """How full the table is, in words; the protocol of JAX's caches."""
        alive = sum(held() is not None for held in self._once.values())
        return (
            f"{alive} of {MOST_MET_ONCE} {self._what} met once, "
            f"{sum(map(len, self._again.values()))} of {MOST_MET_AGAIN} met again"
        )

    def cache_keys(self) -> list[Hashable]:
        """The keys of the table; the protocol of JAX's caches."""
        with self._lock:
            return [*self._once, *self._again]


def _is_among(value: Any, others: list[Any]) -> bool:
    return any(value is other for other in others)


_programs: _Firsts[ClosedJaxpr] = _Firsts("programs", while_alive=True)
_modules: _Firsts[jax_internals.Executables] = _Firsts("modules", while_alive=False)

# As which program each one is lowered; None for itself, as a table must not hold its own keys. JAX
# lowers a program once for each placement, by identity, so it goes as the same one each time.
_lowered_as: weakref.WeakKeyDictionary[ClosedJaxpr, ClosedJaxpr | None] = (
    weakref.WeakKeyDictionary()
)

_shares = ContextVar("_shares", default=True)


@contextmanager
def unshared() -> Iterator[None]:
    """Lower and compile each program that is new for itself in this block, for what measures that.

    with unshared():
        lowered.compile()
    """
    token = _shares.set(False)
    try:
        yield
    finally:
        _shares.reset(token)


def forget() -> None:
    """Let the next programs be the first of their kind; what exists goes on as it is."""
    _programs.cache_clear()
    _modules.cache_clear()


def as_lowered_first(closed_jaxpr: ClosedJaxpr, num_const_args: int) -> ClosedJaxpr:
    """The program to have JAX lower in the place of this one: an equal one, or itself.

    `num_const_args` of its inputs are const args, the first ones.

        closed_jaxpr = as_lowered_first(plan.closed_jaxpr, plan.num_const_args)
    """
    if closed_jaxpr not in _lowered_as:
        first = closed_jaxpr
        if _shares.get() and (outline := program_equality.outline(closed_jaxpr)) is not None:
            key = num_const_args, jax_internals.settings(), outline
            kept = program_equality.kept if outline.to_be_copied else lambda own: own
            first = _programs.first_like(closed_jaxpr, key, program_equality.are_equal, kept)
        _lowered_as.setdefault(closed_jaxpr, None if first is closed_jaxpr else first)
    return _lowered_as[closed_jaxpr] or closed_jaxpr


def compile_shared(computation: Any, **options: Any) -> jax_internals.Executable:
    """Compile, or find the executable of an equal module with the same devices and options.

    Only a program with const args is looked for: one without is its function's own, as in JAX.

    Source: `MeshComputation.compile` (jax 0.10.2).
    """
    if not computation.const_args:
        return computation.lowered.compile(**options)
    is_shared = _shares.get() and not jax_internals.holds_callbacks(computation)
    return jax_internals.compile_into(
        computation, _executables_of_text if is_shared else lambda module: {}, options
    )


def _executables_of_text(module: Any) -> jax_internals.Executables:
    """The executables of all modules of one text, source locations left out."""
    text = module.operation.get_asm(enable_debug_info=False)
    digest = hashlib.sha256(text.encode()).digest()
    return _modules.first_like({}, (digest, jax_internals.settings()))
