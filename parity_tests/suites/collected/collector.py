"""The collector: watches the engine, and hands each program that is new to the folder.

An execution that begins is written as a stand-alone file, or it is said why there cannot be one.
Nothing is evaluated here and no array is kept: a test must not notice that its program is written.
"""

from __future__ import annotations

import hashlib
import os
import re
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import jax
import numpy as np

from engine import api
from engine.ir.array_snapshots import memory_captured
from engine.ir.jaxprs import bodies_in, constant_key, values_in
from engine.runtime.watching import Execution, Watcher, watch, watcher
from parity_tests.evidence.distances import have_equal_bytes
from parity_tests.exception_texts import named
from parity_tests.jax_defaults import jax_defaults
from parity_tests.observe import device_buffers
from parity_tests.reduce.draft import Array, Draft, Store, unwritable
from parity_tests.reduce.held_values import LARGEST, CannotReadError
from parity_tests.reduce.jaxpr_to_draft import read_unevaluated
from parity_tests.reduce.stand_alone_file import CannotWriteError, Written, write
from parity_tests.reduce.symptom import OUTPUTS, tolerances
from parity_tests.suites.collected.folder import (
    BEFORE_TESTS,
    Candidate,
    CollectedProgram,
    CollectionFolder,
    Ran,
)
from parity_tests.suites.describing import source_of
from parity_tests.suites.journal import versions

_SECONDS = 90.0  # for each side of a file that runs by itself
_CUSTOM = frozenset({"custom_jvp_call", "custom_vjp_call"})
_RULES = "the rules of its custom derivatives: it runs, and raises where it is differentiated"
_VIEWS = "the memory that NumPy arguments of it share: each has its own, as JAX copies them"
_NAME = 60  # characters of a function's name that the name of its file has


class Collector:
    """The engine's watcher while a suite is collected; another one may run the programs.

    `ran` says which test runs now. `stopped` says why nothing more is written, "" while all is
    well.
    """

    def __init__(self, root: Path, ran: Callable[[], Ran]) -> None:
        self.stopped = ""
        self._root = root
        self._ran = ran
        self._folder: CollectionFolder | None = None
        self._waiting: list[Candidate] = []
        self._then: Watcher = lambda execution: execution.run()
        # The place of the first test that ran a program: per traced program and what is one array
        # in its calls, and per identity.
        self._traced: weakref.WeakKeyDictionary[Any, dict[Hashable, int]] = (
            weakref.WeakKeyDictionary()
        )
        self._written: dict[str, int] = {}

    def install(self, early: Sequence[str]) -> None:
        """Watch all programs from now on, and let the watcher that is there run them.

        `early` are modules whose programs no watcher sees.
        """
        for module in early:
            self._collect(not_seen(module, BEFORE_TESTS))
        self._then = watcher() or self._then
        api.forget_calls()
        watch(self)

    def open(self, folder: CollectionFolder) -> None:
        """Write to a folder from now on, and first what ran before: a conftest.py runs programs."""
        self._folder = folder
        for each in self._waiting:
            self._keep(each)
        self._waiting.clear()

    def __call__(self, execution: Execution) -> Sequence[Any]:
        """Collect a program if this is its first run, and execute it."""
        # Before it runs: the run may consume its arguments, and may crash.
        ran, aliases = self._ran(), aliases_in(execution)
        orders = self._traced.setdefault(execution.closed_jaxpr, {})
        if not self.stopped and ran.order < orders.get(aliases, ran.order + 1):
            orders[aliases] = ran.order
            self._collect(candidate(execution, ran, self._root))
        return self._then(execution)

    def _collect(self, found: Candidate) -> None:
        identity = found.row.identity
        if self._written.get(identity, found.order + 1) <= found.order:
            return  # the same text, traced again: a closure over another array perhaps
        self._written[identity] = found.order
        if self._folder is None:
            self._waiting.append(found)
        else:
            self._keep(found)

    def _keep(self, found: Candidate) -> None:
        assert self._folder is not None
        try:
            self._folder.keep(found)
        except OSError as error:
            # A full disk fails no test; the session says so at its end.
            self.stopped = self.stopped or str(error)


# -- the file of an execution ----------------------------------------------------------------------


