"""Measure: one program on one side, to a frozen observation and its output arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import jax

from parity_tests.evidence import values
from parity_tests.jax_defaults import jax_defaults
from parity_tests.jaxpr import counts
from parity_tests.jaxpr.captured import is_gone
from parity_tests.jaxpr.captured_uses import captured_in_other_bodies
from parity_tests.observe import (
    as_written,
    calls,
    compile_cache,
    effects,
    failures,
    later_calls,
    memory,
    stages,
)
from parity_tests.observe.checks import captured_arrays, flag_flips, round_trips
from parity_tests.observe.environment import measured_with
from parity_tests.observe.failures import attempt
from parity_tests.observe.jit_on_side import expanded_on_leaves, jitted_on, staged_alone
from parity_tests.observe.ledger import ledger, with_written
from parity_tests.observe.not_here import NotHereError, is_for_an_abstract_mesh, not_here
from parity_tests.observe.numbers import (
    numbers_of,
    placement_of,
    traced_for_here,
    with_modules,
)
from parity_tests.observe.observation_row import described, observation_of
from parity_tests.observe.proof_of_side import is_in_form
from parity_tests.observe.reads.backend import reads_in_traces
from parity_tests.observe.reads.recording import backend_read_before
from parity_tests.observe.stages import (
    Built,
    Called,
    Compiled,
    Counted,
    Lowered,
    OnTraced,
    StageClock,
)
from parity_tests.program import Program
from reports.rows import CapturedArray, Check, Failure, JaxprCounts, Observation, Side, is_ours
from reports.rows.check_names import DONATING, EXPORT, FLIPS, RELOAD, VALUES, WRITES, Flips
from reports.rows.observation import LONG_STAGING


@dataclass(frozen=True)
class Measured:
    """An observation, with what stays out of the reports: its outputs and its printed jaxpr."""

    observation: Observation
    values: tuple[values.Value, ...] = ()
    jaxpr: str = ""


def measure(
    program: Program,
    side: Side,
    *,
    name: str | None = None,
    on_stage: Callable[[str], object] = lambda name: None,
    on_measured: Callable[[Measured], object] = lambda measured: None,
    on_traced: OnTraced | None = None,
    steady_calls: int = 0,
    exact_peaks: bool = True,
    fresh: bool = False,
    reload: bool = False,
    flips: Flips = "called",
) -> Measured:
    """Take one program through trace, lower, compile and call on one side.

    Whatever the program raises is data: the observation has it as its `failure`, with the stage.
    A stock side must be the one that this process was started for; the proof notices where it is
    not. `name` is the program's name in the observation, unless it is its own. `on_stage` is told
    the name of each stage as it begins, because a crash tells nothing. `on_measured` is given what
    was measured before the last checks begin, if there are any: they may take the process along.
    `on_traced` is given the function, its arguments and options, and JAX's traced stage, before it
    is lowered.
    The program is called at most `steady_calls` times to time it; with 0 it is not compiled from a
    persistent cache either. Unless `exact_peaks`, a peak of host memory leaves out what was free in
    the process before. `fresh` says that the process has run no other program. With `reload`
    the program is exported and read back, and called from a persistent cache. `flips` says whether
    the other form is compiled and called in the last checks, or left out. A program that compiles
    for long is not compiled in its other form.

    Example::

        measure(parity_tests.targets.load_one("my_model:step"), "jax-legacy").observation.times
    """
    clock, name = StageClock(on_stage), name or program.name
    # The one place that catches everything: a program may raise anything at all, and a pipeline
    # that raises is what a differential tester is there to record.
    built: Built | None = None
    due: as_written.Due | None = None
    kept: as_written.KeptOutside | None = None
    try:
        effects.install()
        built = stages.build(program, side, clock)
        kept = as_written.KeptOutside(built.own.fun)
        built, found, due = _measure(
            name,
            built,
            on_traced,
            steady_calls=steady_calls,
            exact_peaks=exact_peaks,
            fresh=fresh,
            reload=reload,
        )
    except NotHereError as error:
        failed = _failed(name, side, error, clock.current)
        return Measured(failed.model_copy(update={"numbers": error.numbers}))
    except Exception as error:  # noqa: BLE001
        found = Measured(_failed(name, side, error, clock.current))
        if built is not None and isinstance(error, failures.WrongSideError):
            due = as_written.Due() if built.own.was_called else None
        elif built is not None:
            due = as_written.due_after_failure(built.own)
    if built is None:
        return found
    as_it_is = (due, kept) if due and kept else None
    return _with_last(program, built, found, as_it_is, on_measured, flips)


def number(
    program: Program,
    side: Side,
    *,
    name: str | None = None,
    platforms: Sequence[str] = (),
    lowers: bool = True,
    on_stage: Callable[[str], object] = lambda name: None,
    on_traced: OnTraced | None = None,
) -> Observation:
    """Trace, lower and number one program on one side; nothing is compiled or called.

    It is lowered for `platforms` as well, which need not be here; where building or tracing it
    reads the backend, nothing is known of these. Unless `lowers`, it is lowered only where its
    jaxpr does not tell: it is undecided, or not in the form of its side, or has effects, which
    lowering may lose, or is for an abstract mesh or has captured arrays in a body like that of
    `reduce`, which lowering may refuse. What is not lowered has no proof of its side.
    Whatever the program raises is data, as in `measure`, and `on_traced` is given the same as
    there.

    Example::

        number(parity_tests.targets.load_one("my_model:step"), "jax-legacy").numbers.jaxpr.digest
    """
    clock, name = StageClock(on_stage), name or program.name
    try:
        with jax.disable_jit(False), reads_in_traces(records=bool(platforms)) as reads:
            built = stages.build(program, side, clock)
            with clock("read arguments"):
                arguments = described(built.fun, built.args, built.kwargs)
            proof = None
            with compile_cache.compiled_with_a_folder() as compiled_in_trace:
                made = stages.trace(built, on_traced)
                with clock("number"):
                    numbers = numbers_of(made)
                    with jax_defaults():
                        facts = made.facts
                jaxpr = numbers.jaxpr
                tells = not jaxpr.undecided and not jaxpr.effects and is_in_form(side, facts)
                tells = tells and not captured_in_other_bodies(made.closed)
                tells = tells and not built.own.was_called  # else its lowering shows late writes
                if lowers or not tells or is_for_an_abstract_mesh(made):
                    made = lowered = stages.lower(made, platforms)
                    proof, facts = stages.prove_side(lowered)
                    with clock("number"):
                        numbers = with_modules(numbers, lowered, platforms)
                        read = [*reads, *backend_read_before(program.target)]
                        numbers = traced_for_here(numbers, read)
            calls = as_written.of_calls(made, facts, may_count=bool(compiled_in_trace))
            placement = placement_of(made, facts.captured)
    except Exception as error:  # noqa: BLE001 - as in `measure`
        return _failed(name, side, error, clock.current)
    return Observation(
        program=name,
        side=side,
        measured_with=measured_with(),
        proof=proof,
        jaxpr=JaxprCounts(
            equations=facts.equations,
            captured_arrays=len(facts.captured),
            captured_bytes=facts.captured_bytes,
        ),
        numbers=numbers.model_copy(update={**calls, "placement": placement}),
        arguments=arguments,
    )


def _with_last(
    program: Program, built: Built, found: Measured,
    as_it_is: tuple[as_written.Due, as_written.KeptOutside] | None,
    on_measured: Callable[[Measured], object], flips: Flips,
) -> Measured:  # fmt: skip
    """Add what comes last and may take the process along: the other form, and calls as written."""
    observation = found.observation
    is_flipped = flag_flips.is_due(built, observation, flips)
    if is_flipped or as_it_is:
        on_measured(found)
    if is_flipped:
        if flips == "called" and built.clock.seconds["compile"] > LONG_STAGING:
            flips = "lowered"  # the other form may compile for as long
        with built.clock(FLIPS):
            last = flag_flips.check(built, observation, flips)
        observation = observation.model_copy(update={"checks": (*observation.checks, *last)})
    if as_it_is:
        observation = as_written.added(program, built, observation, *as_it_is)
    return replace(found, observation=observation)


# What the tester found of a program, and raised.
_OF_OURS: dict[type[Exception], Literal["wrong side", "written to", "not here"]] = {
    failures.WrongSideError: "wrong side",
    failures.WrittenSinceError: "written to",
    NotHereError: "not here",
}


def _failed(name: str, side: Side, error: Exception, stage: str) -> Observation:
    if kind := _OF_OURS.get(type(error)):
        name_of_type = type(error).__name__
        failure = Failure(kind=kind, stage=stage, type=name_of_type, message=str(error))
    else:
        failure = failures.exception(error, stage)
    return Observation(
        program=name,
        side=side,
        measured_with=measured_with(),
        failure=failure,
        proof=error.proof if isinstance(error, failures.WrongSideError) else None,
    )


# Where nothing is compiled, nothing changes by a flip.
@jax.disable_jit(False)
def _measure(
    name: str, built: Built, on_traced: OnTraced | None, *, steady_calls: int, exact_peaks: bool,
    fresh: bool, reload: bool,
) -> tuple[Built, Measured, as_written.Due | None]:  # fmt: skip
    clock = built.clock
    with clock("read arguments"):  # before a call may donate them, or a callback write into them
        arguments = described(built.fun, built.args, built.kwargs)
        watched = captured_arrays.Watched(built.own.fun)
    peaks = memory.peak if exact_peaks else memory.rough_peak
    with compile_cache.compiled_with_a_folder() as compiled_in_trace:
        lowered = stages.trace_and_lower(built, peaks, on_traced)
    built = lowered.built
    with clock("count"):
        written = watched.written()
    counted = stages.count(lowered)
    may_count = bool(compiled_in_trace)
    with clock("number"):
        calls = as_written.of_calls(lowered, counted.facts, may_count=may_count)
        told = {**calls, "placement": placement_of(lowered, counted.facts.captured)}
        numbers = with_modules(numbers_of(lowered), lowered).model_copy(update=told)
        if why := not_here(lowered):
            raise NotHereError(why, numbers)
    compiled = stages.compile_program(lowered, peaks)
    ledger_rows = _ledger_rows(lowered, counted, compiled)
    called = stages.call_program(built, counted, compiled, steady_calls=steady_calls)
    checks = _checks(lowered, counted, called)
    cached = compile_cache.Cached()
    if steady_calls or reload:
        cached = _compile_from_cache(lowered, counted)
    if reload:
        checks += _check_round_trips(built, called, cached)
    if as_written.is_donating_call_due(lowered, counted.facts):
        with clock(DONATING):
            as_written.make_donating_call(lowered)
    observation = observation_of(
        name,
        (lowered, counted, compiled, called),
        arguments=arguments,
        ledger=with_written(ledger_rows, counted.facts.captured),
        checks=checks,
        cached=cached,
        fresh=fresh,
    ).model_copy(update={"written_in_trace": written, "numbers": numbers})
    measured = Measured(observation, called.first.arrays, counted.jaxpr)
    return built, measured, as_written.due(lowered, counted.facts, may_count=may_count)


def _ledger_rows(
    lowered: Lowered, counted: Counted, compiled: Compiled
) -> tuple[CapturedArray, ...]:
    with lowered.built.clock("ledger"), jax_defaults():
        counted.facts.digest_of_captured()  # before a call may write into an array
        return ledger(
            lowered.closed,
            counted.live,
            counted.module,
            const_args=getattr(lowered.lowered, "const_args", None),
            embed_threshold=lowered.built.embed_threshold,
            optimised_hlo=compiled.text,
        )


def _checks(lowered: Lowered, counted: Counted, called: Called) -> tuple[Check, ...]:
    built, facts, first = lowered.built, counted.facts, called.first
    with built.clock("check"):
        work = calls.check(called.ready(), called.results.note, called.work)
        agree = later_calls.check(called.results.row())
        stateful = not agree.holds
        checks = (
            agree,
            *work,
            *effects.check(called.effects),
            *memory.check_growth(called.growth),
        )
        if is_ours(built.side):
            count = functools.partial(
                counts.count, lowered.closed, embed_threshold=built.embed_threshold
            )
            may_call = not stateful and counted.module.callbacks == 0
            checks += attempt(
                WRITES,
                lambda: captured_arrays.check_writes(
                    built.fun, first, called.ready(), count, may_call=may_call
                ),
            )
        if built.side == "simplified":
            donated = as_written.types_donated(lowered)
            passed = lowered.lowered.const_args
            checks += attempt(
                VALUES, lambda: captured_arrays.check_const_args(passed, facts, donated)
            )
        return checks


def _compile_from_cache(lowered: Lowered, counted: Counted) -> compile_cache.Cached:
    built, facts = lowered.built, counted.facts
    if not compile_cache.is_affordable(built.clock.seconds["compile"], facts.captured_bytes):
        return compile_cache.Cached()
    # A program may delete what it captured once it is compiled; that says nothing of its side.
    if any(is_gone(each.value) for each in facts.captured):
        return compile_cache.Cached()
    with built.clock("compile from a cache"), staged_alone(built.side):
        jit = functools.partial(jitted_on, side=built.side)
        captured = [each.identity for each in facts.captured]
        return compile_cache.measure(
            jit, expanded_on_leaves(lowered.traced), built.inputs, captured
        )


def _check_round_trips(
    built: Built, called: Called, cached: compile_cache.Cached
) -> tuple[Check, ...]:
    with built.clock("reload from a cache"):
        checks = attempt(
            RELOAD,
            lambda: round_trips.check_reload(cached, built.inputs, called.first),
            raised_fails=True,
        )
    with built.clock("export"):
        checks += attempt(
            EXPORT,
            lambda: round_trips.check_export(
                called.ready(), built.own.fresh_dynamic(), called.first
            ),
            raised_fails=True,
        )
    return checks
