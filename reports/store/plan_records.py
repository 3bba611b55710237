"""The records of planned campaigns in a store: before one begins, as it stands, a task's end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import ConfigDict

from reports.output import json_file
from reports.rows import Environment, Observation, ProgramRow, Side
from reports.rows.fail_rules import FailRule
from reports.rows.history import StoredProgram
from reports.rows.observation import OF_LIMITS
from reports.rows.plan import PlanLibrary, State, state_of
from reports.rows.row import Row, spelled_out
from reports.store.columns import packed, program_of
from reports.views.causes import between_pipelines, of_verdict, seen


@dataclass(frozen=True)
class PlannedText:
    """A planned program as the store has it: `text` is its record, which the store does not read.

    `environment` is the place of its environment in the plan, and `target` what loads the program.
    `unavailable` says why it cannot be run: a module that is not installed, or its own fault.
    """

    place: int
    environment: int
    name: str
    text: str
    target: str = ""
    unavailable: str = ""
    is_missing: bool = False


@dataclass(frozen=True, kw_only=True)
class _OfPlan:
    """What a plan is, whatever has become of it.

    `digest` identifies the spec, `whole` all programs of all shards, of which there are `total`.
    `rules` are those of `--fail-on` that programs are held to.
    """

    name: str
    digest: str
    whole: str
    total: int
    shard: str = ""
    sides: tuple[Side, ...]
    spec: str
    rules: tuple[str, ...] = ()
    libraries: tuple[PlanLibrary, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlanBegin(_OfPlan):
    """What is known of a plan before it begins.

    `options`, of each environment, are what `constparity run` is given to run a program in it; none
    where all are constparity's own.
    """

    environments: tuple[Environment, ...]
    settings: dict[str, str]
    programs: Sequence[PlannedText]
    machine: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StoredPlan(_OfPlan):
    """A plan of a store; `finished` is "" while it has programs that are not run."""

    id: int
    started: str
    finished: str
    coverage: Mapping[str, int]


PROVED_ONLY, SAMPLED = "not run", "sampled"


class Finished(Row):
    """One program that a task has run, as a store keeps it; JSON has its bytes in base64.

    `program` has what is listed and compared, and `packed` is its row; None and empty where it has
    no row. `symptom`, `line`, `equation` and `action` say what a program has in common with others
    of its cause. `broken` names the rules that it breaks. `against_itself` says what differed when
    its first side ran twice. `seconds` are those of all sides, None where they are not known. The
    store does not read the `recipe` of a generated program. `proof` is `PROVED_ONLY` of a program
    that is proved and was not run, `SAMPLED` of one that was, and what contradicts its proof where
    its run shows that.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    place: int
    state: State
    why: str = ""
    symptom: str = ""
    line: str = ""
    equation: str = ""
    action: str = ""
    against_itself: str = ""
    broken: tuple[str, ...] = ()
    recipe: str = ""
    proof: str = ""
    seconds: float | None = None
    program: StoredProgram | None = None
    packed: bytes = b""


@dataclass(frozen=True)
class TaskEnd:
    """How a task ended, where, and with which versions; `lost` says how it was lost."""

    key: str
    machine: str = ""
    versions: str = ""
    seconds: float = 0.0
    processor_seconds: float = 0.0
    floor_seconds: float = 0.0
    lost: str = ""


# -- what a store keeps of a program: read off its row where its task ran --------------------------

# Whoever writes the store then only inserts. Reading rows there was the alternative: it takes a
# hundred times as long as inserting them, and one process writes what all machines measure.

# States in which the flip was not judged: what such a program differs in is no finding.
_NOT_JUDGED: tuple[State, ...] = ("could not compare", "not repeatable")
_LEFT_ALONE: tuple[State, ...] = ("refused", "unavailable")


