"""Shadow mode: each program that a suite executes runs on the other side as well.

The caller gets the results of its own side. The function was traced once; the other pipeline takes
its form from there, so that counters in Python, prints while tracing, and random numbers from
outside of JAX are as without us.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from engine import api
from engine.configuration.parsing import Side as OurSide
from engine.ir.jaxprs import bodies_in
from engine.runtime.watching import Execution, watch
from parity_tests.drift.arbiter import true_results
from parity_tests.evidence import tolerance_ladder
from parity_tests.evidence.distances import have_equal_bytes
from parity_tests.evidence.values import host_array, is_committed, sharding_of
from parity_tests.exception_texts import named
from parity_tests.jax_defaults import LOGS, jax_defaults
from parity_tests.observe import device_buffers
from parity_tests.suites.describing import captured_arrays, describe
from parity_tests.suites.recording import Recorder, Seen
from parity_tests.suites.why import captured_alive, reasons_of_consumed, reasons_of_difference
from reports.rows import LeafComparison
from reports.rows.row import Side
from reports.rows.suite import SuiteFailure, SuiteProgram

_OTHER: dict[str, OurSide] = {"legacy": "simplified", "simplified": "legacy"}
# Out-of-memory errors are ignored: shadowing doubles memory.
_OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "Out of memory", "MemoryError")
# Loops are evaluated in Python, a turn at a time, while the test waits.
MOST_EQUATIONS = 20_000
# Primitives whose second run gives other results, although no effect tells.
_STATEFUL = frozenset({"rng_uniform", "infeed", "outfeed"})


def watch_with(recorder: Recorder) -> Shadow:
    """Let a shadow watch all programs of the engine from now on, and return it."""
    shadow = Shadow(recorder)
    api.forget_calls()
    watch(shadow)
    return shadow


class Shadow:
    """The engine's watcher: runs a program on both sides, and records how they compare."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        # Until a program runs: asking an idle JAX would start a backend.
        self.backend = self.device_kind = ""

    def __call__(self, execution: Execution) -> Sequence[Any]:
        """Execute a program on its own side, and on the other one where it may run twice."""
        if not self.backend:
            self.backend, self.device_kind = jax.default_backend(), jax.devices()[0].device_kind
        closed = execution.closed_jaxpr
        seen = self._recorder.seen(closed, lambda: Seen(_row(execution), why_only_once(closed)))
        alive = captured_alive(execution)
        results = self._run(seen, execution, alive)
        if reasons := reasons_of_consumed(execution, alive):
            captured = captured_arrays(execution.closed_jaxpr)
            self._recorder.differs(
                seen.difference("jax-legacy", "jax-simplified", captured=captured, reasons=reasons)
            )
        return results

    def _run(self, seen: Seen, execution: Execution, alive: Sequence[jax.Array]) -> Sequence[Any]:
        why = seen.only_once or _why_not_compared(execution)
        if why:
            self._recorder.not_compared(seen, why)
            return execution.run()
        if seen.row.one_executable and seen.rung is not None:
            # The same executable again would compare it with itself.
            self._recorder.compared(seen, seen.rung)
            return execution.run()
        return _Pair(self._recorder, seen, execution, alive).run()

    def stop(self) -> None:
        """Watch no more."""
        watch(None)


