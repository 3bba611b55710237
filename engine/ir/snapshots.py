"""Capture by value: a NumPy array is copied when a program captures it.

An array has the value that it had when it was captured, whatever is written into it later, by the
traced function itself or by anybody else. Nothing in JAX promises this for NumPy arrays: a jaxpr
refers to the user's memory, so what is captured and then written to has its last value everywhere
in the program (jax 0.10.2), a program that is lowered again (for another device, say) inlines what
is there by then, and a const arg that happens to lie at a multiple of 64 bytes is never copied at
all on CPU and changes under the executable.

There is one copy for each value that an array had, and it is read-only. The copies cost host memory
once; to pass views and trust the user was the alternative, and it gives wrong results in silence.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Hashable, Iterator
from typing import Any

import jax
import numpy as np

from engine.configuration.trace_side import tracing_a_program
from engine.ir.jaxprs import ClosedJaxpr, Literal, constant_key, values_in
from engine.ir.rewriting import BodyRewriting

# The last copy of each piece of memory, and what was handed out of them, both by identity. JAX
# shares the bodies of inner functions among programs, so what is met here may have been met before.
_latest: weakref.WeakValueDictionary[Hashable, np.ndarray] = weakref.WeakValueDictionary()
_handed_out: weakref.WeakValueDictionary[tuple[int, int], np.ndarray] = (
    weakref.WeakValueDictionary()
)
_ours: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()
_met = threading.local()


def capture(value: Any) -> Any:
    """Return what stands for a captured value: a private copy, where its memory may be written to.

    An array that has not changed since it was copied is a view on the copy that there is, so that
    one array is one constant. Each object gets a view of its own: in the legacy form JAX tells
    constvars apart by the identity of the object, and ours is to print as JAX prints it.
    """
    if not _may_change(value):
        return value
    if value.ndim == 0:  # a number, to JAX, which does not ask which object it is
        number = value.copy()
        number.flags.writeable = False
        return number
    if (met := getattr(_met, "values", None)) is not None:
        met[id(value)] = value
    # By the type, too: JAX takes a plain array of NumPy for one that it has not met yet.
    key = type(value), constant_key(value)
    owner = _latest.get(key)
    if owner is None or not _same_bits(owner, value):
        _latest[key] = owner = _copy(value)
    view = _handed_out.get((id(value), id(owner)))
    if view is None:
        view = np.broadcast_to(owner, value.shape, subok=True)
        _handed_out[id(value), id(owner)] = _ours[id(view)] = view
    return view


@contextlib.contextmanager
def while_tracing() -> Iterator[None]:
    """Keep alive, within the block, what is captured in it: a program is traced there.

    One array is then one object to JAX throughout the trace, as it is where nothing is copied, and
    the memory of an array that is gone does not become that of another one.
    """
    if getattr(_met, "values", None) is not None:
        yield
        return
    _met.values = {}
    try:
        yield
    finally:
        _met.values = None


def capture_while_tracing(value: np.ndarray) -> np.ndarray:
    """Capture an array by copy in a program of the engine; those of plain JAX are left alone."""
    return capture(value) if tracing_a_program() else value


def snapshot(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Replace each NumPy array that could still be written to, in all bodies, by a private copy.

    What the engine traced has copies already. It also meets bodies that JAX traced before, for
    programs of its own.

    Literals get theirs in place: libraries tell jaxprs apart by identity (Equinox keeps one both as
    a param of an equation and where nobody else sees it), so a body must stay the object it is.
    Returns its argument where no constvar holds such an array.
    """
    # Asked first, for it is no in nearly all programs, and to rewrite takes several times as long.
    for value in values_in(closed_jaxpr):
        if isinstance(value, np.ndarray) and _may_change(value):
            return _Snapshot().closed(closed_jaxpr)
    return closed_jaxpr


def _may_change(value: Any) -> bool:
    """Whether somebody could write to the memory of a captured value, now or later.

    Only memory that is immutable by type is trusted: that of `bytes`, and what a `jax.Array` hands
    out. A read-only flag can be taken back, and a view on a bytearray or on a mapped file does not
    even need that.
    """
    if not isinstance(value, np.ndarray) or value.size == 0:
        return False
    if value.ndim == 0:  # what is nobody's and read-only is a copy of `capture`
        return value.flags.writeable or value.base is not None
    if _ours.get(id(value)) is value:
        return False
    owner: Any = value
    while isinstance(owner, (np.ndarray, memoryview)):
        if _is_writeable(owner):
            return True
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    return not isinstance(owner, (bytes, jax.Array))


def _is_writeable(memory: np.ndarray | memoryview) -> bool:
    return memory.flags.writeable if isinstance(memory, np.ndarray) else not memory.readonly


def _copy(value: np.ndarray) -> np.ndarray:
    """A read-only copy with the dtype of an array, and without its repeats (zero strides)."""
    copied = without_repeats(value).copy(order="K")
    copied.flags.writeable = False
    return copied


def without_repeats(value: np.ndarray) -> np.ndarray:
    """A broadcast array stays as small as it is; JAX inlines those as a broadcast."""
    return value[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in value.strides)]


def _same_bits(copied: np.ndarray, value: np.ndarray) -> bool:
    """Whether two arrays of one shape and dtype are equal bit by bit: NaN is NaN, -0.0 is not 0.0.

    Looked at as bytes, for NumPy compares numbers, and in the order of the copy's memory.
    """
    order = np.argsort(copied.strides)[::-1]
    return np.array_equal(_bytes(copied, order), _bytes(without_repeats(value), order))


def _bytes(value: np.ndarray, order: np.ndarray) -> np.ndarray:
    plain = np.asarray(value).transpose(order)
    return np.ascontiguousarray(plain).reshape(-1).view(np.uint8)


class _Snapshot(BodyRewriting):
    """One run of `snapshot`."""

    def constant(self, value: Any) -> Any:
        return capture(value)

    def atom(self, atom: Any) -> Any:
        if isinstance(atom, Literal):
            atom.val = capture(atom.val)
        return atom
