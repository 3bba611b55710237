"""Checks of our sides on captured arrays: the const args hold them, and no result follows a write.

Stock JAX shows its const args in no stage, and does not promise that a write changes no result. So
only our own sides are checked.
"""

from __future__ import annotations

import functools
import inspect
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from parity_tests.evidence.values import devices_of, sharding_of
from parity_tests.jax_defaults import jax_defaults
from parity_tests.jaxpr.captured import digest_of
from parity_tests.jaxpr.counts import JaxprFacts
from parity_tests.observe import device_buffers
from parity_tests.observe.calls import Result
from parity_tests.own_jit import called_function
from parity_tests.proof.contents import uncached
from reports.rows import Check
from reports.rows.check_names import BUFFERS, SHARDINGS, VALUES, WRITES
from reports.views.texts import counted, type_of


def check_const_args(
    const_args: list[Any], facts: JaxprFacts, donated: Collection[Any] = ()
) -> tuple[Check, ...]:
    """Check values, buffers and shardings of the const args of a lowered program.

    Each must have the elements of a captured array. Arrays on one device are passed without a copy
    if their layout allows it, and arrays on several devices keep their sharding. `donated` has the
    shapes and dtypes of donated arguments: a captured array of such a type is copied, because it
    could be passed as that argument.
    """
    captured = [each.value for each in (*facts.captured, *facts.small_keys)]
    held = {_content(value) for value in captured}
    strange = [each for each in const_args if _content(each) not in held]
    count = f"{counted(len(const_args), 'const arg')} passed"
    return (
        Check(
            name=VALUES,
            holds=not strange,
            statement=f"{count}, of which {len(strange)} hold what no captured array holds",
        ),
        _buffers(
            const_args,
            [each for each in captured if (tuple(each.shape), each.dtype) not in donated],
        ),
        _shardings(const_args, captured),
    )


def _buffers(const_args: list[Any], captured: list[Any]) -> Check:
    pointers = {_pointer(value) for value in captured} - {None}
    copied = len(pointers - {_pointer(value) for value in const_args})
    # Arrays that dead code alone reads are not passed, and so are not missing.
    missing = copied - max(0, len(captured) - len(const_args))
    return Check(
        name=BUFFERS,
        holds=missing <= 0,
        statement=f"{max(0, missing)} of {counted(len(pointers), 'captured buffer')} are copied",
    )


def _shardings(const_args: list[Any], captured: list[Any]) -> Check:
    over_many, passed = (
        {sharding_of(each) for each in values if devices_of(each) > 1}
        for values in (captured, const_args)
    )
    lost = over_many - passed if len(const_args) == len(captured) else passed - over_many
    return Check(
        name=SHARDINGS,
        holds=not lost,
        statement=f"{counted(len(lost), 'sharding')} of captured arrays over several devices lost"
        if lost
        else "arrays over several devices keep their shardings",
    )


def _content(value: Any) -> tuple[Any, ...]:
    return tuple(value.shape), str(value.dtype), digest_of(value)


def _pointer(value: Any) -> int | None:
    """Return the address of the array's one buffer; None for NumPy's, keys, shards, own layouts."""
    if not isinstance(value, jax.Array) or jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
        return None
    if devices_of(value) > 1 or not value.size:
        return None
    layout = value.format.layout  # type: ignore[attr-defined]
    if layout is not None and tuple(layout.major_to_minor) != tuple(range(np.ndim(value))):
        return None
    return value.unsafe_buffer_pointer()


# -- writes into captured arrays -------------------------------------------------------------------

CHECKED_BYTES = 2**24  # of one array


def check_writes(
    fun: Callable[..., Any],
    first: Result,
    call: functools.partial[Any],
    count: Callable[[], JaxprFacts],
    *,
    may_call: bool,
) -> tuple[Check, ...]:
    """Check that neither a call nor the constants of the jaxpr follow a write.

    No check is made where no array can be written to. `count` counts over the jaxpr. `call` is made
    only if it `may_call`: values that Python reads in a callback, and the state of a program, are
    no constants. It is made with copies of its NumPy arguments, because they may be captured arrays
    as well. Arrays that share memory with an array of JAX are not written to, because JAX takes
    that memory to be unchanging. The arrays of the user are restored in any case.
    """
    writeable = writeable_arrays(fun)
    if not writeable:
        return ()
    facts = count()
    inputs = (call.args, call.keywords)
    of_jax = device_buffers.of([*(each.value for each in facts.captured), *jax.tree.leaves(inputs)])
    arrays = [each for each in writeable if not device_buffers.overlaps(each, of_jax)]
    if not arrays:
        return ()
    args, kwargs = jax.tree.map(_copy_of_numpy, inputs)
    before = facts.digest_of_captured()
    with _overwritten(arrays):
        after = count().digest_of_captured()
        later = first
        if may_call:
            later = Result.read(jax.block_until_ready(call.func(*args, **kwargs)))
    found = []
    if before != after:
        found.append("the jaxpr holds what was written into a captured array after it was traced")
    if apart := first.differs(later):
        found.append(f"a call after writing into captured arrays differs from the first {apart}")
    return (Check(name=WRITES, holds=not found, statement="; ".join(found) or "never seen"),)