class _Pair:
    """One program on both sides, once; `alive` are the captured arrays that it may consume."""

    def __init__(
        self, recorder: Recorder, seen: Seen, execution: Execution, alive: Sequence[jax.Array]
    ) -> None:
        self._recorder, self._seen, self._execution = recorder, seen, execution
        self._alive = alive
        self._other: OurSide = _OTHER[execution.side]
        self._rerun: Sequence[Any] | None = None

    def run(self) -> Sequence[Any]:
        """Run both, compare, and return or raise what the program's own side does."""
        # The own side consumes what the program donates, and the other one may have captured it.
        # Without donations it comes first: the results of the other one take memory.
        other = None
        if any(self._execution.donated):
            other = self._run_on(self._other)
            if self._execution.is_stage and any(map(is_committed, self._execution.operands)):
                self._again()  # afterwards there is nothing to run it on
        # Whatever a program raises is its result; the caller gets it as without us.
        try:
            own = self._execution.run()
        except Exception as error:
            other = self._run_on(self._other) if other is None else other
            if self._is_refused_by_stage(other):
                why = "a compiled stage refuses its arguments, alike on both sides"
                self._recorder.not_compared(self._seen, why)
            else:
                self._compare_failures(error, other)
            raise
        other = self._run_on(self._other) if other is None else other
        if isinstance(other, Exception):
            self._compare_failures(None, other)
        else:
            self._compare(own, other)
        return own

    def _run_on(self, side: OurSide) -> Sequence[Any] | Exception:
        execution = self._execution
        try:
            with jax_defaults():
                operands = [
                    each.copy() if donated and isinstance(each, jax.Array) else each
                    for each, donated in zip(execution.operands, execution.donated, strict=True)
                ]
            with jax_defaults(LOGS):  # a test may count what JAX says of its program
                results = execution.run_on(side, operands)
            jax.block_until_ready(results)
            return results
        except Exception as error:  # noqa: BLE001 - as above
            return error

    def _is_refused_by_stage(self, other: Any) -> bool:
        """Say whether the own side ends as the other one where no stage checks the arguments.

        JAX compares them with those that the stage was compiled for, and the other side runs none.
        """
        return self._execution.is_stage and type(self._run_on(self._execution.side)) is type(other)

    def _compare_failures(self, own: Exception | None, other: Any) -> None:
        failed = other if isinstance(other, Exception) else None
        said = [named(each) if each else "" for each in (own, failed)]
        if any(word in text for word in _OUT_OF_MEMORY for text in said):
            self._recorder.not_compared(self._seen, "a side was out of memory")
        elif type(own) is type(failed):
            self._recorder.not_compared(self._seen, "both sides raise the same exception")
        else:
            sides: tuple[Side, Side] = (self._execution.side, self._other)
            failures = [
                SuiteFailure(side=side, error=error)
                for side, error in zip(sides, said, strict=True)
            ]
            self._differs(failures=tuple(failures))

    @jax_defaults()  # a test may forbid transfers, to see its own
    def _compare(self, own: Sequence[Any], other: Sequence[Any]) -> None:
        pairs = zip(own, other, strict=True)
        if not self._recorder.rules and all(_are_the_same(*pair) for pair in pairs):
            # Most calls: what a row of the ladder says beside the rung is not kept of them.
            self._recorder.compared(self._seen, "bitwise")
            return
        names = _names(self._execution, len(own))
        named_pairs = list(zip(names, own, other, strict=True))
        for number, pair in enumerate(named_pairs):
            self._compare_placement(number, *pair)
        leaves = [_leaf(name, left, right) for name, left, right in named_pairs]
        if any(leaf.rung == "mismatch" for leaf in leaves):
            truth = true_values(self._execution)
            leaves = [
                _leaf(name, left, right, truth.get(number))
                for number, (name, left, right) in enumerate(named_pairs)
            ]
        leaves = [
            self._by_rules(leaf, *pair[1:]) for leaf, pair in zip(leaves, named_pairs, strict=True)
        ]
        if changing := self._changing(leaves, own):
            paths = ", ".join(leaf.path for leaf in changing)
            self._recorder.not_compared(self._seen, f"{paths} differs from run to run on one side")
        steady = [leaf for leaf in leaves if leaf not in changing]
        if steady or not changing:  # a program may have no results
            self._recorder.compared(self._seen, tolerance_ladder.worst_rung(steady))
        for leaf, (_, left, right) in zip(leaves, named_pairs, strict=True):
            if leaf.rung == "mismatch" and leaf not in changing:
                values = (_value(each, leaf.first_index) for each in (left, right))
                self._differs(leaf=leaf, left_value=next(values), right_value=next(values))

    def _changing(
        self, leaves: Sequence[LeafComparison], own: Sequence[Any]
    ) -> list[LeafComparison]:
        """Return the mismatches whose result is another one when its own side runs once more."""
        found = [number for number, leaf in enumerate(leaves) if leaf.rung == "mismatch"]
        pairs = ((leaves[n], own[n], self._again()[n]) for n in found if self._again())
        return [
            leaf
            for leaf, left, right in pairs
            if self._by_rules(_leaf(leaf.path, left, right), left, right).rung == "mismatch"
        ]

    def _again(self) -> Sequence[Any]:
        """Return the results of one more run on the own side, as the other one runs; () without.

        After a run that has consumed what the program donates there is none.
        """
        if self._rerun is None:
            again = self._run_on(self._execution.side)
            self._rerun = () if isinstance(again, Exception) else again
        return self._rerun

    def _by_rules(self, leaf: LeafComparison, left: Any, right: Any) -> LeafComparison:
        rules = self._recorder.rules
        return rules.judged(leaf, host_array(left), host_array(right)) if rules else leaf

    def _compare_placement(self, number: int, name: str, left: Any, right: Any) -> None:
        if _are_placed_alike(left, right):
            return  # to describe where an array is takes longer than many a program
        # A stage places by the arguments that it was lowered for, and the other side by these.
        if self._again() and _are_placed_alike(self._again()[number], right):
            return
        for what, read in (("sharding", sharding_of), ("committed", is_committed)):
            of_left, of_right = read(left), read(right)
            if of_left != of_right:
                self._differs(
                    property=f"{what} of {name}",
                    left_value=str(of_left),
                    right_value=str(of_right),
                )

    def _differs(self, **what: Any) -> None:
        captured = captured_arrays(self._execution.closed_jaxpr)
        row = self._seen.difference(self._execution.side, self._other, captured=captured, **what)
        reasons = reasons_of_difference(self._execution, row, self._alive)
        self._recorder.differs(row.model_copy(update={"reasons": reasons}))