def finished(
    place: int,
    row: ProgramRow,
    rules: Sequence[FailRule] = (),
    *,
    differs_from_itself: str = "",
    is_refused: bool = False,
    recipe: str = "",
    proof: str = "",
    rendered: str = "",
) -> Finished:
    """Return what a store keeps of a program, which is held to some rules.

    `proof` is as in `Finished`. `rendered` is its row in JSON where it has been rendered already.
    """
    state = state_of(row, differs_from_itself=differs_from_itself, is_refused=is_refused)
    symptom, line, equation, action = "", "", "", ""
    if state not in ("safe", "proved", "unavailable"):
        action, member = seen(row)
        if state == "disagree":  # the flip has no part in it
            action, member = HELPS["disagree"], between_pipelines(row)
        elif state == "could not compare" and not _is_of_flip(row):
            action, member = _of_limits(row), of_verdict(row)
        # The file of a generated program is of its task alone, and no line of a user's.
        symptom, line = member.symptom, "" if recipe else member.where
        if state == "disagree" or _is_of_outputs(row):
            equation = _equation(row)
    return Finished(
        place=place,
        state=state,
        why=spelled_out(next(iter(row.reasons), "")),
        symptom=spelled_out(symptom),
        line=spelled_out(line),
        equation=spelled_out(equation),
        action=spelled_out(in_words_of_spec(action)),
        against_itself=spelled_out(differs_from_itself) if state == "not repeatable" else "",
        broken=broken_rules(row, state, rules),
        recipe=recipe,
        proof=proof,
        seconds=_seconds(row),
        program=program_of(row, is_final=False),
        packed=packed(rendered or json_file.render_program(row)),
    )


def without_row(place: int, why: str, rules: Sequence[FailRule] = ()) -> Finished:
    """Return what a store keeps of a program that a task has no row of."""
    state: State = "could not compare"
    broken = broken_without_row(state, rules)
    return Finished(place=place, state=state, why=why, symptom=why, broken=broken)


def broken_rules(row: ProgramRow, state: State, rules: Sequence[FailRule]) -> tuple[str, ...]:
    """Return the rules that a program in some state breaks.

    One that differs from itself, or that could not be compared, breaks no rule about differences.

    Example::

        broken_rules(row, "breaks", parse("different,drift")) == ("different",)
    """
    if state in (*_LEFT_ALONE, *_NOT_JUDGED):
        return broken_without_row(state, rules)
    return tuple(each.text for each in rules if each.is_broken_by(row))


def broken_without_row(state: State, rules: Sequence[FailRule]) -> tuple[str, ...]:
    """Return the rules that a program breaks by its state alone."""
    is_broken = state in _NOT_JUDGED
    return tuple(each.text for each in rules if is_broken and each.name == "not-compared")


def _is_of_flip(row: ProgramRow) -> bool:
    """Say whether the sides of the flip could not be compared, and not others beside them."""
    return row.flip is not None and row.flip.outcome == "could not compare"


def _is_of_outputs(row: ProgramRow) -> bool:
    """Say whether the worst that was seen is in the values of outputs, as drift is.

    A program whose output is committed may have other bits as well; they are not its cause.
    """
    reasons = row.flip.reasons if row.flip else ()
    return not reasons or reasons[0].kind == "outputs"


def _equation(row: ProgramRow) -> str:
    """Return the primitive of the equation that the sides part at; "" where it is not known."""
    found = [each.equation.partition(",")[0] for each in row.drift if each.equation]
    return next(iter(found), "")


def _seconds(row: ProgramRow) -> float | None:
    """Return how long a program keeps its sides at work, to balance shards by.

    None where that is known of no side.
    """
    known = [seconds for each in row.observations if (seconds := _of_side(each)) is not None]
    return sum(known) if known else None


def _of_side(observation: Observation) -> float | None:
    failure, times = observation.failure, observation.times
    if failure is not None:  # the limit of a timeout is in seconds, others are not
        return failure.limit if failure.kind == "timeout" else None
    return times.trace + times.lower + times.compile + times.first_call if times else None


# -- what helps ------------------------------------------------------------------------------------

# All programs in these states.
HELPS: dict[State, str] = {
    "disagree": "report it with a smaller program (constparity reduce): it is a fault of "
    "constparity or of stock JAX",
    "lost": "find out what ended its process or machine; --retry lost runs it once more",
}
# The options of `constparity run` that a spec has as keys.
_KEYS = {
    "--timeout": "`timeout` in the spec",
    "--memory-limit": "`memory_limit` in the spec",
    "more --rounds": "more `rounds` in the spec",
}


def _of_limits(row: ProgramRow) -> str:
    """Return what helps a program that a side of it has no result of, for it exceeded a limit."""
    kinds = [each.failure.kind for each in row.observations if each.failure]
    return next((OF_LIMITS[kind] for kind in kinds if kind in OF_LIMITS), "")


def in_words_of_spec(action: str) -> str:
    """Name the keys of a spec in the place of the options of `constparity run`.

    Example::

        >>> in_words_of_spec("raise --timeout, or find out what takes the time")
        'raise `timeout` in the spec, or find out what takes the time'
    """
    for option, key in _KEYS.items():
        action = action.replace(option, key)
    return action
