"""The stages of a program on one side, in order: functions from record to record.

Each takes the records of the stages before it::

    build -> trace_and_lower -> count -> compile_program -> call_program

A stage tells the clock its name as it begins, so that a crash can be laid to it. Time and memory
are measured around the work of JAX alone: counting has stages of its own.
"""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import jax
from jax.interpreters import mlir

from parity_tests.exception_texts import named
from parity_tests.jax_defaults import jax_defaults
from parity_tests.jax_internals import const_args, without_references
from parity_tests.jaxpr import counts
from parity_tests.jaxpr.rewriting import live_part
from parity_tests.jaxpr.work import ConstantWork, constant_work, equations_at_work
from parity_tests.observe import (
    calls,
    device_buffers,
    effects,
    later_calls,
    memory,
    optimised_hlo,
    stablehlo,
)
from parity_tests.observe.failures import WrittenSinceError, WrongSideError
from parity_tests.observe.jit_on_side import (
    embed_threshold_on,
    expanded,
    jitted_on,
    staged_alone,
    traced_as_it_takes,
)
from parity_tests.observe.proof_of_side import prove, written_since
from parity_tests.own_jit import OwnJit
from parity_tests.program import Program
from reports.rows import ExecutableCounts, MemoryStats, Proof, Side, is_ours
from reports.rows.calls import Effects, Growth

# Given a program's function with its arguments and options, and JAX's traced stage.
OnTraced: TypeAlias = Callable[[OwnJit, Any], object]
# Measures the peak of host memory over a block.
Peaks: TypeAlias = Callable[[], AbstractContextManager[memory.Peak]]

# In words, a limit of `jax.jit(f).lower(x).compile()(x)` (jax 0.12.0.1). The judge looks for it.
_GIVES_HIJAX = "JAX's compiled stage takes no call of a program with a result of a hijax type"

# Where nobody asks for times, a program of short calls is called some more times all the same: it
# may be right at first.
UNTIMED = 3
SHORT = 1.0  # seconds; a busy machine makes less than that of a call of milliseconds


