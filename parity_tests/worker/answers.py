"""Answer the questions of a parent, each with a function of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parity_tests.evidence.hazards_found import HazardsFound
from parity_tests.processes import protocol
from parity_tests.processes.protocol import (
    Done,
    DraftRead,
    EquationValues,
    Listed,
    Listing,
    UnknownTarget,
    Unreadable,
)
from parity_tests.worker.handling import Desk, events, hazards_of, load, start_up
from reports.rows.bench import TurnTaken
from reports.rows.experiments import CulpritFound, Sweep, Tuning

if TYPE_CHECKING:
    from parity_tests.program import Program
    from parity_tests.targets import Unavailable


def list_programs(request: protocol.ListPrograms, desk: Desk) -> Listing:
    """List the programs of targets, with the environment they would be measured in."""
    from parity_tests import targets
    from parity_tests.observe.environment import describe

    try:
        found = targets.load(request.targets)
    except targets.TargetError as error:
        return Listing(error=str(error))
    names = unique_names([(each.name, each.target) for each in found])
    return Listing(programs=tuple(map(_listed, found, names)), environment=describe())


def unique_names(found: Sequence[tuple[str, str]]) -> list[str]:
    """Name programs, each given by its name and target; those that share a name by their targets.

    Example::

        unique_names([("f", "m:f"), ("f", "n:f"), ("g", "n:g")]) == ["m:f", "n:f", "g"]
    """
    programs_of = Counter(name for name, _ in found)
    return [name if programs_of[name] == 1 else target for name, target in found]


def _listed(each: Program | Unavailable, name: str) -> Listed:
    from parity_tests.targets import Unavailable, digest_of

    if isinstance(each, Unavailable):
        return Listed(name=name, target=each.target, unavailable=each.reason)
    return Listed(
        name=name,
        target=each.target,
        source=each.source,
        summary=each.summary,
        digest=digest_of(Path(each.source.rpartition(":")[0])),
    )


def detect_hazards(request: protocol.DetectHazards, desk: Desk) -> HazardsFound:
    """Detect the hazards of one program; its time limit begins when the process has started."""
    start_up()
    with events(desk) as say:
        say("started 0")
    return hazards_of(request.target)


def run_outputs(request: protocol.RunOutputs, desk: Desk) -> Done:
    """Run one program once, and save its outputs."""
    from parity_tests.drift import equation_values
    from parity_tests.evidence import values

    program = load(request.target)
    outputs = equation_values.outputs(program, request.side, barriers=request.barriers)
    values.save(desk.files.outputs, outputs)
    return Done()


def run_equations(request: protocol.RunEquations, desk: Desk) -> EquationValues:
    """Run one program once with the result of every equation an output, and save all."""
    from parity_tests.drift import equation_values
    from parity_tests.evidence import values

    program = load(request.target)
    recorded = equation_values.record(program, request.side, barriers=request.barriers)
    values.save(desk.files.outputs, recorded.outputs)
    values.save(desk.files.equations, recorded.arrays)
    return recorded.equations


def _loaded(target: str) -> Program | UnknownTarget:
    from parity_tests.targets import TargetError

    try:
        return load(target)
    except TargetError as error:
        return UnknownTarget(unknown_target=str(error))


def find_culprit(request: protocol.FindCulprit, desk: Desk) -> CulpritFound | UnknownTarget:
    """Name the captured arrays that make a difference by being hoisted."""
    from parity_tests.experiments import culprit

    program = _loaded(request.target)
    if isinstance(program, UnknownTarget):
        return program
    return culprit.find(program, request.question)


def sweep_threshold(request: protocol.SweepThreshold, desk: Desk) -> Sweep | UnknownTarget:
    """Measure one program under several embed thresholds."""
    from parity_tests.experiments import sweep

    program = _loaded(request.target)
    if isinstance(program, UnknownTarget):
        return program
    return sweep.sweep(program, request.question)


def tune_policy(request: protocol.TunePolicy, desk: Desk) -> Tuning | UnknownTarget:
    """Look for the constant policy of one program."""
    from parity_tests.experiments import tune

    program = _loaded(request.target)
    if isinstance(program, UnknownTarget):
        return program
    return tune.tune(program, request.question)


def read_draft(request: protocol.ReadDraft, desk: Desk) -> DraftRead | Unreadable | UnknownTarget:
    """Read the jaxpr of one program as a draft."""
    from parity_tests.evidence import values
    from parity_tests.reduce import draft, jaxpr_to_draft

    program = _loaded(request.target)
    if isinstance(program, UnknownTarget):
        return program
    try:
        found = jaxpr_to_draft.read(program)
    except jaxpr_to_draft.CannotReadError as error:
        return Unreadable(unreadable=str(error))
    stored = [values.Value(str(number), array) for number, array in found.store.items()]
    values.save(desk.files.draft, stored)
    return DraftRead(draft=draft.to_json(found.draft))


def take_bench_turn(request: protocol.TakeBenchTurn, desk: Desk) -> TurnTaken:
    """Measure rows of the benchmark, each step when the parent says so."""
    from parity_tests.bench import child, stepping

    stepping.enter(stepping.Turns(request.says_on, desk.lines))
    return child.take(request.turn)
