"""The calls of a program as its user makes them, where the other calls leave something out.

All other calls are given copies of donated arguments, because a call consumes them. So none of them
passes a captured buffer that is donated as well, which stock simplified refuses: one call does.

A program that is not one jitted function is jitted to count and to compare what it computes. That
leaves out what its Python does between calls, and each jit in it that donates, is held under a
guard or has been called before. So stock sides also call it as it is written, several times.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import time
import types
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import ml_dtypes
import numpy as np
from jax.extend import core

from parity_tests.evidence import values
from parity_tests.exception_texts import are_alike
from parity_tests.jax_defaults import jax_defaults
from parity_tests.jaxpr.captured import CapturedValue
from parity_tests.jaxpr.captured_uses import captured_in_bodies
from parity_tests.jaxpr.counts import JaxprFacts
from parity_tests.jaxpr.donating_jits import own_jits
from parity_tests.jaxpr.rewriting import replace_captured
from parity_tests.observe import compile_cache, device_buffers, effects, failures
from parity_tests.observe.calls import durations, without_addresses
from parity_tests.observe.checks import captured_arrays
from parity_tests.observe.device_buffers import Held
from parity_tests.observe.jit_on_side import expanded_on_leaves, jitted_on
from parity_tests.observe.stages import Built, Lowered, Traced
from parity_tests.own_jit import OwnJit, called_function, copied, jits_held_by
from parity_tests.program import Program
from reports.rows import CallAsWritten, Failure, Observation, OutputLeaf, is_ours
from reports.rows.calls import KeptArray
from reports.rows.check_names import AS_WRITTEN
from reports.views.texts import type_of

T = TypeVar("T")

CALLS = 4
ENOUGH = 10.0  # seconds; after these, two calls are enough
TRACING = "/jax/core/compile/jaxpr_trace_duration"  # JAX's name of it
DELETES = "deletes arrays that were there before it, as it is written"


@dataclass(frozen=True)
class Due:
    """That calls as written are due; `captured` has the types of what jits capture in them.

    None stands for all: it is not known where no jit of the tester's takes the program, or where a
    jit that it holds is no equation of the trace.
    """

    captured: frozenset[str] | None = None


def due(made: Traced, facts: JaxprFacts, *, may_count: bool = False) -> Due | None:
    """Say whether a call as written may do what a call of the traced program does not.

    One jitted function is called alike, unless it has been called while it was built, JAX is told
    to jit nothing, or it donates memory that it is passed twice or has captured under another name.
    `may_count` says that the program has compiled something in its trace, and may count what JAX's
    persistent cache has then.
    """
    if may_count:
        return Due()
    own, closed = made.built.own, made.closed
    if own.is_own:
        captured: Sequence[CapturedValue] = facts.captured
        is_due = bool(due_after_failure(own)) or shares_memory(made, facts)
    else:
        captured, held, called = captured_in_bodies(closed), jits_held_by(own.fun), own_jits(closed)
        is_due = bool(called or held)
        if len(held) > len(called):  # one is inlined, or called outside of a trace alone
            return Due()
    types_ = frozenset(type_of(each.value) for each in captured)
    return Due(types_) if is_due else None


def of_calls(made: Traced, facts: JaxprFacts, *, may_count: bool) -> dict[str, bool]:
    """Return what `Numbers` say of the calls of a program as it is written.

    JAX keeps its trace, so that of a function that was called before is what was called; but not
    where the tester binds static arguments, and so traces another function.
    """
    own, is_due = made.built.own, due(made, facts, may_count=may_count) is not None
    is_traced = own.is_own and not (own.was_called and own.bound is not own.fun)
    is_one_jit = is_traced and not may_count and not jax.config.values["jax_disable_jit"]
    return {"is_one_jit": is_one_jit or not is_due, "calls_may_differ": is_due}


def due_after_failure(own: OwnJit) -> Due | None:
    """Say whether a program that fails in the tester's jit may run as it is written."""
    leaves = jax.tree.leaves((own.args, own.kwargs))
    if any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves):
        return None  # there are no values to call it with
    disabled = bool(jax.config.values["jax_disable_jit"])
    return Due() if own.was_called or not own.is_own or disabled else None


class KeptOutside:
    """What the module of a program and the environment keep, apart from what its factory makes.

    A trace may use up what happens once in a process. The calls would not see it any more.
    """

    def __init__(self, fun: Any) -> None:
        called = inspect.unwrap(called_function(fun))
        self._names = getattr(called, "__globals__", {})
        self._before = self._now()

    def changed(self) -> str:
        """Name what was changed since; "" where nothing was."""
        now = self._now()
        names = {**self._before, **now}
        return next((name for name in names if self._is_another(name, now)), "")

    def _now(self) -> dict[str, tuple[Any, ...]]:
        variables = ((f"${name}", (value,)) for name, value in os.environ.items())
        return {**{name: _content(value) for name, value in self._names.items()}, **dict(variables)}

    def _is_another(self, name: str, now: dict[str, tuple[Any, ...]]) -> bool:
        if name.startswith(("__", "$MOSAIC")):  # Python's own, and what JAX sets for Pallas
            return False
        one, two = self._before.get(name, ()), now.get(name, ())
        if name.startswith("$"):
            return one != two
        return len(one) != len(two) or not all(map(operator.is_, one, two))


