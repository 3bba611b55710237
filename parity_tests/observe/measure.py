"""Measure: one program on one side, to a frozen observation and its output arrays."""

from __future__ import annotations

import functools
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import jax
from jax.interpreters import mlir

from parity_tests.evidence import placement, values
from parity_tests.jaxpr import counts
from parity_tests.jaxpr.bodies import live_part
from parity_tests.observe import (
    call_times,
    calls,
    compile_cache,
    device_buffers,
    host_memory,
    optimised_hlo,
    stablehlo,
)
from parity_tests.observe.calls import without_addresses
from parity_tests.observe.checks import const_args, flag_flips, overwritten_arrays, round_trips
from parity_tests.observe.ledger import ledger
from parity_tests.observe.proof import prove
from parity_tests.program import Program
from reports.rows import (
    Failure,
    HostMemory,
    JaxprCounts,
    MemoryStats,
    Observation,
    Proof,
    Side,
    StableHloCounts,
    StageTimes,
)
from reports.rows.check_names import AGREE


@dataclass(frozen=True)
class Measured:
    """An observation, with what stays out of the reports: its outputs and its printed jaxpr."""

    observation: Observation
    values: tuple[values.Value, ...] = ()
    jaxpr: str = ""


class WrongSideError(AssertionError):
    """What a side produced contradicts the side; carries the proof."""

    def __init__(self, proof: Proof):
        super().__init__(proof.statement)
        self.proof = proof


def measure(
    program: Program,
    side: Side,
    *,
    on_stage: Callable[[str], object] = lambda name: None,
    most_calls: int = 0,
    fresh: bool = False,
    reload: bool = False,
) -> Measured:
    """Take one program through trace, lower, compile and call on one side.

    Whatever the program raises is data: the observation has it as its `failure`, with the stage.
    A stock side must be the one that this process was started for, and the proof notices where it
    is not. `on_stage` is told the name of each stage as it begins, since a crash tells nothing.
    `most_calls` is how often the program is called to time it; with 0 it is not compiled from a
    persistent cache either. `fresh` says that the process has run no other program,
    and with `reload` it is exported and read back, and called from a persistent cache.

        measure(parity_tests.targets.load_one("my_model:step"), "jax-legacy").observation.times
    """
    stages = _Stages(on_stage)
    # The one place that catches everything: a program may raise anything at all, and a pipeline
    # that raises is what a differential tester is there to record.
    try:
        return _measure(program, side, stages, most_calls, fresh, reload)
    except WrongSideError as error:
        failure = Failure(
            kind="wrong side", stage=stages.current, type="WrongSideError", message=str(error)
        )
        return Measured(
            Observation(program=program.name, side=side, failure=failure, proof=error.proof)
        )
    except Exception as error:  # noqa: BLE001
        return Measured(
            Observation(
                program=program.name, side=side, failure=exception_failure(error, stages.current)
            )
        )


def exception_failure(error: BaseException, stage: str) -> Failure:
    """Describe an exception as a failure row, its texts cut to what a report can show."""
    type_ = type(error)
    prefix = "" if type_.__module__ == "builtins" else f"{type_.__module__}."
    trace = "".join(traceback.format_exception(error))
    return Failure(
        kind="exception",
        stage=stage,
        type=prefix + type_.__qualname__,
        message=str(error)[:4000],
        traceback=trace[-8000:],
    )


