"""Capture by value: a NumPy array is copied when a program captures it.

A program uses an array's value at the time of capture, whatever is written to the array later, by
the traced function itself or by others. JAX does not promise this for NumPy arrays (jax 0.10.2): a
jaxpr refers to the user's memory. So an array that is written to after its capture has its last
value everywhere in the program; a program that is lowered again (for another device, say) inlines
the value of that moment; and on CPU a const arg that lies at a multiple of 64 bytes is never copied
and changes under the executable.

There is one read-only copy for each value that an array had. The copies cost host memory once; the
alternative, to pass views and trust the user, gives wrong results in silence.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Hashable
from typing import Any

import jax
import numpy as np

from engine import jax_internals
from engine.ir.jaxprs import ClosedJaxpr, Literal, constant_key, values_in
from engine.ir.rewriting import BodyRewriting

# The latest copy of each piece of memory; the view on a copy that each captured object got; and all
# these views. JAX shares bodies of inner functions among programs, so a program may capture a view.
_latest: weakref.WeakValueDictionary[tuple[type, Hashable], np.ndarray] = (
    weakref.WeakValueDictionary()
)
_view_of: weakref.WeakValueDictionary[tuple[int, int], np.ndarray] = weakref.WeakValueDictionary()
_views: weakref.WeakValueDictionary[int, np.ndarray] = weakref.WeakValueDictionary()
_kept_alive = threading.local()
_copies = True


def copies_are_made() -> bool:
    """Say whether captured NumPy arrays are copied in this process."""
    return _copies


def leave_arrays_as_they_are() -> None:
    """Copy no captured array from now on: programs read the user's memory when JAX's would.

    For a tester that shows what the flip does on stock JAX. It must come before any trace.

    Example::

        leave_arrays_as_they_are()
        engine.config.update("strict_placement", True)
    """
    global _copies
    _copies = False


def capture(value: Any) -> Any:
    """Return a captured value, or a private read-only copy if its memory may be written to.

    An array that is unchanged since its last copy gets a view on that copy, so one array is one
    constant. Each object gets a view of its own: in the legacy form JAX tells constvars apart by
    the identity of the object, and our jaxprs must print as JAX's do.

    Example::

        captured = capture(table)
        table[0] += 1  # `captured` keeps the old value
    """
    if not _may_change(value):
        return value
    if value.ndim == 0:  # JAX takes it for a number and ignores its identity
        number = value.copy()
        jax_internals.keep_aval(number, value)
        number.flags.writeable = False
        return number
    if (alive := getattr(_kept_alive, "values", None)) is not None:
        alive[id(value)] = value
    # The type is part of the key: JAX takes a plain NumPy array for one that it has not wrapped.
    key = type(value), constant_key(value)
    owner = _latest.get(key)
    if owner is None or not _same_bits(owner, value):
        _latest[key] = owner = _copy(value)
    view = _view_of.get((id(value), id(owner)))
    if view is None:
        # `broadcast_to` makes the stride of an axis of size 1 zero: for JAX, an array with repeats.
        has_repeats = 0 in value.strides
        view = np.broadcast_to(owner, value.shape, subok=True) if has_repeats else owner.view()
        jax_internals.keep_aval(view, value)
        _view_of[id(value), id(owner)] = _views[id(view)] = view
    return view


def memory_captured(value: np.ndarray) -> Hashable:
    """Return the `constant_key` of the array that a captured copy was made of, else of the array.

    Example::

        memory_captured(closed_jaxpr.consts[0]) == constant_key(table)
    """
    copies = ((key[1], copied) for key, copied in list(_latest.items()))
    return next((key for key, copied in copies if copied is value.base), constant_key(value))


class while_tracing:
    """Keep the arrays that are captured in this block alive until it ends; put it around a trace.

    One array is then one object to JAX throughout the trace, as it is without copies, and memory of
    a deleted array is not reused for another captured array.
    """

    __slots__ = ("_is_outermost",)

    def __enter__(self) -> None:
        self._is_outermost = getattr(_kept_alive, "values", None) is None
        if self._is_outermost:
            _kept_alive.values = {}

    def __exit__(self, *_: Any) -> None:
        if self._is_outermost:
            _kept_alive.values = None


def snapshot(closed_jaxpr: ClosedJaxpr) -> ClosedJaxpr:
    """Replace each NumPy array that may be written to with a private copy, in all bodies.

    Programs that the engine traced have copies already. But they may contain bodies that JAX traced
    earlier, for programs of its own.

    Literals are changed in place: libraries tell jaxprs apart by identity (Equinox keeps one both
    as a param of an equation and where nobody else sees it), so a body must stay the same object.
    Returns its argument if no constvar holds such an array.
    """
    # Check first: nearly all programs need no copy, and rewriting takes several times as long.
    values = values_in(closed_jaxpr)
    has_numpy_arrays = any(issubclass(each, np.ndarray) for each in set(map(type, values)))
    if has_numpy_arrays and any(map(_may_change, values)):
        return _Snapshot().body(closed_jaxpr)
    return closed_jaxpr


def _may_change(value: Any) -> bool:
    """Say whether somebody could write to the memory of a captured value, now or later.

    Only memory that is immutable by type is trusted: `bytes`, and memory that a `jax.Array` owns. A
    read-only flag can be cleared again, and a bytearray or a mapped file can change under a
    read-only view.
    """
    if not _copies or not isinstance(value, np.ndarray) or value.size == 0:
        return False
    if value.ndim == 0:  # read-only and without a base: a copy made by `capture`
        return value.flags.writeable or value.base is not None
    if _views.get(id(value)) is value:
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
    """Make a read-only copy of an array, of its dtype, without its repeats (zero strides)."""
    copied = without_repeats(value).copy(order="K")
    copied.flags.writeable = False
    return copied


def without_repeats(value: np.ndarray) -> np.ndarray:
    """Return a broadcast array cut to its own elements: size 1 where the stride is 0."""
    return value[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in value.strides)]


def _same_bits(copied: np.ndarray, value: np.ndarray) -> bool:
    """Say whether two arrays of one shape and dtype are equal bitwise: NaN is NaN, -0.0 not 0.0.

    Compared as bytes, because NumPy compares numbers, and in the memory order of the copy.
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