def _content(value: Any) -> tuple[Any, ...]:
    """Return the objects that a value holds: of a container, a class or an object its parts."""
    if isinstance(value, dict):
        return (*value.keys(), *value.values())
    if isinstance(value, (list, set, tuple)):
        return tuple(value)
    if isinstance(value, (types.ModuleType, jax.Array)):
        return (value,)
    return (value, *getattr(value, "__dict__", {}).values())


def added(
    program: Program, built: Built, found: Observation, due: Due, kept: KeptOutside
) -> Observation:
    """Make the calls of a program, built anew, and return its observation with them.

    No call is made where the measurement has changed what is `kept` outside of its factory.
    `changed_process` says where it deletes arrays that were there before it was built. Our sides
    only build it: its factory may draw from what its module shares, as on the others.
    """
    before = [array for each in device_buffers.alive() if (array := each()) is not None]
    name = kept.changed()
    with built.clock(AS_WRITTEN), compile_cache.as_the_user_has_it():
        made = _calls(program, called=not is_ours(built.side) and not name)
    calls = made.rows
    written = tuple(each for each in made.written if due.captured is None or each in due.captured)
    if name and not is_ours(built.side):
        untold = Failure(
            kind="unavailable", stage=AS_WRITTEN, type="KeptOutside",
            message=f"it was not called: its trace has changed {name}, which it keeps outside of "
            "what its factory makes, and calls may be others by that",
        )  # fmt: skip
        calls = (CallAsWritten(failure=untold),)
    changed = (f"the program {DELETES}",) if any(each.is_deleted() for each in before) else ()
    update = {
        "as_written": calls,
        "changed_process": changed,
        "written_in_calls": written,
        "traced_in_each_call": made.traces_anew,
    }
    observed = found.model_copy(update=update)
    if found.failure is None or not calls:
        return observed
    failure = calls[0].failure
    if failure is not None and failure.kind == "unavailable":
        failure = found.failure
    elif failure is None:
        failure = found.failure.model_copy(update={"runs_as_written": True})
    elif failure.type == found.failure.type and are_alike(failure.message, found.failure.message):
        failure = found.failure
    return observed.model_copy(update={"failure": failure})


@dataclass(frozen=True)
class _Made:
    """The calls of a program, and the types of the NumPy arrays that they have written into.

    `traces_anew` says that JAX has traced in each of several calls, and may have captured anew.
    """

    rows: tuple[CallAsWritten, ...] = ()
    written: tuple[str, ...] = ()
    traces_anew: bool = False


def _calls(program: Program, *, called: bool) -> _Made:
    """Make the calls of a program that is built as it is written."""
    built, failed = _attempt((program.anew or program).build_as_written)
    if built is None:
        return _Made((failed,))
    if not called:
        return _Made()
    fun, args, kwargs = built
    watched = captured_arrays.Watched(fun)
    # The first call is given the arguments themselves: they may be what the program has captured.
    spare = [copied((args, kwargs)) for _ in range(CALLS - 1)]
    results = _Results()
    start, made, tracing = time.perf_counter(), [], []
    for _ in range(CALLS):
        heard: list[str] = []
        with durations(heard.append):
            row, failed = _attempt(functools.partial(results.of_call, fun, args, kwargs))
        made.append(row or failed)
        watched.look()
        tracing.append(TRACING in heard)
        if len(made) > 1 and time.perf_counter() - start > ENOUGH:
            break
        if spare and any(map(_is_gone, jax.tree.leaves((args, kwargs)))):
            args, kwargs = spare.pop()
    return _Made(tuple(made), watched.written(in_place=True), all(tracing))


def _attempt(do: Callable[[], T]) -> tuple[T | None, CallAsWritten]:
    """Do something of a program, which may raise anything; return what it gives, or its failure."""
    try:
        return do(), CallAsWritten()
    except Exception as error:  # noqa: BLE001
        return None, CallAsWritten(failure=failures.exception(error, AS_WRITTEN))