def _measure(
    program: Program, side: Side, stages: _Stages, most_calls: int, fresh: bool, reload: bool
) -> Measured:
    with stages("build"):
        fun, args, kwargs = program.build()
        jitted, threshold = jitted_on(fun, side), _threshold(side)
        before = device_buffers.alive()
    with host_memory.peak() as of_lowering:
        with stages("trace"):
            traced = jitted.trace(*args, **kwargs)
        with staged_alone(side), stages("lower"):
            lowered = traced.lower()
    with stages("count"):
        facts = counts.count(traced.jaxpr, threshold=threshold)
        module = stablehlo.count(lowered.compiler_ir(), threshold=threshold)
        live = _live_captured(traced.jaxpr, facts, module, threshold)
        passed = len(lowered.const_args) if side == "simplified" else None
        proof = prove(side, facts, module, live_captured=live, passed=passed)
        if not proof.holds:
            raise WrongSideError(proof)
        text_bytes = len(lowered.as_text())
        # JAX names variables in the order in which it prints them, so equal programs print equally.
        jaxpr = without_addresses(str(traced.jaxpr))
        bytecode_bytes = len(mlir.module_to_bytecode(lowered.compiler_ir()))
    with host_memory.peak() as of_compiling, staged_alone(side), stages("compile"):
        compiled = lowered.compile()
    with stages("count"):
        memory = _memory(compiled.memory_analysis())
        executable = optimised_hlo.count(compiled)
    with stages("ledger"):
        captured_arrays = ledger(
            traced.jaxpr,
            live_part(traced.jaxpr),
            module,
            const_args=getattr(lowered, "const_args", None),
            threshold=threshold,
            optimised_hlo=lambda: compiled.as_text() or "",
        )
    # The first call goes through the compiled stage and the others through the jitted function:
    # const args are passed in different code there, and both ways must work.
    call = functools.partial(jitted, *args, **kwargs)
    with stages("first call"):
        of_compiled = jax.block_until_ready(compiled(*args, **kwargs))
    with stages("count"):
        constant_buffers = device_buffers.due_to_constants(
            before, jax.tree.leaves(of_compiled), [each.value for each in facts.captured]
        )
    with stages("call"):
        with calls.work_of_jax() as work:
            result = jax.block_until_ready(call())
        times = call_times.take(call, most_calls)
    with stages("read outputs"):
        first = calls.Result.read(result)
    with stages("check"):
        checks = calls.check(first, calls.Result.read(of_compiled), call, work)
        stateful = not all(each.holds for each in checks if each.name == AGREE)
        if side in ("legacy", "simplified"):
            checks += overwritten_arrays.check(
                fun,
                first,
                call,
                functools.partial(counts.count, traced.jaxpr, threshold=threshold),
                may_call=not stateful and module.callbacks == 0,
            )
        if side == "simplified":
            checks += const_args.check(lowered.const_args, facts)
        if side == "legacy" and facts.captured:  # without captured arrays the two sides are one
            checks += flag_flips.check(fun, args, kwargs, stateful=stateful)
    cached = compile_cache.Cached()
    affordable = compile_cache.is_affordable(stages.seconds["compile"], facts.captured_bytes)
    inputs = jax.tree.leaves((args, kwargs))
    if (most_calls or reload) and affordable:
        with stages("compile from a cache"), staged_alone(side):
            jit = functools.partial(jitted_on, side=side)
            captured = [each.identity for each in facts.captured]
            cached = compile_cache.measure(jit, traced.jaxpr, inputs, captured)
    if reload:
        with stages("reload from a cache"):
            checks += round_trips.check_reload(cached, inputs, first)
        with stages("export"):
            checks += round_trips.check_export(jitted, args, kwargs, first)
    observation = Observation(
        program=program.name,
        side=side,
        proof=proof,
        jaxpr=JaxprCounts(
            equations=facts.equations,
            captured_arrays=len(facts.captured),
            captured_bytes=facts.captured_bytes,
            captured_values=facts.captured_values(),
            committed_arrays=sum(
                placement.devices_of(each.value) == 1 and placement.is_committed(each.value) is True
                for each in facts.captured
            ),
            sharded_arrays=sum(placement.devices_of(each.value) > 1 for each in facts.captured),
        ),
        stablehlo=StableHloCounts(
            text_bytes=text_bytes,
            bytecode_bytes=bytecode_bytes,
            operations=module.operations,
            functions=module.functions,
            constants=module.constants,
            constant_bytes=module.constant_bytes,
            operations_by_name=module.operations_by_name,
            main_order=module.main_order,
            argument_types=module.argument_types,
            callbacks=module.callbacks,
            marks_lost=module.marks_lost,
        ),
        executable=executable,
        recompiles=cached.recompiles,
        memory=memory,
        constant_buffers=constant_buffers,
        host_memory=_host_memory(of_lowering, of_compiling, fresh),
        times=StageTimes(
            trace=stages.seconds["trace"],
            lower=stages.seconds["lower"],
            compile=stages.seconds["compile"],
            first_call=stages.seconds["first call"],
            call=times.call,
            dispatch=times.dispatch,
            call_samples=times.samples,
            cached_compile=cached.seconds,
        ),
        outputs=first.leaves,
        tree=first.tree,
        ledger=captured_arrays,
        checks=checks,
    )
    return Measured(observation, first.arrays, jaxpr)


def jitted_on(fun: Callable[..., Any], side: Side) -> Any:
    """Return a function jitted by a side: by `engine.jit` in its mode, or by stock `jax.jit`."""
    if side in ("legacy", "simplified"):
        # Not on a stock side: stock JAX is to run as if the engine did not exist.
        import engine

        return engine.jit(fun, constants=side)
    return jax.jit(fun)


def staged_alone(side: Side) -> AbstractContextManager[None]:
    """Have no program of a side be lowered or compiled as an equal one before it, in a block."""
    if side in ("legacy", "simplified"):
        from engine.runtime import executable_cache

        return executable_cache.unshared()
    return nullcontext()


def _threshold(side: Side) -> int:
    """Return the embed threshold in bytes that is in force on a side."""
    if side in ("legacy", "simplified"):
        import engine

        return engine.config.embedded_constants_max_bytes
    threshold: int = jax.config.jax_embedded_constants_max_bytes  # type: ignore[attr-defined]
    return threshold


def _live_captured(
    closed: Any, facts: counts.JaxprFacts, module: stablehlo.ModuleCounts, threshold: int
) -> int:
    """Count the captured arrays that are left when dead code is gone."""
    if module.const_args >= len(facts.captured):
        return len(facts.captured)
    from jax.interpreters import partial_eval

    live, _ = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
    live = live.replace(debug_info=closed.jaxpr.debug_info)
    read = counts.count(closed.replace(jaxpr=live), threshold=threshold, only_read=True)
    return len(read.captured)


def _host_memory(
    lowering: host_memory.Peak, compiling: host_memory.Peak, fresh: bool
) -> HostMemory | None:
    if lowering.nbytes is None or compiling.nbytes is None:
        return None
    return HostMemory(trace_and_lower=lowering.nbytes, compile=compiling.nbytes, fresh=fresh)


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


class _Stages:
    """The stage that a program is in, and the seconds that those before it took."""

    def __init__(self, on_stage: Callable[[str], object]) -> None:
        self._on_stage = on_stage
        self.current = "build"
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        self.current = name
        self._on_stage(name)
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start
