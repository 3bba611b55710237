"""Later calls: they are timed, and each result is compared with the first, bit by bit.

What they return is looked at between the times that are taken. Small results are held until all
times are there. Larger ones are compared at once: to hold them would have later calls allocate
where they reuse memory otherwise.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from parity_tests.evidence import values
from parity_tests.evidence.distances import have_equal_bytes
from parity_tests.jax_defaults import jax_defaults
from parity_tests.observe import effects, memory
from parity_tests.observe.calls import Result
from reports.rows import Check
from reports.rows.calls import CallResults, Growth, OtherResult
from reports.rows.check_names import AGREE

HELD_BYTES = 2**22
CALLS_BETWEEN = 5  # two looks at memory
LONG = 0.01  # seconds; a call after which memory is looked at each time
MOST_OTHERS = 8  # other results whose values are kept


@dataclass
class Results:
    """The results of calls, each noted as one that was there before or as another one."""

    first: Result
    _leaves: list[Any]
    _pattern: list[int] = field(default_factory=lambda: [0])
    _others: list[tuple[Result, OtherResult]] = field(default_factory=list)

    @classmethod
    def beginning_with(cls, result: Any) -> Results:
        """Begin with the result of the first call."""
        return cls(Result.read(result), jax.tree.leaves(result))

    @functools.cached_property
    def bytes(self) -> int:
        """The size of the first result."""
        return sum(each.array.nbytes for each in self.first.arrays)

    @jax_defaults()
    def note(self, result: Any) -> None:
        """Compare the result of one more call."""
        if _same_bits(self._leaves, jax.tree.leaves(result)):
            self._pattern.append(0)
        else:
            self._pattern.append(self._number_of(Result.read(result)))

    def row(self) -> CallResults:
        """Return the row of all calls."""
        return CallResults(
            pattern=tuple(self._pattern), others=tuple(row for _, row in self._others)
        )

    def _number_of(self, result: Result) -> int:
        apart = self.first.differs(result)
        if not apart:
            return 0
        for number, (other, _) in enumerate(self._others, start=1):
            if not other.differs(result):
                return number
        kept = result.arrays if len(self._others) < MOST_OTHERS else ()
        leaves = tuple(values.keep_in_report(each.array) for each in kept)
        row = OtherResult(apart=apart, sha256=result.digest, leaves=leaves)
        # Without the arrays, or memory would grow with each call that gives another result.
        self._others.append((replace(result, arrays=()), row))
        return len(self._others)


def _same_bits(first: list[Any], other: list[Any]) -> bool:
    """Say whether results are the same, for less than it takes to read them; False if in doubt."""
    return len(first) == len(other) and all(map(_same_array, first, other))


def _same_array(a: Any, b: Any) -> bool:
    if not (isinstance(a, jax.Array) and isinstance(b, jax.Array)):
        return False
    if jax.dtypes.issubdtype(a.dtype, jax.dtypes.extended):
        return False
    alike = all(
        getattr(a, name) == getattr(b, name)
        for name in ("shape", "dtype", "weak_type", "sharding", "committed")
    )
    return alike and have_equal_bytes(np.asarray(a), np.asarray(b))


def check(results: CallResults) -> Check:
    """Check that all calls gave the same. A program with state of its own fails on every side."""
    apart = []
    for what, start, stop in (("the call of the compiled stage", 1, 2), ("a later call", 2, None)):
        numbers = [(n, of) for n, of in enumerate(results.pattern[start:stop], start + 1) if of]
        if numbers:
            call, of = numbers[0]
            which = f" (call {call} of {len(results.pattern)})" if start > 1 else ""
            apart.append(f"{what} differs from the first {results.others[of - 1].apart}{which}")
    statement = "; ".join(apart) or "compiled stage, first call and later calls alike"
    return Check(name=AGREE, holds=not apart, statement=statement)


@dataclass
class Watch:
    """What is noted between timed calls: results, the effects that there are, and memory.

    Use it as the `after` of `time_calls`. A short call may take twice as long behind much
    other work, so little is done between calls, and memory is looked at every few of them.
    """

    results: Results
    has_effects: bool
    effects: list[Counter[effects.Target]] = field(default_factory=list)
    grown: Growth | None = None
    _calls: int = 0
    _held: list[Any] = field(default_factory=list)
    _held_bytes: int = 0
    _memory: list[memory.Memory] = field(default_factory=list)
    _looked: float = field(default_factory=time.perf_counter)
    _recording: ExitStack = field(default_factory=ExitStack)

    @contextmanager
    def watching(self) -> Iterator[Watch]:
        """Watch the calls of the block, and compare what is held in the end."""
        with self._recording:
            self._record()
            yield self
        del self.effects[self._calls :]  # the last call began a recording of no call
        self._let_go()
        self.grown = memory.growth_between(self._memory)

    def __call__(self, result: Any) -> None:
        """Note the result of a call."""
        self._calls += 1
        self._recording.close()
        self._record()
        self._held.append(result)
        self._held_bytes += self.results.bytes
        if self._calls % CALLS_BETWEEN == 0 or time.perf_counter() - self._looked > LONG:
            self._memory.append(memory.seen_after(self._calls, self._held))
            self._looked = time.perf_counter()
        if self._held_bytes > HELD_BYTES:
            self._let_go()

    def _let_go(self) -> None:
        for held in self._held:
            self.results.note(held)
        self._held.clear()
        self._held_bytes = 0

    def _record(self) -> None:
        if self.has_effects:
            recording = self._recording.enter_context(effects.recording(with_values=False))
            self.effects.append(recording.counts)


# -- times -----------------------------------------------------------------------------------------

SECONDS = 0.3  # so that the built-in corpus finishes in minutes; slow programs get 3 calls
FEWEST = 3
# Seven calls of each side can tell the sides apart beyond doubt; slower programs do without.
ENOUGH = 7
SECONDS_FOR_ENOUGH = 2.0


@dataclass(frozen=True)
class CallTimes:
    """Medians in seconds: `call` until the results are there, `dispatch` until the call returns.

    JAX returns before the results are there, so `dispatch` is the price for the caller's thread. A
    CPU computes small programs at once; then both have the work. `processor` is the least that
    all threads take of the processors in a call: those of LAPACK spin while they wait for a busy
    one. Without samples, all are None. `seconds` has each call, in order.
    """

    call: float | None
    dispatch: float | None
    samples: int
    seconds: tuple[float, ...] = ()
    processor: float | None = None


NO_TIMES = CallTimes(None, None, 0)


def time_calls(
    ready: Callable[[], Callable[[], Any]],
    most: int,
    after: Callable[[Any], object] = lambda result: None,
) -> CallTimes:
    """Call at most `most` times, and wait for the results of each call before the next.

    `ready` returns what is called and timed, anew for each call: a call consumes donated arguments.
    `after` is given each result when its time is taken.
    """
    whole: list[float] = []
    dispatch: list[float] = []
    processor: list[float] = []
    while len(whole) < most and _goes_on(len(whole), sum(whole)):
        call = ready()
        used = time.process_time()
        start = time.perf_counter()
        result = call()
        returned = time.perf_counter()
        jax.block_until_ready(result)
        whole.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
        dispatch.append(returned - start)
        after(result)
    if not whole:
        return NO_TIMES
    medians = statistics.median(whole), statistics.median(dispatch)
    return CallTimes(*medians, len(whole), tuple(whole), processor=min(processor))


def _goes_on(taken: int, seconds: float) -> bool:
    few = taken < FEWEST or (taken < ENOUGH and seconds < SECONDS_FOR_ENOUGH)
    return few or seconds < SECONDS