def _is_gone(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and leaf.is_deleted()


class _Results:
    """The results of calls as rows; the arrays of one that was there before are kept once."""

    def __init__(self) -> None:
        self._known: set[tuple[str, ...]] = set()

    def of_call(self, fun: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> CallAsWritten:
        """Call a program, and return the row of that. Raises what it raises."""
        with effects.recording() as recording:
            result = jax.block_until_ready(fun(*args, **kwargs))
        return self._row(result, recording)

    @jax_defaults()
    def _row(self, result: Any, of_call: effects.Recording) -> CallAsWritten:
        flat, tree = jax.tree_util.tree_flatten_with_path(result)
        read = [_leaf(jax.tree_util.keystr(path), leaf) for path, leaf in flat]
        outputs = tuple(row for row, _ in read)
        digests = tuple(row.sha256 for row in outputs)
        kept = () if digests in self._known else tuple(array for _, array in read)
        self._known.add(digests)
        text = without_addresses(str(tree).removeprefix("PyTreeDef"))
        done = effects.effects(of_call, of_call) if of_call.invocations else None
        return CallAsWritten(tree=text, outputs=outputs, kept=kept, effects=done)


def _is_of_numbers(leaf: Any) -> bool:
    """Say whether a leaf is an array of NumPy's that JAX could take, or a scalar of it."""
    if not isinstance(leaf, (np.ndarray, np.generic)):
        return False
    is_wide = leaf.dtype.itemsize > (16 if leaf.dtype.kind == "c" else 8)
    plain = leaf.dtype.kind in "biufc" and not is_wide
    return plain or hasattr(ml_dtypes, leaf.dtype.name)


def _leaf(path: str, leaf: Any) -> tuple[OutputLeaf, KeptArray]:
    """Describe a leaf of a result, which need not be an array: no jit is around the program."""
    if isinstance(leaf, jax.Array) or _is_of_numbers(leaf):
        row, value = values.to_host(path, leaf)
        return row, values.keep_in_report(value.array)
    if isinstance(leaf, (float, complex)):
        # It was an array of single precision, and is compared as one.
        array = np.asarray(leaf, np.complex64 if isinstance(leaf, complex) else np.float32)
    else:
        text = without_addresses(repr(leaf)).encode()
        array = np.frombuffer(text, np.uint8)
    digest = values.digest(values.Value(path, array))
    kind = type(leaf).__name__
    row = OutputLeaf(path=path, shape=(), dtype=kind, weak_type=False, sha256=digest)
    return row, values.keep_in_report(array)


# -- a captured array that is donated as well ------------------------------------------------------

_ARRAYS = (jax.Array, np.ndarray)


def donated_leaves(made: Traced) -> list[int]:
    """Return the numbers of the donated arguments among the leaves that are not static."""
    if not made.built.own.donates:
        return []
    infos = jax.tree.leaves(made.traced.args_info, is_leaf=lambda node: hasattr(node, "donated"))
    return [number for number, info in enumerate(infos) if info.donated]


def types_donated(lowered: Lowered) -> set[Any]:
    """Return the shapes and dtypes of the donated arguments."""
    leaves = [lowered.built.inputs[number] for number in donated_leaves(lowered)]
    return {(tuple(leaf.shape), leaf.dtype) for leaf in leaves if hasattr(leaf, "dtype")}


def is_donating_call_due(lowered: Lowered, facts: JaxprFacts) -> bool:
    """Say whether a captured array is a donated argument too."""
    donated = {id(lowered.built.inputs[number]) for number in donated_leaves(lowered)}
    return any(id(each.value) in donated for each in facts.captured)


def shares_memory(made: Traced, facts: JaxprFacts) -> bool:
    """Say whether a donated argument is in memory that another argument or captured array is in.

    What XLA makes of that depends on how the two came to share it, so no copy tells.
    """
    inputs = made.built.inputs
    donated = [inputs[number] for number in donated_leaves(made)]
    if not donated:
        return False
    passed = Counter(key for leaf in inputs for key in device_buffers.of([leaf]))
    if any(passed[key] > 1 for key in device_buffers.of(donated)):
        return True
    others = {id(each) for each in donated}
    held = Held(donated)
    return any(each.value in held and id(each.value) not in others for each in facts.captured)


def make_donating_call(lowered: Lowered) -> None:
    """Call a program with one copy in both places, so that the array itself survives.

    Other programs may use the array. Raises what the call raises.
    """
    numbers = donated_leaves(lowered)
    donated = [lowered.built.inputs[number] for number in numbers]
    with jax_defaults():
        copies = {id(each): each.copy() for each in donated if isinstance(each, _ARRAYS)}

    def copy_of(value: Any) -> Any:
        return copies.get(id(value), value)

    closed = replace_captured(expanded_on_leaves(lowered.traced), copy_of)
    # Without the signature of the user's function, which takes trees: this one takes their leaves.
    fun = core.jaxpr_as_fun(closed)
    own = lowered.built.own
    jitted = jitted_on(
        fun,
        lowered.built.side,
        donate_argnums=tuple(numbers),
        keep_unused=bool(own.options.get("keep_unused")),
        in_shardings=tuple(stated for _, stated in own.leaves()),
    )
    jax.block_until_ready(jitted(*map(copy_of, lowered.built.inputs)))