def writeable_arrays(fun: Callable[..., Any]) -> list[np.ndarray[Any, Any]]:
    """Find the NumPy arrays with elements that a function refers to and that can be written to.

    In its closure, the globals that it names, its defaults and, of an object that is called, its
    attributes, and in dictionaries, lists and tuples there; arrays that a function called by it
    refers to are not found.
    """
    held = [getattr(fun, "__defaults__", None), getattr(fun, "__self__", None), fun]
    try:
        variables = inspect.getclosurevars(inspect.unwrap(called_function(fun)))
    except (TypeError, ValueError):  # no Python function: a partial, a bound method of C
        return []
    attributes = [each.__dict__ for each in held if hasattr(each, "__dict__")]
    names = [*variables.nonlocals.values(), *variables.globals.values()]
    return [
        each
        for each in _arrays_in([*names, *held, *attributes])
        if each.size and each.flags.writeable and each.dtype.kind in "biufc"
    ]


class Watched:
    """The NumPy arrays that a function may write to, as they are now.

    The checksum of a large array is of every n-th element.

    Example::

        watched = Watched(step)
        step(x)
        watched.written() == ("float32[64]",)
    """

    def __init__(self, fun: Callable[..., Any]) -> None:
        self._fun = fun
        self._known: dict[int, tuple[np.ndarray[Any, Any], int]] = {}
        self._written: dict[int, np.ndarray[Any, Any]] = {}
        self.look()

    def look(self) -> None:
        """Look at the arrays that the function refers to now, which may be others than before."""
        now = {id(each): (each, _checksum(each)) for each in writeable_arrays(self._fun)}
        for key, (array, checksum) in now.items():
            if key in self._known and self._known[key][1] != checksum:
                self._written[key] = array
        self._known = now

    def written(self, *, in_place: bool = False) -> tuple[str, ...]:
        """Return the types of the arrays that were written into between two looks, each once.

        A type that another array has too, which is as it was, is left out. With `in_place` those
        are left out that JAX copies before it computes with them, because they are strided.
        """
        self.look()
        same = {type_of(each) for key, (each, _) in self._known.items() if key not in self._written}
        found = (each for each in self._written.values() if each.flags.c_contiguous or not in_place)
        return tuple(dict.fromkeys(type_ for type_ in map(type_of, found) if type_ not in same))


@jax_defaults()  # the user's transfer guard
def memory_of(array: jax.Array) -> list[int] | None:
    """Return checksums of memory that NumPy may share; None where it shares none of the array's.

    The checksum of a large shard is of every n-th element.
    """
    devices: Collection[Any] = array.sharding.addressable_devices
    if any(each.platform != "cpu" for each in devices):
        return None
    return [_checksum(uncached(each.data)) for each in array.addressable_shards]


def _checksum(array: np.ndarray[Any, Any]) -> int:
    step = max(1, array.nbytes // CHECKED_BYTES)
    return zlib.crc32(array.reshape(-1)[::step].tobytes())


def _arrays_in(values: Iterable[Any]) -> Iterator[np.ndarray[Any, Any]]:
    """Find NumPy arrays, each once. Not with `jax.tree`: a user's dictionary may be no tree."""
    waiting, seen = list(values), set[int]()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value


def _copy_of_numpy(leaf: Any) -> Any:
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf


@contextmanager
def _overwritten(arrays: list[np.ndarray[Any, Any]]) -> Iterator[None]:
    """Write other numbers into arrays, and restore their elements in the end."""
    kept = [each.copy() for each in arrays]  # all before the first write: they may share memory
    try:
        for array in arrays:
            array[...] = (array == 0).astype(array.dtype)
        yield
    finally:
        for array, copy in zip(arrays, kept, strict=True):
            array[...] = copy
