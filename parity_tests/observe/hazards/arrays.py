"""Hazards of captured arrays by what is done with them: written to, donated, passed, computed."""

from __future__ import annotations

import mmap
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from parity_tests.advice import advice
from parity_tests.jaxpr.bodies import bodies_of, folded, inner
from parity_tests.jaxpr.captured import identity
from parity_tests.jaxpr.captured_uses import CapturedUse, stock_const_args
from parity_tests.jaxpr.work import constant_work
from parity_tests.observe.device_buffers import Held, overlaps
from parity_tests.observe.device_buffers import of as buffers_of
from parity_tests.observe.hazards.devices import runs_on
from parity_tests.observe.hazards.traced_program import TracedProgram, hazard_of, hoisted_uses
from parity_tests.proof.functions import arrays_reached
from reports.rows import Hazard
from reports.views.figures import humanise_bytes, humanise_count
from reports.views.texts import counted


def writeable_numpy_array(traced: TracedProgram) -> Iterator[Hazard]:
    """Find captured NumPy arrays that can be written to after the program was traced.

    Legacy has inlined the value at tracing. Stock simplified on a CPU may compute in the memory of
    the array itself, and then sees what is written. Look-alikes: an array that is read-only and
    has its own memory, or that nobody but the program holds, because it was made while the function
    was traced.
    """
    views = _views(stock_const_args(traced.closed.jaxpr, embed_threshold=traced.embed_threshold))
    reached = _reached_by_callbacks(traced.closed)
    for use in traced.uses:
        array = use.array.value
        written = _what_can_be_written_to(array, views) if isinstance(array, np.ndarray) else ""
        if written or any(_shares_memory(array, each) for each in reached):
            written = written or "the array of a callback in whose memory it lies"
            yield hazard_of(
                "writeable NumPy array",
                use,
                f"if {written} is written to after the first call, legacy keeps the value that was "
                "traced, and stock simplified on a CPU computes with the new one where the array's "
                "memory happens to be 64-byte aligned: silently, and not in every run",
                advice("capture a copy"),
            )


def _reached_by_callbacks(closed: Any) -> list[np.ndarray[Any, Any]]:
    """Return the NumPy arrays that can be written to by callbacks of a program."""
    found: list[np.ndarray[Any, Any]] = []

    def look(jaxpr: Any, inside: Callable[[Any], None]) -> None:
        for equation in jaxpr.eqns:
            if "callback" in equation.primitive.name:
                found.extend(arrays_reached(equation.params["callback"]))
            for body in bodies_of(equation):
                inside(body.jaxpr)

    folded(closed, look)
    return [each for each in found if each.flags.writeable]


def _shares_memory(captured: Any, array: np.ndarray[Any, Any]) -> bool:
    if isinstance(captured, np.ndarray):
        return np.may_share_memory(captured, array)
    return overlaps(array, buffers_of([captured]))


def written_to_since(use: CapturedUse) -> Hazard:
    """Return the hazard of a captured `jax.Array` in whose memory something was written."""
    return hazard_of(
        "writeable NumPy array",
        use,
        "the array shares memory with one of NumPy's that was written to after the program was "
        "traced: legacy keeps the value that was traced, stock simplified computes with the new "
        "one",
        advice("capture a copy"),
    )


def _views(values: Iterable[Any]) -> Counter[int]:
    """Count the views that the program holds, for each array that a captured one is a view of."""
    links = {}
    for value in values:
        while isinstance(value, np.ndarray):
            links[id(value)] = value
            value = value.base
    return Counter(id(array.base) for array in links.values())


def _what_can_be_written_to(array: np.ndarray[Any, Any], views: Mapping[int, int]) -> str:
    """Name what somebody can write to that changes a captured array; "" where nothing is known.

    JAX captures a view of the user's array. An array that only this view refers to was made during
    the trace, like `np.ones(9)` inside the traced function, and nobody can write to it any more.
    Memory of others may be written to by them, whatever their view of it says.
    """
    owner: Any = array.base
    if owner is None:
        return "the array" if array.flags.writeable else ""
    while isinstance(owner, (np.ndarray, memoryview)):
        if isinstance(owner, memoryview):
            if not owner.readonly:
                return "the array"
            owner = owner.obj
            continue
        # The loop's own variable and the argument are two references more.
        if owner.flags.writeable and sys.getrefcount(owner) > views[id(owner)] + 2:
            return "the array"
        owner = owner.base
    if isinstance(owner, mmap.mmap):
        return "the file that it maps"
    return "" if _never_changes(owner) else "the memory that it is a view of"


