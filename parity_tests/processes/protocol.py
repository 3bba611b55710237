"""What parent and child processes say to each other: typed requests, and the answer to each.

Neither JAX nor anything that imports it is imported here, so that a parent can ask without it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import Field, TypeAdapter
from pydantic_core import PydanticSerializationError

from parity_tests.evidence.found import HazardsFound, ModuleEvaluated, NumberedForms, SettingsFound
from parity_tests.processes.early_starts import Work
from reports.rows import Environment, Failure, NamedProgram, Side
from reports.rows.bench import BenchTurn, TurnTaken
from reports.rows.check_names import Flips
from reports.rows.experiments import (
    CulpritFound,
    CulpritQuestion,
    Sweep,
    SweepQuestion,
    TuneQuestion,
    Tuning,
)
from reports.rows.row import Row, spelled_out

# Called with how much is done, how much there is in all, and a word on the last step.
Progress = Callable[[int, int, str], None]

AnswerT = TypeVar("AnswerT")


class Step(Row):
    """How far a process has come with a question: the arguments of `Progress`."""

    done: int
    total: int
    text: str


class Job(Row):
    """One program to run; `number` is its place in the campaign.

    Unless `lowers`, it is numbered by its jaxpr alone, where that tells.
    """

    number: int
    name: str
    target: str
    lowers: bool = True


# An option of XLA for one compilation, by its name: the flag of XLA_FLAGS without its dashes.
XlaOptions = dict[str, bool | int | str]


class Rerun(Row):
    """One more run of a program, to look into its drift; `number` counts the runs of its side.

    The program is compiled with the options `xla`. With `barriers` its captured arrays are behind
    optimization barriers, with `as_arguments` they are arguments. Of `"all"` equations the results
    are outputs, too; those of equations that `"constants"` go into are the only outputs. `output`
    is the path of the output whose equations are marked; where there is none, all of them are.
    """

    number: int
    target: str
    xla: XlaOptions = Field(default_factory=dict)
    barriers: bool = False
    as_arguments: bool = False
    equations: Literal["none", "constants", "all"] = "none"
    output: str = ""


class Listed(NamedProgram):
    """One program that a target names; `unavailable` says why it cannot be run.

    `is_missing` says whether that is because a module is not installed.
    """

    source: str = ""
    summary: str = ""
    unavailable: str | None = None
    is_missing: bool = False


# The answers.


class Listing(Row):
    """The programs that targets name and the environment to measure them in, or an `error`.

    `missing_module` names the module that is not there, where this is the error. `has_flag` says
    whether JAX has its flag there. `left` are targets that were not listed: the import of one
    before them changed the process, and they want another. `traceback` is that of the imports that
    failed. `imported` has the digests of the user's files that were imported, by their paths.
    """

    programs: tuple[Listed, ...] = ()
    error: str | None = None
    traceback: str = ""
    missing_module: str = ""
    environment: Environment | None = None
    has_flag: bool = True
    left: tuple[str, ...] = ()
    imported: dict[str, str] = Field(default_factory=dict)


class EquationValue(Row):
    """One result of an equation: the equation, and where its array is among the saved ones.

    `position` has the number of the equation, after the numbers of the equations whose bodies it
    is in. `written` is its text, which both sides must have alike. `is_needed` says that the output
    that was asked for depends on it.
    """

    primitive: str
    position: tuple[int, ...]
    file: str
    line: int
    written: str
    saved: tuple[int, ...]  # the numbers of the arrays
    is_needed: bool = True


class EquationValues(Row):
    """The results of all equations; `left_out` counts results that were too large to be kept."""

    equations: tuple[EquationValue, ...] = ()
    left_out: int = 0


class UnknownTarget(Row):
    """The target names no program, and why."""

    unknown_target: str


class ProgramRaised(Row):
    """The program raised an exception: its type, its text and the user's line."""

    raised: str


class DraftRead(Row):
    """A program's draft as JSON; the arrays that its variables hold are in a file."""

    draft: str


class PrintedJaxpr(Row):
    """A printed jaxpr, and for each of its lines the user's line, "model.py:12", or ""."""

    text: str
    lines: tuple[str, ...]


