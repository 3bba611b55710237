"""Flip hazards: what could change for a program when JAX's default flips, before anything does.

Each detector reads the program in its simplified form and names the array, the line that first
uses it and the smallest fix. A hazard is possible, not certain: whether a NumPy array is written to
after the first call, for one, cannot be read off a jaxpr.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from parity_tests.jaxpr.bodies import live_part
from parity_tests.jaxpr.captured_uses import CapturedUse, captured_uses
from parity_tests.jaxpr.constant_work import constant_work
from parity_tests.jaxpr.counts import identity
from parity_tests.jaxpr.stock_const_args import stock_const_args
from parity_tests.program import Program, is_jitted
from reports.rows import Hazard, HazardKind
from reports.views.figures import humanise_bytes
from reports.views.texts import counted

_FLAG = "jax_use_simplified_jaxpr_constants"


def detect(program: Program) -> tuple[Hazard, ...]:
    """Trace a program as stock JAX would after the flip, and return its hazards.

    It is traced as it is written: with the options of its own `jax.jit`, where it has one, since
    these say which arguments are donated. Nothing is compiled or run. Raises what the program does.

        detect(parity_tests.targets.load_one("my_model:step"))
    """
    return find(_traced(program))


@dataclass(frozen=True)
class Traced:
    """A program in simplified form, without dead code; `uses` are of arrays that stock JAX hoists.

    `arguments` are the leaves of its example arguments, `donated` those that are donated, and
    `threshold` is the embed threshold in bytes. `function` keeps alive what holds its arrays.
    """

    function: Any
    closed: Any
    uses: tuple[CapturedUse, ...]
    arguments: tuple[Any, ...]
    donated: tuple[Any, ...]
    threshold: int


def find(traced: Traced) -> tuple[Hazard, ...]:
    """Ask every detector about a traced program."""
    return tuple(hazard for detector in DETECTORS for hazard in detector(traced))


def _traced(program: Program) -> Traced:
    fun, args, kwargs = program.build_as_written()
    jitted: Any = fun if is_jitted(fun) else jax.jit(fun)
    threshold: int = jax.config.jax_embedded_constants_max_bytes  # type: ignore[attr-defined]
    with _simplified_form():
        traced = jitted.trace(*args, **kwargs)
    closed = live_part(traced.jaxpr)
    uses = tuple(
        use
        for use in captured_uses(closed)
        if use.array.bytes > threshold and use.array.shape and not use.array.key
    )
    leaves = tuple(jax.tree.leaves((args, kwargs)))
    return Traced(fun, closed, uses, leaves, _donated(leaves, traced.args_info), threshold)


@contextmanager
def _simplified_form() -> Iterator[None]:
    """Trace in the form that a flip brings, whichever side this process was started for.

    The flag at run time gives the right jaxpr and the wrong module, and nothing is lowered here.
    """
    before = jax.config.jax_use_simplified_jaxpr_constants  # type: ignore[attr-defined]
    jax.config.update(_FLAG, True)
    try:
        yield
    finally:
        jax.config.update(_FLAG, before)


def _donated(leaves: tuple[Any, ...], args_info: Any) -> tuple[Any, ...]:
    infos = jax.tree.leaves(args_info, is_leaf=lambda node: hasattr(node, "donated"))
    if len(infos) != len(leaves):
        # Static arguments have no info. They are hashable, which arrays are not.
        leaves = tuple(leaf for leaf in leaves if hasattr(leaf, "dtype"))
    if len(infos) != len(leaves):
        return ()
    return tuple(leaf for leaf, info in zip(leaves, infos, strict=True) if info.donated)


def _writeable_arrays(traced: Traced) -> Iterator[Hazard]:
    views = _views(stock_const_args(traced.closed.jaxpr, threshold=traced.threshold))
    for use in traced.uses:
        if isinstance(use.array.value, np.ndarray) and _can_be_written_to(use.array.value, views):
            yield _hazard(
                "writeable NumPy array",
                use,
                "if the array is written to after the first call, legacy keeps the value that was "
                "traced, and stock simplified on a CPU computes with the new one where the array's "
                "memory happens to be 64-byte aligned: silently, and not in every run",
                "capture a copy of its own: jnp.array(a), or a.copy() with flags.writeable = False "
                "(jax.device_put(a) may share a's memory)",
            )


def _views(values: Iterable[Any]) -> Counter[int]:
    """Count, for each array that a captured one is a view of, the views that the program holds."""
    links = {}
    for value in values:
        while isinstance(value, np.ndarray):
            links[id(value)] = value
            value = value.base
    return Counter(id(array.base) for array in links.values())


def _can_be_written_to(array: np.ndarray[Any, Any], views: Mapping[int, int]) -> bool:
    """Whether somebody holds the memory of an array, or of what it is a view of, and may write.

    JAX captures a view. An array to which that view has the only reference was made while the
    function was traced, as `np.ones(9)` in the middle of it is, and nobody can write to it.
    """
    base: Any = array.base
    if base is None:
        return bool(array.flags.writeable)
    while isinstance(base, np.ndarray):
        # The loop's own variable and the argument are two references more.
        if base.flags.writeable and sys.getrefcount(base) > views[id(base)] + 2:
            return True
        base = base.base
    return base is not None and _is_writeable_buffer(base)


def _is_writeable_buffer(base: Any) -> bool:
    try:
        return not memoryview(base).readonly
    except TypeError:
        return False  # memory of JAX, which nobody writes to


def _donated_arrays(traced: Traced) -> Iterator[Hazard]:
    donated = {id(leaf) for leaf in traced.donated}
    for use in traced.uses:
        if id(use.array.value) in donated:
            yield _hazard(
                "captured and donated",
                use,
                "the array is also passed as a donated argument: legacy has inlined its value, "
                "stock simplified fails when it is called (attempt to donate a buffer which is "
                "also used by the same call)",
                "capture a copy, jnp.array(a), or do not donate that argument",
            )


def _incompatible_devices(traced: Traced) -> Iterator[Hazard]:
    anchor = _committed_devices(traced)
    for use in traced.uses:
        if _is_committed(use.array.value) and use.array.value.devices() != anchor:
            yield _hazard(
                "incompatible devices",
                use,
                f"the array is committed to {_named(use.array.value.devices())} and the arguments "
                f"or other captured arrays to {_named(anchor)}: legacy inlines its value wherever "
                "the arguments are, stock simplified refuses the call (incompatible devices)",
                "put the array where the arguments are, jax.device_put(a, device), or pass NumPy",
            )


def _placement_of_outputs(traced: Traced) -> Iterator[Hazard]:
    by_arguments = any(map(_is_committed, traced.arguments))
    anchor = _committed_devices(traced)
    for use in traced.uses:
        value = use.array.value
        if not _is_committed(value) or value.devices() != anchor:
            continue
        if not by_arguments:
            yield _hazard(
                "placement of outputs",
                use,
                "no argument is committed to a device and this array is: legacy returns "
                "uncommitted outputs on the default device, stock simplified outputs that are "
                f"committed to {_named(value.devices())}",
                "capture an array that is not committed, jnp.asarray(np.asarray(a)), or commit "
                "the arguments too",
            )
        elif not value.sharding.is_fully_replicated:
            yield _hazard(
                "placement of outputs",
                use,
                f"the array is sharded over {_named(value.devices())}: legacy inlines all of it "
                "on every device, stock simplified keeps its sharding, which the outputs may take "
                "over",
                "state the sharding of the outputs: jax.jit(..., out_shardings=...)",
            )


def _committed_devices(traced: Traced) -> set[Any]:
    """Return the devices of the first committed argument, else of the first captured array."""
    values = (*traced.arguments, *(use.array.value for use in traced.uses))
    return next((value.devices() for value in values if _is_committed(value)), set())


def _is_committed(value: Any) -> bool:
    return isinstance(value, jax.Array) and bool(getattr(value, "committed", False))


def _named(devices: set[Any]) -> str:
    return ", ".join(sorted(map(str, devices)))


def _hoisted_more_than_once(traced: Traced) -> Iterator[Hazard]:
    passed = stock_const_args(traced.closed.jaxpr, threshold=traced.threshold)
    times = Counter(map(identity, passed))
    for use in traced.uses:
        if (count := times[use.array.identity]) > 1:
            yield _hazard(
                "hoisted more than once",
                use,
                f"stock simplified passes the array as {counted(count, 'const arg')}, one for each "
                f"Literal that holds it in one jaxpr: each call hands over {count} arguments, and "
                "XLA takes them to be different",
                "pass the array as an argument of the function, which is one however often it is "
                "used",
            )


def _folded_by_legacy_alone(traced: Traced) -> Iterator[Hazard]:
    work = constant_work(traced.closed, threshold=traced.threshold)
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
        "simplified at every call",
        fix="compute them before the function is traced, and capture the results; the engine does "
        'it by itself with precompute_constants="auto"',
    )


DETECTORS = (
    _writeable_arrays,
    _donated_arrays,
    _incompatible_devices,
    _placement_of_outputs,
    _hoisted_more_than_once,
    _folded_by_legacy_alone,
)


def _hazard(kind: HazardKind, use: CapturedUse, what: str, fix: str) -> Hazard:
    array = use.array
    owner = "jax.Array" if isinstance(array.value, jax.Array) else "NumPy array"
    shape = ",".join(map(str, array.shape))
    return Hazard(
        kind=kind,
        file=use.place.file,
        line=use.place.line,
        array=f"{owner} {array.value.dtype}[{shape}]",
        what=what,
        fix=fix,
    )