def _never_changes(owner: Any) -> bool:
    """Say whether memory is immutable by the type of its owner: `bytes`, or memory of JAX."""
    if owner is None or isinstance(owner, (bytes, jax.Array)):
        return True
    # JAX's have no name. NumPy's are of DLPack: memory of another library.
    return type(owner).__name__ == "PyCapsule" and "NULL" in repr(owner)


def captured_and_donated(traced: TracedProgram) -> Iterator[Hazard]:
    """Find captured arrays that are donated arguments as well, of the program or a jit within it.

    Legacy has inlined the value. Stock simplified passes the same buffer twice, once donated, and
    XLA refuses. An array made by `jax.device_put` of the captured one may have its buffer.
    Look-alikes: another array of equal value that is donated, or the captured array passed without
    donation; neither shares a donated buffer. An argument that JAX drops is not donated, and of one
    that it moves, a copy is.
    """
    devices = set(runs_on(traced) or (traced.default_device,))
    consumed = [
        each
        for each in consumed_by(traced)
        if not isinstance(each, jax.Array) or each.devices() == devices
    ]
    yield from _among(traced.uses, consumed)
    for jit in traced.donating:
        yield from _among(hoisted_uses(jit.body), jit.donated)


def consumed_by(traced: TracedProgram) -> list[Any]:
    """Return the arrays that a call consumes: donated ones whose memory an output may take.

    On one device JAX keeps those that have not as many elements as any output.
    """
    # None where a user's own type is not expanded.
    sizes = {getattr(atom.aval, "size", None) for atom in inner(traced.closed).outvars}
    any_size = len(runs_on(traced)) > 1 or None in sizes
    return [each for each in traced.consumed if any_size or np.size(each) in sizes]


def _among(uses: Sequence[CapturedUse], arrays: Sequence[Any]) -> Iterator[Hazard]:
    donated = Held(arrays)
    for use in uses:
        if use.array.value in donated:
            yield passed_as_well(use)


def passed_as_well(use: CapturedUse) -> Hazard:
    """Return the hazard of a captured array that is a donated argument too."""
    return hazard_of(
        "captured and donated",
        use,
        "the array is also passed as a donated argument: legacy has inlined its value, "
        "stock simplified fails when it is called (attempt to donate a buffer which is "
        "also used by the same call)",
        advice("donated"),
    )


def donated_before(use: CapturedUse) -> Hazard:
    """Return the hazard of a captured array that is gone: another call had it donated."""
    return hazard_of(
        "captured and donated",
        use,
        "the array was deleted or donated to another call: legacy has inlined its value, stock "
        "simplified fails when it is called (the buffer has been deleted or donated)",
        advice("donated"),
    )


def hoisted_more_than_once(traced: TracedProgram) -> Iterator[Hazard]:
    """Find captured arrays that stock simplified passes more than once.

    It passes one const arg for each Literal in a jaxpr. Look-alike: an array with several uses in
    the bodies of one equation, which stock JAX passes once.
    """
    passed = stock_const_args(traced.closed.jaxpr, embed_threshold=traced.embed_threshold)
    times = Counter(map(identity, passed))
    for use in traced.uses:
        if (count := times[use.array.identity]) > 1:
            yield hazard_of(
                "hoisted more than once",
                use,
                f"stock simplified passes the array as {counted(count, 'const arg')}, one for each "
                f"Literal that holds it in one jaxpr: each call hands over {count} arguments, and "
                "XLA takes them to be different",
                advice("pass once"),
            )


def folded_by_legacy_alone(traced: TracedProgram) -> Iterator[Hazard]:
    """Find work on captured arrays alone, as one hazard for the whole program.

    Legacy does it once, stock simplified at every call: XLA folds the work while it compiles if the
    arrays are inlined, and cannot if they are arguments. Look-alikes: work that reads an argument,
    or that only moves elements, or on arrays at or below the embed threshold, or a loop of several
    turns as a whole, which XLA never folds.
    """
    work = constant_work(traced.closed, embed_threshold=traced.embed_threshold)
    if not work.equations:
        return
    names = Counter(equation.primitive.name for equation in work.equations)
    listed = ", ".join(
        f"{name} ({count} times)" if count > 1 else name for name, count in names.most_common(8)
    )
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    yield Hazard(
        kind="folded by legacy alone",
        file=work.place.file,
        line=work.place.line,
        array=f"{humanise_bytes(work.bytes)} of results",
        what=f"{counted(len(work.equations), 'equation')} on captured arrays alone "
        f"({listed}{more}): in legacy XLA computes them once, when it compiles, in stock "
        f"simplified at every call, about {humanise_count(work.operations)} operations",
        fix=advice("compute once"),
        operations=work.operations,
        gist=work.gist,
    )
