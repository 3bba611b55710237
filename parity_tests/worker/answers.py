"""Answer the questions of a parent, each with a function of its own."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.evidence.found import (
    HazardsFound,
    ModuleEvaluated,
    NumberedForms,
    NumberedSteps,
    SettingsFound,
)
from parity_tests.processes import protocol
from parity_tests.processes.protocol import (
    DraftRead,
    Listed,
    Listing,
    PrintedJaxpr,
    ProgramRaised,
    UnknownTarget,
    Unreadable,
)
from parity_tests.worker.handling import Desk, events, hazards_of, load, start_up
from reports.rows import Side
from reports.rows.bench import TurnTaken
from reports.rows.experiments import CulpritFound, Sweep, Tuning
from reports.views.texts import counted

if TYPE_CHECKING:
    from pydantic import BaseModel

    from parity_tests.observe.reference import Given
    from parity_tests.observe.stages import Lowered
    from parity_tests.program import Program
    from parity_tests.targets import Unavailable

Answer = TypeVar("Answer", bound="BaseModel")


def list_programs(request: protocol.ListPrograms, desk: Desk) -> Listing:
    """List the programs of targets, with the environment they would be measured in.

    A target is left for another process where one before it changed this one for good.
    """
    from parity_tests import targets
    from parity_tests.observe.environment import describe, has_flag
    from parity_tests.observe.process_state import ProcessState
    from parity_tests.observe.users_files import users_files
    from parity_tests.targets import Unavailable

    before, at_start = set(sys.modules), ProcessState.now()
    raised: list[targets.TargetError] = []
    found: list[Program | Unavailable] = [] if request.targets else [*targets.load(())]
    left = list(request.targets)
    with events(desk) as say:
        while left and at_start.is_restored():
            target = left.pop(0)
            say(f"stage {target}")
            try:
                found += targets.load([target])
            except targets.TargetError as error:
                raised.append(error)
                is_missing = isinstance(error, targets.MissingModuleError)
                found.append(Unavailable(target, target, str(error), is_missing))
    protocol.write(desk.files.imported, json.dumps(users_files(before, *raised)))
    is_wrong = [each for each in raised if not isinstance(each, targets.FailedImportError)]
    missing = [each.module for each in raised if isinstance(each, targets.MissingModuleError)]
    return Listing(
        programs=tuple(map(_listed, found)),
        error=str(is_wrong[0]) if is_wrong else None,
        traceback="\n".join("".join(traceback.format_exception(each)) for each in raised),
        missing_module=next(iter(missing), ""),
        environment=describe(),
        has_flag=has_flag(),
        left=tuple(left),
    )


def _listed(each: Program | Unavailable) -> Listed:
    from parity_tests.targets import Unavailable, digest_of

    if isinstance(each, Unavailable):
        return Listed(
            name=each.name,
            target=each.target,
            unavailable=each.reason,
            is_missing=each.is_missing,
        )
    listed = Listed.model_validate(each, from_attributes=True)
    digest = digest_of(Path(each.source.rpartition(":")[0]))
    return listed.model_copy(update={"digest": digest})


def detect_hazards(request: protocol.DetectHazards, desk: Desk) -> HazardsFound:
    """Detect the hazards of one program; its time limit begins when the process has started."""
    start_up()
    with events(desk) as say:
        say("started 0")
    return hazards_of(lambda: load(request.target), desk.files.reads, request.reads)


def reads_in_calls(request: protocol.ReadsInCalls, desk: Desk) -> HazardsFound:
    """Record what one program reads, and compare it with the reads that are given.

    Its time limit begins when the process has started. What it raises is known already.
    """
    start_up(request.side)
    from parity_tests.observe import hazards
    from parity_tests.observe.reads.recording import reads_of_calls

    with events(desk) as say:
        say("started 0")
    recorded = reads_of_calls(
        lambda: load(request.target),
        request.side,
        desk.files.reads,
        at_import=request.at_import,
    )
    if not request.reads:
        return HazardsFound()
    return HazardsFound(
        hazards=hazards.reads_of_calls(recorded, request.reads, at_import=request.at_import)
    )


# They say where JAX writes or what it tells, and nothing of a result.
_ASIDE = ("log", "debug", "cache", "traceback", "pprint", "dump", "enable_compilation_cache")


def settings_at_import(request: protocol.SettingsAtImport, desk: Desk) -> SettingsFound:
    """Import the module of one program before JAX starts, or after it, and look at JAX then.

    A program that runs by itself sets `XLA_FLAGS`, a variable `JAX_*` or the number of devices
    before JAX has started. The tester starts JAX first, and then some of it comes too late.
    """
    from parity_tests import targets

    if request.jax_first:
        _device_count()
    before = dict(os.environ)
    raised = ""
    try:
        targets.load_one(request.target)
    except targets.TargetError as error:
        raised = str(error)
    set_by_import = {
        name: value
        for name, value in os.environ.items()
        if before.get(name) != value and name.startswith(("XLA_FLAGS", "LIBTPU_", "JAX_"))
    }
    devices = _device_count()
    import jax

    return SettingsFound(
        devices=devices,
        settings={
            name: repr(value)
            for name, value in jax.config.values.items()
            if not any(part in name for part in _ASIDE)
        },
        variables=set_by_import,
        raised=raised,
    )


def _device_count() -> int:
    """Count the devices of JAX, which starts it."""
    import jax

    return jax.device_count()


def _asked(target: str, ask: Callable[[Program], Answer]) -> Answer | UnknownTarget | ProgramRaised:
    """Ask about a program; a target that names none is an answer, and so is what it raises."""
    import jax

    from parity_tests.exception_texts import named
    from parity_tests.jaxpr.source_places import is_raised_by_jax, raised_at
    from parity_tests.program import ProgramError
    from parity_tests.targets import TargetError

    try:
        program = load(target)
    except TargetError as error:
        return UnknownTarget(unknown_target=str(error))
    jax.config.update("jax_traceback_filtering", "off")  # or JAX takes its own lines out
    # A program may raise anything at all, and JAX for it. The traceback of a fault of ours, which
    # has no line of a user, is for a bug report.
    try:
        return ask(program)
    except ProgramError as error:
        return ProgramRaised(raised=str(error))
    except Exception as error:
        place = raised_at(error)
        if not (place.file or _is_of_jax(error) or is_raised_by_jax(error)):
            raise
        at = f" ({place.file}:{place.line})" if place.file else ""
        return ProgramRaised(raised=f"the program raises {named(error)}{at}{_by_a_read(program)}")


def _by_a_read(program: Program) -> str:
    """Say which read of jaxprs or the flag a program raises for, if any."""
    from parity_tests.observe.hazards import changing_reads

    try:
        return "".join(f"; {each.what}; to do: {each.fix}" for each in changing_reads(program)[:1])
    except Exception:  # noqa: BLE001 - it raises in legacy form too, or without a read
        return ""


def _is_of_jax(error: Exception) -> bool:
    return type(error).__module__.partition(".")[0] in ("jax", "jaxlib")


def find_culprit(
    request: protocol.FindCulprit, desk: Desk
) -> CulpritFound | UnknownTarget | ProgramRaised:
    """Name the captured arrays that make a difference by being hoisted."""
    from parity_tests.experiments import culprit

    with events(desk) as say, open(desk.files.variants, "a", 1, "utf-8") as journal:
        say("started 0")

        class Told(culprit.Watch):
            def begins(self, number: int, hoisted: tuple[int, ...], arrays: int) -> None:
                journal.write(f"{json.dumps(hoisted)}\n")
                # As many as find one array in halves; there may be more of either.
                total = max(number, 2 + 2 * (arrays - 1).bit_length())
                text = f"a variant with {len(hoisted)} of {counted(arrays, 'array')} hoisted"
                _step(say)(number - 1, total, text)

            def stage(self, name: str) -> None:
                say(f"stage {name}")

            def ends(self, compared: protocol.ComparedVariant) -> None:
                journal.write(f"{protocol.to_json(compared)}\n")

        return _asked(
            request.target,
            lambda program: culprit.find(
                program,
                request.question,
                stock_failure=request.stock_failure,
                known=request.known,
                watch=Told(),
                seconds=request.seconds,
            ),
        )


def sweep_threshold(
    request: protocol.SweepThreshold, desk: Desk
) -> Sweep | UnknownTarget | ProgramRaised:
    """Measure one program under several embed thresholds."""
    from parity_tests.experiments import sweep

    with events(desk) as say:
        say("started 0")  # from here on the time limit holds
        return _asked(
            request.target, lambda program: sweep.sweep(program, request.question, _step(say))
        )


def tune_policy(request: protocol.TunePolicy, desk: Desk) -> Tuning | UnknownTarget | ProgramRaised:
    """Look for the constant policy of one program."""
    from parity_tests.experiments import tune

    with events(desk) as say:
        say("started 0")  # from here on the time limit holds
        return _asked(
            request.target, lambda program: tune.tune(program, request.question, _step(say))
        )


def _step(say: Callable[[str], object]) -> protocol.Progress:
    """Return what tells the parent of each step of an answer."""

    def tell(done: int, total: int, text: str) -> None:
        step = protocol.Step(done=done, total=total, text=text)
        say(f"step {step.model_dump_json()}")

    return tell


def read_draft(
    request: protocol.ReadDraft, desk: Desk
) -> DraftRead | Unreadable | UnknownTarget | ProgramRaised:
    """Read the jaxpr of one program as a draft."""
    return _asked(request.target, lambda program: _draft_of(program, desk))


def _draft_of(program: Program, desk: Desk) -> DraftRead | Unreadable:
    from parity_tests.evidence import values
    from parity_tests.reduce import draft, jaxpr_to_draft

    try:
        found = jaxpr_to_draft.read(program)
    except jaxpr_to_draft.CannotReadError as error:
        return Unreadable(unreadable=str(error))
    stored = [values.Value(str(number), array) for number, array in found.store.items()]
    values.save(desk.files.draft, stored)
    return DraftRead(draft=draft.to_json(found.draft))


def print_jaxpr(request: protocol.PrintJaxpr, desk: Desk) -> PrintedJaxpr:
    """Trace one program on a side, and print its jaxpr with the lines that it comes from."""
    from parity_tests.jaxpr.source_places import lines_of
    from parity_tests.observe.calls import without_addresses
    from parity_tests.observe.jit_on_side import jitted_on

    fun, args, kwargs = load(request.target).build()
    closed = jitted_on(fun, request.side).trace(*args, **kwargs).jaxpr
    return PrintedJaxpr(text=without_addresses(str(closed)), lines=lines_of(closed))


def number_steps(request: protocol.NumberSteps, desk: Desk) -> NumberedForms:
    """Say what was numbered where in forms of one program on a side."""
    from parity_tests.observe import numbers
    from parity_tests.proof.numbers import UndecidedError

    platforms = [each.platform for each in request.forms if each.platform]
    lowered, forms = _lowered(request.target, request.side, platforms), []
    for each in request.forms:
        try:
            found = numbers.numbered(each.of, lowered, each.platform)
            digest = numbers.digest_of(found.digest, lowered.built.own.options)
        except UndecidedError as error:
            forms.append(NumberedSteps(none=str(error)))
        else:
            forms.append(NumberedSteps(digest=digest, steps=tuple(numbers.steps_of(found))))
    return NumberedForms(forms=tuple(forms), types=numbers.numbers_of(lowered).types)


def evaluate_module(request: protocol.EvaluateModule, desk: Desk) -> ModuleEvaluated:
    """Evaluate the module of one program on a side; each input has the time limit for itself."""
    from parity_tests.evidence import values
    from parity_tests.observe import numbers, reference
    from parity_tests.proof.evaluation import NotEvaluatedError

    platforms = [request.platform] if request.platform else []
    lowered = _lowered(request.target, request.side, platforms)
    if request.platform:
        made = lowered.traced.lower(lowering_platforms=(request.platform,))
        lowered = dataclasses.replace(lowered, lowered=made)
    digest = numbers.with_modules(numbers.numbers_of(lowered), lowered).modules[""].digest
    found = ModuleEvaluated(digest=digest)
    try:
        evaluator = reference.evaluator_of(lowered)
        inputs = reference.inputs_of(lowered) if request.given is None else _given(request.given)
        with events(desk) as say:
            for number, given in enumerate(inputs):
                say(f"started {number}")
                results = reference.results(lowered, evaluator, given)
                arguments = [values.Value(given.name, each) for each in given.arrays]
                values.save(desk.files.given(number), arguments)
                values.save(desk.files.results(number), results)
                found = found.model_copy(update={"inputs": (*found.inputs, given.name)})
                protocol.write(desk.files.evaluated, found.model_dump_json())
    except NotEvaluatedError as error:
        return found.model_copy(update={"why_not": str(error)})
    return found


def _given(folder: Path) -> Iterator[Given]:
    """Read the inputs on which another process has evaluated the program."""
    from parity_tests.evidence import values
    from parity_tests.observe.reference import Given

    files = ProcessFiles(folder)
    found = ModuleEvaluated.model_validate_json(files.evaluated.read_bytes())
    for number, name in enumerate(found.inputs):
        yield Given(name, tuple(each.array for each in values.load(files.given(number))))


def _lowered(target: str, side: Side, platforms: Sequence[str]) -> Lowered:
    from parity_tests.observe import stages

    clock = stages.StageClock(lambda name: None)
    built = stages.build(load(target), side, clock)
    return stages.lower(stages.trace(built, None), platforms)


def take_bench_turn(request: protocol.TakeBenchTurn, desk: Desk) -> TurnTaken:
    """Measure rows of the benchmark, each step when the parent says so."""
    from parity_tests.bench import rows, stepping

    stepping.enter(stepping.Turns(request.says_on, desk.lines))
    return rows.take(request.turn)