class Unreadable(Row):
    """The program's jaxpr cannot be read as a draft, and why."""

    unreadable: str


# The requests: each has the fields that its handler in `parity_tests.worker` needs.


class Question(Row, Generic[AnswerT]):
    """A request that a process answers once; the type parameter is the type of the answer."""

    @classmethod
    def read(cls, text: str) -> AnswerT:
        """Read the answer from its JSON."""
        # The base of a kind of question is `Question[the type of its answer]`.
        [answer_type] = cls.__bases__[0].__pydantic_generic_metadata__["args"]  # type: ignore[attr-defined]
        answers: TypeAdapter[AnswerT] = TypeAdapter(answer_type)
        return answers.validate_json(text)


class ListPrograms(Question[Listing]):
    """List the programs that targets name, or the built-in corpus where there are none."""

    kind: Literal["list programs"] = "list programs"
    targets: tuple[str, ...] = ()


class DetectHazards(Question[HazardsFound]):
    """Detect the hazards of one program.

    `reads` has what it read in simplified form before that ended its process; then it is traced in
    legacy form alone.
    """

    kind: Literal["detect hazards"] = "detect hazards"
    target: str
    reads: str = ""


class ReadsInCalls(Question[HazardsFound]):
    """Call one program, and record what it reads of lowered modules, jaxprs or the flag.

    With `at_import`, it is imported and not called. `reads` has what it read after the flip; then
    the answer has the lines that tell both apart.
    """

    kind: Literal["reads in calls"] = "reads in calls"
    target: str
    side: Side
    reads: str = ""
    at_import: bool = False


class SettingsAtImport(Question[SettingsFound]):
    """Import the module of one program before JAX starts, or after it, and look at JAX then."""

    kind: Literal["settings at import"] = "settings at import"
    target: str
    jax_first: bool


class ComparedVariant(Row):
    """A variant that hoists these arrays, by their numbers, beside the one that inlines all.

    `failure` says how the variant failed.
    """

    hoisted: tuple[int, ...]
    differs: bool
    text: str
    failure: Failure | None = None


class FindCulprit(Question[CulpritFound | UnknownTarget | ProgramRaised]):
    """Name the captured arrays that make a difference by being hoisted.

    `known` has the first comparisons, in the order in which the search makes them: a process before
    this one made them, and was lost with the last. `stock_failure` is the type of a failure that
    stock JAX alone has after its flip; then variants are of jax-legacy, and hoisted arrays are
    arguments. Once the process has taken so many `seconds`, a search that has an answer ends.
    """

    kind: Literal["find culprit"] = "find culprit"
    target: str
    question: CulpritQuestion
    stock_failure: str = ""
    known: tuple[ComparedVariant, ...] = ()
    seconds: float | None = None


class SweepThreshold(Question[Sweep | UnknownTarget | ProgramRaised]):
    """Measure one program under several embed thresholds."""

    kind: Literal["sweep threshold"] = "sweep threshold"
    target: str
    question: SweepQuestion


class TunePolicy(Question[Tuning | UnknownTarget | ProgramRaised]):
    """Look for the constant policy of one program."""

    kind: Literal["tune policy"] = "tune policy"
    target: str
    question: TuneQuestion


class ReadDraft(Question[DraftRead | Unreadable | UnknownTarget | ProgramRaised]):
    """Read the jaxpr of one program as a draft, to reduce it."""

    kind: Literal["read draft"] = "read draft"
    target: str


class PrintJaxpr(Question[PrintedJaxpr]):
    """Trace one program on a side, and print its jaxpr with the lines that it comes from."""

    kind: Literal["print jaxpr"] = "print jaxpr"
    target: str
    side: Side


class Form(Row):
    """The jaxpr of a program, or its module for a platform."""

    of: Literal["jaxpr", "module"]
    platform: str = ""


class NumberSteps(Question[NumberedForms]):
    """Say what was numbered where in forms of one program on a side."""

    kind: Literal["number steps"] = "number steps"
    target: str
    side: Side
    forms: tuple[Form, ...]