def candidate(execution: Execution, ran: Ran, root: Path) -> Candidate:
    """Return the file of a program that is about to run, or a row that says why there is none.

    A program is told by the name of its function and by its text, in which no array stands. `root`
    is what the source is relative to, wherever a test has changed the directory to.
    """
    name = execution.name
    why, written, source = "", None, ""
    lost: tuple[str, ...] = ()
    try:
        source = _below(root, source_of(execution.closed_jaxpr))
        lost = _lost(execution)
        written = _written(execution, _header(name, source, ran, lost))
    except (CannotReadError, CannotWriteError) as error:
        why = str(error)
    # The jaxpr is anybody's, and so are its parameters: what cannot be read must fail no test.
    except Exception as error:  # noqa: BLE001
        why = f"reading it raised {named(error)}"
    told_by = written.program if written else f"{source}\n{why}"
    identity = _digest(name, told_by)
    file = f"{_slug(name)}_{identity}.py" if written else ""
    row = CollectedProgram(
        identity=identity,
        name=name,
        source=source,
        test=ran.test,
        file=file,
        why=why,
        lost=lost if written else (),
    )
    return Candidate(row, ran.order, written)


def _lost(execution: Execution) -> tuple[str, ...]:
    """Return what a file of a program has not, in words."""
    bodies = bodies_in(execution.closed_jaxpr)
    kinds = {equation.primitive.name for body in bodies for equation in body.eqns}
    options = [f"its {each}" for each in execution.options()]
    rules = [_RULES] if kinds & _CUSTOM else []
    views = [_VIEWS] if any(overlapping(execution.operands)) else []
    return (*options, *rules, *views)


def _written(execution: Execution, header: str) -> Written:
    draft, arrays = read_unevaluated(execution.closed_jaxpr, execution.operands)
    if found := unwritable(draft):
        raise CannotWriteError("; ".join(found))
    draft, aliases = _with_aliases(draft, arrays)
    made = write(
        draft,
        _on_host(draft, arrays),
        header=header,
        sides=("jax-legacy", "jax-simplified"),
        shows={
            "metric": OUTPUTS,
            "fails": {},
            "tolerances": tolerances(each.type.dtype for each in draft.body.outputs),
            "seconds": _SECONDS,
        },
        all_beside=True,
        donated=[number for number, each in enumerate(execution.donated) if each],
        aliases=aliases,
    )
    # Python has limits too, of nested blocks: a file that cannot be imported would stop a campaign.
    compile(made.program, "<program>", "exec")
    return made


def _with_aliases(draft: Draft, arrays: Mapping[int, Any]) -> tuple[Draft, Mapping[int, int]]:
    """Return the numbers of arrays that are another array, and the draft with one type for both.

    Where one of two arrays on one buffer is committed, and is an argument, the call is committed,
    and so the file commits both. Raises `CannotWriteError` where that would be another call.
    """
    ordered = (*draft.captured, *draft.arguments)
    values = [arrays[each.number] for each in ordered]
    firsts = first_of_each(values[: len(draft.captured)], values[len(draft.captured) :])
    devices: dict[int, int | None] = {}
    for each, place in zip(ordered, firsts, strict=True):
        first, is_argument = ordered[place], each in draft.arguments
        if (each.type, each.made_by, each.impl) != (first.type, first.made_by, first.impl):
            raise CannotWriteError("two of its arrays are on one buffer, with other types")
        if each.device != first.device and not (is_argument and first.device is None):
            raise CannotWriteError(
                "a captured array and an argument are on one buffer, and the captured one alone is "
                "committed to a device: commit both, jax.device_put(a, device)"
            )
        if each.device is not None:
            devices[first.number] = each.device
    captured, arguments = (
        tuple(replace(each, device=devices.get(each.number, each.device)) for each in group)
        for group in (draft.captured, draft.arguments)
    )
    aliases = {
        each.number: ordered[place].number
        for n, (each, place) in enumerate(zip(ordered, firsts, strict=True))
        if n != place
    }
    return replace(draft, captured=captured, arguments=arguments), aliases


def _on_host(draft: Draft, arrays: Mapping[int, Any]) -> Store:
    all_of_them = (*draft.captured, *draft.arguments)
    total = sum(_bytes(each, arrays[each.number]) for each in all_of_them)
    if total > LARGEST:
        raise CannotReadError(
            f"its arrays have {total:,} bytes, and a file has {LARGEST:,} of them at most"
        )
    with jax_defaults():  # a test may forbid transfers, to see its own
        return {each.number: _host(each, arrays[each.number]) for each in all_of_them}