def _row(execution: Execution) -> SuiteProgram:
    is_one = execution.is_one_program()
    return describe(execution.closed_jaxpr, execution.name, one_executable=is_one)


def _why_not_compared(execution: Execution) -> str:
    arrays = [each for each in execution.operands if isinstance(each, jax.Array)]
    if not all(each.is_fully_addressable for each in arrays):
        return "its arrays lie partly on other hosts"
    if _passes_donated_twice(execution):
        return "an array that it donates is passed twice, and a copy of it would be another array"
    return ""


def _passes_donated_twice(execution: Execution) -> bool:
    """Say whether the buffer of a donated argument is passed as another argument as well."""
    if not any(execution.donated):
        return False
    buffers = Counter(key for each in execution.operands for key in device_buffers.of([each]))
    donated = (x for x, d in zip(execution.operands, execution.donated, strict=True) if d)
    return any(buffers[key] > 1 for key in device_buffers.of(donated))


def _names(execution: Execution, count: int) -> list[str]:
    """Return a name for each result: JAX's path of it where it is known."""
    paths = execution.closed_jaxpr.jaxpr.debug_info.result_paths
    if paths is None or len(paths) != count:
        return [f"result {number}" for number in range(count)]
    return [str(path).removeprefix("result") or "the result" for path in paths]


def _are_placed_alike(left: Any, right: Any) -> bool:
    if not (isinstance(left, jax.Array) and isinstance(right, jax.Array)):  # one of float0
        return type(left) is type(right)
    return bool(left.sharding == right.sharding and left.committed == right.committed)


def _are_the_same(left: Any, right: Any) -> bool:
    """Say whether two results are equal bit for bit, and lie on the same devices."""
    if not _are_placed_alike(left, right):
        return False
    one, other = host_array(left), host_array(right)
    is_one_type = one.dtype == other.dtype and one.shape == other.shape
    return is_one_type and have_equal_bytes(one, other)


def _leaf(name: str, left: Any, right: Any, truth: Any = None) -> LeafComparison:
    return tolerance_ladder.compare(name, host_array(left), host_array(right), truth)


def _value(array: Any, index: tuple[int, ...] | None) -> str:
    return str(host_array(array)[index]) if index is not None else ""


def true_values(execution: Execution) -> Mapping[int, Any]:
    """Return the results of a program in double precision, by number; empty where it has none.

    Without an arbiter a mismatch stays a mismatch: nothing passes because of it.
    """
    operands, donated = execution.operands, execution.donated
    if any(donated):
        return {}  # the run has consumed them
    try:
        results = true_results(execution.closed_jaxpr, operands, most_equations=MOST_EQUATIONS)
    # An equation may refuse to be evaluated in double precision in any way.
    except Exception:  # noqa: BLE001
        return {}
    return dict(enumerate(results))


def why_only_once(closed_jaxpr: Any) -> str:
    """Return why a program must not run a second time, in words; "" if it may.

    `jax.pure_callback` may be called any number of times, as JAX says of it. Effects tell all other
    callbacks, mutable references, and foreign calls with side effects.

    Example::

        why_only_once(jax.make_jaxpr(lambda x: jax.debug.print("{}", x))(1.0))
        # "it has effects: Debug"
    """
    effects = sorted({_named(effect) for effect in closed_jaxpr.effects})
    if effects:
        return f"it has effects: {', '.join(effects)}"
    stateful = sorted(_primitives(closed_jaxpr) & _STATEFUL)
    return f"its results differ from run to run: {', '.join(stateful)}" if stateful else ""


def _named(effect: Any) -> str:
    return type(effect).__name__.removesuffix("Effect") or str(effect)


def _primitives(closed_jaxpr: Any) -> set[str]:
    bodies = bodies_in(closed_jaxpr)
    return {equation.primitive.name for body in bodies for equation in body.eqns}