class EvaluateModule(Question[ModuleEvaluated]):
    """Evaluate the module of one program on a side by the reference interpreter.

    `platform` is the one that it is lowered for, "" for that of the process. `given` is the folder
    of the process whose inputs it takes, its own where there is none. It may end the process; what
    was evaluated before is in files.
    """

    kind: Literal["evaluate module"] = "evaluate module"
    target: str
    side: Side
    platform: str = ""
    given: Path | None = None


class TakeBenchTurn(Question[TurnTaken]):
    """Measure rows of the benchmark, in steps: on `says_on` the process says that it waits."""

    kind: Literal["take bench turn"] = "take bench turn"
    turn: BenchTurn
    says_on: int  # a file descriptor


class Measuring(Row):
    """How a process measures programs.

    Each is called `steady_calls` times to time it. With `reload` it is also exported and read back,
    and reloaded from a persistent cache. The first program of a process is called in the other
    form, and so are all unless `flips` says that they are lowered alone, or that it is the first
    alone. With `proves` programs are traced, lowered and numbered, for `platforms` as well, and
    neither compiled nor called.
    """

    steady_calls: int = 0
    reload: bool = False
    flips: Flips = "called"
    proves: bool = False
    platforms: tuple[str, ...] = ()


class RunJobs(Measuring):
    """Run programs on a side one by one, and leave the evidence of each in files.

    With `hazards` those of each are detected. Peaks of host memory are exact for the first program,
    and with `exact_peaks` for all.
    """

    kind: Literal["run jobs"] = "run jobs"
    side: Side
    jobs: tuple[Job, ...]
    exact_peaks: bool = True
    hazards: bool = False


class ServeJobs(Row):
    """Run programs on a side as they come, one line of JSON each on stdin."""

    kind: Literal["serve jobs"] = "serve jobs"
    side: Side


class ServeReruns(Row):
    """Run programs again on a side as they come, one `Rerun` of JSON in each line on stdin."""

    kind: Literal["serve reruns"] = "serve reruns"
    side: Side


class ServeTruth(Row):
    """Evaluate programs in double precision as they come, one line of JSON each on stdin."""

    kind: Literal["serve truth"] = "serve truth"


class Wait(Row):
    """Import what some work needs on a side, say so by the file `ready`, and wait for an order.

    The order comes as a line on stdin, the path of its file.
    """

    kind: Literal["wait"] = "wait"
    work: Work
    side: Side
    ready: Path


Request = Annotated[
    Wait
    | ListPrograms
    | DetectHazards
    | ReadsInCalls
    | SettingsAtImport
    | FindCulprit
    | SweepThreshold
    | TunePolicy
    | ReadDraft
    | PrintJaxpr
    | NumberSteps
    | EvaluateModule
    | TakeBenchTurn
    | RunJobs
    | ServeJobs
    | ServeReruns
    | ServeTruth,
    Field(discriminator="kind"),
]


class Order(Row):
    """What a process is started with: its request, its folder, and where modules are found."""

    folder: Path
    sys_path: tuple[str, ...]
    request: Request


def to_json(model: Row) -> str:
    """Write a model as JSON, whatever texts a program has put into it."""
    # Few models have a text that is no UTF-8. As a value it raises, as a key of a mapping it is
    # replaced, and either is spelled out below.
    with contextlib.suppress(PydanticSerializationError):
        text = model.model_dump_json(warnings="error")
        if "\N{REPLACEMENT CHARACTER}" not in text:
            return text
    return type(model).model_validate(_spelled_out(model.model_dump())).model_dump_json()


def _spelled_out(value: Any) -> Any:
    if isinstance(value, str):
        return spelled_out(value)
    if isinstance(value, dict):
        return {_spelled_out(key): _spelled_out(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spelled_out(item) for item in value]
    return value


def as_bytes(text: str) -> bytes:
    """Return the bytes that `write` writes for a text."""
    return text.encode("utf-8", "backslashreplace")


def write(file: Path, text: str) -> None:
    """Write a file that is there as a whole or not at all."""
    part = file.with_suffix(".part")
    try:
        part.write_bytes(as_bytes(text))
        part.replace(file)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