def _bytes(array: Array, value: Any) -> int:
    return 0 if array.impl else int(getattr(value, "nbytes", 0))  # keys are small


def _host(array: Array, value: Any) -> np.ndarray[Any, Any]:
    if array.impl:
        value = jax.random.key_data(value)
    if isinstance(value, jax.Array) and any(each.platform != "cpu" for each in value.devices()):
        # An array of an accelerator keeps its copy on the host as long as it lives.
        value = value.copy()
    return np.asarray(value)


def _header(name: str, source: str, ran: Ran, lost: Sequence[str]) -> str:
    found = versions()
    where = f" ({source})" if source else ""
    by = f"as {ran.test} ran it first" if ran.test else "as the suite ran it outside of a test"
    return "\n".join(
        [
            f"`{name}`{where}, {by}.",
            "",
            f"Collected by constparity {found['constparity']} with jax {found['jax']} and numpy "
            f"{found['numpy']}. It runs",
            "itself once on each side, prints what each shows, and exits with 1 where outputs",
            "differ beyond tolerance. `constparity run` on it compares everything else.",
            *([f"Without {'; '.join(lost)}."] if lost else []),
            "",
        ]
    )


def _slug(name: str) -> str:
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")[:_NAME] or "program"


def _below(root: Path, source: str) -> str:
    """Return "file:line" relative to the root, where the file lies below it."""
    file, _, line = source.rpartition(":")
    if not file:
        return ""
    path = Path(os.getcwd(), file)
    return f"{path.relative_to(root) if path.is_relative_to(root) else path}:{line}"


def not_seen(module: str, ran: Ran) -> Candidate:
    """Return a row that says that no program was seen of what a module had jitted before."""
    why = "functions that it had jitted before the plugin began ran on stock JAX"
    row = CollectedProgram(
        identity=_digest(module, why), name=module, source="", test=ran.test, file="", why=why
    )
    return Candidate(row, ran.order, None)


def _digest(*told_by: str) -> str:
    return hashlib.sha256("\n".join(told_by).encode()).hexdigest()[:12]


def first_of_each(captured: Sequence[Any], operands: Sequence[Any]) -> list[int]:
    """Return for each value, the captured ones first, the place of the first that is one with it.

    Two arrays of JAX are one array if they have one buffer, as what `jax.device_put` returns may
    have. A NumPy array that was written to since it was captured is another one. After the flip of
    stock JAX it matters whether a donated argument is a captured array.

    Example::

        first_of_each([table], [x, table]) == [0, 1, 0]
    """
    keys = [_memory(each, is_captured=True) for each in captured]
    keys += [_memory(each, is_captured=False) for each in operands]
    values, places = [*captured, *operands], dict[Hashable, int]()
    firsts = []
    for place, (key, value) in enumerate(zip(keys, values, strict=True)):
        first = places.setdefault(key, place)
        is_one = not isinstance(value, np.ndarray) or _has_value(values[first], value)
        firsts.append(first if is_one else place)
    return firsts


def aliases_in(execution: Execution) -> Hashable:
    """Return a key of what is one array in a call that donates; the same for all other calls."""
    if not any(execution.donated):
        return ()
    return tuple(first_of_each(values_in(execution.closed_jaxpr), execution.operands))


def overlapping(operands: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of NumPy operands that are views of one memory, and not one array."""
    arrays = [(n, each) for n, each in enumerate(operands) if isinstance(each, np.ndarray)]
    for (n, one), (m, other) in combinations(arrays, 2):
        if np.may_share_memory(one, other) and constant_key(one) != constant_key(other):
            yield n, m


def _memory(value: Any, *, is_captured: bool) -> Hashable:
    if isinstance(value, np.ndarray):
        return memory_captured(value) if is_captured else constant_key(value)
    if isinstance(value, jax.Array) and value.size:
        return frozenset(device_buffers.of([value])) or id(value)
    return id(value) if hasattr(value, "dtype") else object()  # a number is no array


def _has_value(one: Any, other: Any) -> bool:
    return one is other or (one.dtype == other.dtype and have_equal_bytes(one, other))