class StageClock:
    """The stage that a program is in, and what the stages before it took.

    `seconds` are those of the clock, `processor` those of the processors.
    """

    def __init__(self, on_stage: Callable[[str], object]) -> None:
        self._on_stage = on_stage
        self.current = "build"
        self.seconds: dict[str, float] = {}
        self.processor: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Be in a stage for the time of a block."""
        self.current = name
        self._on_stage(name)
        start, used = time.perf_counter(), time.process_time()
        yield
        self.seconds[name] = time.perf_counter() - start
        self.processor[name] = time.process_time() - used


# -- the records between stages --------------------------------------------------------------------


@dataclass(frozen=True)
class Built:
    """A program as a side takes it; `arrays_before` were on devices before it was traced.

    `clock` says in which stage it is.
    `jitted` has the options of the program's own `jax.jit`, and takes all arguments of `own`. `fun`
    is the function of `args` and `kwargs` alone, which are not static.
    """

    side: Side
    own: OwnJit
    jitted: Any
    embed_threshold: int  # in bytes
    arrays_before: device_buffers.Arrays
    clock: StageClock

    @property
    def fun(self) -> Callable[..., Any]:
        """The function, its static arguments bound."""
        return self.own.bound

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments that are not static."""
        return self.own.dynamic[0]

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments that are not static."""
        return self.own.dynamic[1]

    def ready(self) -> functools.partial[Any]:
        """Return a call of the jitted function, with copies of what a call consumes."""
        args, kwargs = self.own.fresh()
        return functools.partial(self.jitted, *args, **kwargs)

    @property
    def inputs(self) -> list[Any]:
        """The leaves of the example arguments."""
        return jax.tree.leaves((self.args, self.kwargs))


@dataclass(frozen=True)
class Traced:
    """A program with JAX's stage of its trace.

    `built` is what was traced: of a program that takes Python values, it may be a function of its
    arrays.
    """

    built: Built
    traced: Any

    @property
    def closed(self) -> Any:
        """The closed_jaxpr that is lowered: hijax primitives are expanded."""
        return expanded(self.traced)

    @property
    def facts(self) -> counts.JaxprFacts:
        """What that holds, counted anew."""
        return counts.count(self.closed, embed_threshold=self.built.embed_threshold)


@dataclass(frozen=True)
class Lowered(Traced):
    """A program with JAX's stages of it up to its StableHLO, and the peak of host memory.

    `not_here` says why it cannot be lowered for this platform, where `lowered` is for another.
    """

    lowered: Any
    peak: memory.Peak
    not_here: str = ""


@dataclass(frozen=True)
class Counted:
    """Counts over the jaxpr and the StableHLO, with the proof that they are of the side.

    `work` has the equations that compute, by primitive, and the estimated operations of a call;
    `of_captured` is the work on captured arrays alone. `live` is the
    closed_jaxpr without dead code. `jaxpr` is the printed jaxpr; equal programs print equally.
    `text` is the printed StableHLO, its large constants elided. Sizes are in bytes.
    """

    facts: counts.JaxprFacts
    work: tuple[dict[str, int], float]
    of_captured: ConstantWork
    module: stablehlo.ModuleCounts
    proof: Proof
    live: Any
    text_bytes: int
    bytecode_bytes: int
    jaxpr: str
    text: str


@dataclass(frozen=True)
class Compiled:
    """The executable, the peak of host memory while it was compiled, and counts over it.

    `gives_hijax` says that a result is of a hijax type.
    `text` is the optimised HLO. XLA prints it anew each time that it is asked.
    """

    compiled: Any
    text: str
    peak: memory.Peak
    memory: MemoryStats | None
    executable: ExecutableCounts
    gives_hijax: bool


@dataclass(frozen=True)
class Called:
    """The first results of a program, and the work and times of its calls.

    `results` has those of all calls so far, the first of the jitted function and the one of the
    compiled stage among them. `ready` returns a call of that function, to be made once; `work` is
    JAX's work in its first call.
    """

    ready: Callable[[], functools.partial[Any]]
    results: later_calls.Results
    work: Counter[str]
    times: later_calls.CallTimes
    constant_buffers: int  # in bytes, on devices
    effects: Effects
    growth: Growth | None

    @property
    def first(self) -> calls.Result:
        """The first result of the jitted function."""
        return self.results.first


# -- the stages ------------------------------------------------------------------------------------


def build(program: Program, side: Side, clock: StageClock) -> Built:
    """Build a program and jit it on a side."""
    with clock("build"):
        own = program.build_with_jit()
        jitted, embed_threshold = jitted_on(own.fun, side, **own.options), embed_threshold_on(side)
        before = device_buffers.alive()
    return Built(side, own, jitted, embed_threshold, before, clock)


def trace(built: Built, on_traced: OnTraced | None) -> Traced:
    """Trace a program."""
    clock, jit = built.clock, functools.partial(jitted_on, side=built.side)
    with clock("trace"):
        own, jitted, traced = traced_as_it_takes(built.own, built.jitted, jit)
        built = replace(built, own=own, jitted=jitted)
    # What is traced for long is looked at for long: not within the limits of a measurement.
    if on_traced is not None and clock.seconds["trace"] < SHORT:
        with clock("hazards"):
            on_traced(built.own, traced)
    return Traced(built, traced)


def trace_and_lower(built: Built, peaks: Peaks, on_traced: OnTraced | None) -> Lowered:
    """Trace and lower a program, and measure the peak of host memory over both."""
    with peaks() as peak:
        lowered = lower(trace(built, on_traced))
    return replace(lowered, peak=peak)


def lower(made: Traced, platforms: Sequence[str] = ()) -> Lowered:
    """Lower a program that was traced; the peak of host memory is not measured.

    One that cannot be lowered here is lowered for the first of `platforms` for which it can be.
    Raises what JAX does for the last of these, if there is none.
    """
    built = made.built
    with staged_alone(built.side), built.clock("lower"):
        failures: list[Exception] = []
        for platform in ("", *platforms):
            # Rules of lowering may raise anything at all.
            try:
                lowered = _lowered(made.traced, platform)
            except Exception as error:  # noqa: BLE001
                failures.append(error)
            else:
                why = named(failures[0]) if failures else ""
                return Lowered(built, made.traced, lowered, memory.Peak(), why)
        raise failures[-1]


def _lowered(traced: Any, platform: str) -> Any:
    """Lower for a platform, or for a program's devices; an abstract mesh with none is for here.

    JAX asks for a platform then, and lowers up to there.
    """
    if platform:
        return traced.lower(lowering_platforms=(platform,))
    try:
        return traced.lower()
    except ValueError as error:
        if "lowering_platforms" not in str(error):
            raise
        return traced.lower(lowering_platforms=(jax.export.default_export_platform(),))


def count(made: Lowered) -> Counted:
    """Count over the jaxpr and the StableHLO. Raises what `prove_side` does."""
    built = made.built
    with built.clock("count"), jax_defaults():
        lowered = made.lowered
        facts, module, live, proof = _held_to_side(made)
        text = stablehlo.printed(lowered.compiler_ir())
        return Counted(
            facts,
            equations_at_work(live),
            constant_work(live, embed_threshold=built.embed_threshold),
            module,
            proof,
            live,
            text_bytes=stablehlo.text_bytes(lowered, text),
            # JAX names variables in the order in which it prints them.
            jaxpr=calls.without_addresses(str(made.traced.jaxpr)),
            bytecode_bytes=len(mlir.module_to_bytecode(lowered.compiler_ir())),
            text=text,
        )


def prove_side(made: Lowered) -> tuple[Proof, counts.JaxprFacts]:
    """Return the proof of the side and what the jaxpr holds.

    Raises `WrongSideError` where the proof fails, and `WrittenSinceError` where stock JAX lowered
    the program in a call before, and a captured array holds other values by now.
    """
    with made.built.clock("count"), jax_defaults():
        facts, _, _, proof = _held_to_side(made)
        return proof, facts


def _held_to_side(
    made: Lowered,
) -> tuple[counts.JaxprFacts, stablehlo.ModuleCounts, Any, Proof]:
    built = made.built
    lowered, embed_threshold = made.lowered, built.embed_threshold
    facts = made.facts
    module = stablehlo.count(lowered.compiler_ir(), embed_threshold=embed_threshold)
    live = live_part(made.closed)
    was_called = built.side == "jax-legacy" and built.own.was_called
    if was_called and (arrays := written_since(facts, module)):
        raise WrittenSinceError([each.value for each in arrays])
    live_captured = _live_captured(live, facts, module, embed_threshold)
    passed = len(lowered.const_args) if built.side == "simplified" else None
    proof = prove(built.side, facts, module, live_captured=live_captured, passed=passed)
    if not proof.holds:
        raise WrongSideError(proof)
    return facts, module, live, proof


def _live_captured(
    live: Any, facts: counts.JaxprFacts, module: stablehlo.ModuleCounts, embed_threshold: int
) -> int:
    """Count the captured arrays that are left when dead code is gone, writes to references too."""
    if module.const_args >= len(facts.captured):
        return len(facts.captured)
    if live.effects:
        live = live_part(without_references(live))
    return len(counts.count(live, embed_threshold=embed_threshold, only_read=True).captured)


def compile_program(made: Lowered, peaks: Peaks) -> Compiled:
    """Compile a program, measure the peak of host memory, and read off what XLA made of it."""
    clock = made.built.clock
    with peaks() as peak, staged_alone(made.built.side), clock("compile"):
        compiled = made.lowered.compile()
    with clock("count"), jax_defaults():
        memory = _memory(compiled.memory_analysis())
        text = optimised_hlo.printed(compiled)
        lowered = made.lowered
        passed = lowered.const_args if is_ours(made.built.side) else const_args(lowered)
        executable = optimised_hlo.count(compiled, text, len(passed))
    gives_hijax = any(aval.is_high for aval in made.traced.jaxpr.out_avals)
    return Compiled(compiled, text, peak, memory, executable, gives_hijax)


def _memory(stats: Any) -> MemoryStats | None:
    if stats is None:
        return None  # some backends have no analysis
    return MemoryStats(
        arguments=stats.argument_size_in_bytes,
        outputs=stats.output_size_in_bytes,
        temporaries=stats.temp_size_in_bytes,
        aliased=stats.alias_size_in_bytes,
        generated_code=stats.generated_code_size_in_bytes,
    )


def call_program(built: Built, counted: Counted, made: Compiled, *, steady_calls: int) -> Called:
    """Call a program through its compiled stage, then through the jitted function, and time that.

    Const args are passed in different code in the two ways, and both must work. The jitted function
    is called again at most `steady_calls` times, to time it and to compare the results.
    """
    clock, (args, kwargs) = built.clock, built.own.fresh_dynamic()
    with effects.recording() as of_first, clock("first call"):
        try:
            of_compiled = jax.block_until_ready(made.compiled(*args, **kwargs))
        except TypeError as error:
            if made.gives_hijax:
                raise TypeError(f"{_GIVES_HIJAX}: {error}") from error
            raise
    del args, kwargs
    with clock("count"), jax_defaults():
        constant_buffers = device_buffers.due_to_constants(
            built.arrays_before,
            jax.tree.leaves(of_compiled),
            [each.value for each in counted.facts.captured],
            are_passed=counted.module.const_args > 0,
        )
    again = built.ready()
    with clock("call"), calls.work_of_jax() as work, effects.recording() as of_again:
        result = jax.block_until_ready(again())
    with clock("read outputs"):
        results = later_calls.Results.beginning_with(result)
        results.note(of_compiled)
        del result, of_compiled
    with clock("call"), later_calls.Watch(results, bool(of_again.counts)).watching() as watch:
        of_one = min(clock.seconds["first call"], clock.seconds["call"])
        if steady_calls or of_one > SHORT:
            times = later_calls.time_calls(built.ready, steady_calls, watch)
        else:
            later_calls.time_calls(built.ready, UNTIMED, watch)
            times = later_calls.NO_TIMES
    found = effects.effects(of_again, of_first, watch.effects)
    return Called(built.ready, results, work, times, constant_buffers, found, watch.grown)
