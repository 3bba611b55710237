"""The spec file of a planned campaign: which programs, on which sides, in which environments."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails

from parity_tests.environments.requirements import Requirement, constraints
from parity_tests.processes.options import TIMEOUT
from parity_tests.run.options import PROVED_ON, RunAgain
from parity_tests.run.selection import parse_expression
from parity_tests.suggestions import close
from reports.rows import SIDES, Row, Side
from reports.rows.check_names import Flips
from reports.rows.fail_rules import DEFAULT_RULES, FailRule, of_versions, parse

# Sizes of tasks where a spec names none: the first results come soon, and few processes start.
FIRST_TASK, LARGEST_TASK = 10, 100
LARGEST_PROVED = 500  # where most programs of a task are not run
ATTEMPTS = 3


class SpecError(ValueError):
    """A spec cannot be used; the message names the file, the key, why, and what to do."""


class Constraints(Row):
    """A constraints file, which a spec names by its path: the versions of what is installed.

    Its lines are read with the spec. So they are part of its identity, and they reach other
    machines, which do not have the file.
    """

    file: str
    lines: str

    @model_validator(mode="before")
    @classmethod
    def _is_read(cls, given: object, info: ValidationInfo) -> object:
        if info.context is None and not isinstance(given, str):
            return given  # as a task has them
        if not isinstance(given, str):
            raise ValueError("write the path of a file, in quotes")
        path = (info.context or {}).get("folder", Path()) / Path(given).expanduser()
        try:
            lines = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", "it is no UTF-8")
            raise ValueError(
                f"cannot read the constraints file {str(path)!r}: {why}; check the path, which is "
                "relative to the folder of the spec"
            ) from error
        constraints(given, lines)  # which raises where they cannot be used
        return {"file": given, "lines": lines}


def _requirements(limits: Constraints | None) -> tuple[Requirement, ...]:
    return (constraints(limits.file, limits.lines),) if limits else ()


class CorpusSpec(Row):
    """A group of programs: those that `targets` name, or `generated` ones of a seed.

    Targets are as those of `constparity run`; a path is relative to the folder of the spec. Without
    targets and without a number of generated programs it is the built-in corpus. `expression` is
    that of `-k`. A search keeps the programs that cover something new in the file `kept`; where
    there are some, every other generated program is a variation of one of them.
    Generated programs have bodies in bodies, at most `depth` levels of them: 3 if it is not given.
    """

    name: str
    targets: tuple[str, ...] = ()
    expression: str = ""
    tags: tuple[str, ...] = ()
    generated: int = Field(default=0, ge=0)
    seed: int = Field(default=0, ge=0)
    depth: int | None = Field(default=None, ge=0, le=3)
    kept: str = ""

    @field_validator("name")
    @classmethod
    def _is_a_word(cls, name: str) -> str:
        if not name or set(name) & set("/:\n"):
            raise ValueError("a name has no slash and no colon, and is not empty")
        return name

    @field_validator("expression")
    @classmethod
    def _is_an_expression(cls, text: str) -> str:
        if text.strip():
            parse_expression(text)
        return text

    @model_validator(mode="after")
    def _is_one_kind(self) -> CorpusSpec:
        given = self.model_fields_set
        if ("generated" in given and not self.generated) or (
            "targets" in given and not self.targets
        ):
            raise ValueError(
                "it has no programs: name targets, or generate one or more; leave both out for the "
                "built-in corpus"
            )
        if "seed" in given and not self.generated:
            raise ValueError("seed is of generated programs: say how many are generated")
        if self.generated and (self.targets or self.expression or self.tags):
            raise ValueError("generated programs have no targets, no expression and no tags")
        if self.depth is not None and (self.kept or not self.generated):
            raise ValueError("depth is of generated programs, and not of variations of kept ones")
        if self.kept and not self.generated:
            raise ValueError("kept is a file of generated programs: say how many are generated")
        return self


class KnownFailures(Row):
    """Tests of a library that fail on stock JAX, too, and why: globs of "class::test"."""

    tests: tuple[str, ...]
    why: str


class LibrarySpec(Row):
    """A third-party library, whose own test-suite is a corpus of the programs that it compiles.

    `with` are packages that its tests need beside it; `tests` are paths in its source distribution,
    without those to `deselect`. A test that fails and is not among the `known` is said. Without
    `jax` the suite runs on the JAX of constparity. `suite_timeout` is in seconds. Without
    `constraints` those of the campaign hold.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    name: str
    version: str
    with_: tuple[str, ...] = Field(default=(), alias="with")
    tests: tuple[str, ...] = ()
    deselect: tuple[str, ...] = ()
    known: tuple[KnownFailures, ...] = ()
    jax: str = ""
    suite_timeout: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    constraints: Constraints | None = None

    @property
    def packages(self) -> tuple[str | Requirement, ...]:
        """What is installed for its tests."""
        return (f"{self.name}=={self.version}", *self.with_, *_requirements(self.constraints))


class EnvironmentSpec(Row):
    """An environment: a release of JAX to make one of, `with` packages, or an interpreter.

    Without both it is the interpreter of constparity itself. A release without `constraints` is
    made with those of the campaign.
    """

    # The name of the field is that of records; the file says `with`.
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    jax: str = ""
    with_: tuple[str, ...] = Field(default=(), alias="with")
    python: str = ""
    constraints: Constraints | None = None

    @model_validator(mode="after")
    def _is_one_kind(self) -> EnvironmentSpec:
        if self.python and (self.jax or self.packages):
            raise ValueError("name a release of JAX, or a python that is there, and not both")
        if self.packages and not self.jax:
            raise ValueError("packages are installed beside a release: name jax")
        return self

    @property
    def packages(self) -> tuple[str | Requirement, ...]:
        """What is installed beside JAX."""
        return (*self.with_, *_requirements(self.constraints))


class CampaignSpec(Row):
    """How each program is run; times are in seconds, `memory_limit` in MiB for each process.

    A task has at most `task_size` programs of one corpus in one environment, and is tried at most
    `attempts` times. Without a `task_size` the first task has `FIRST_TASK` programs and each next
    one twice as many, up to `largest_task`. With `self_comparison` each program runs on its first
    side twice, and what differs from itself is set apart, whatever its sides differ in. `flips`
    says how legacy takes each program in simplified form once more: "lowered" compiles that for the
    first program of a process alone, and "first" takes no other. `run_again` says which programs
    run again because their sides differ: "unconfirmed" leaves out those where our sides differ
    across the flip exactly as those of stock JAX do. `proof` says what is run: all programs, with a
    proof "beside" what is measured, or "first" those that are not proved, and a sample. `fail_on`
    has the rules of `--fail-on`, one text each.
    `constraints` hold in each environment that is made for it.
    """

    name: str = "campaign"
    sides: tuple[Side, ...] = SIDES
    timeout: float = Field(default=TIMEOUT, gt=0, allow_inf_nan=False)
    memory_limit: int | None = Field(default=None, gt=0)
    rounds: int = Field(default=0, ge=0)
    steady_calls: int = Field(default=0, ge=0)
    attribute: bool = True
    flips: Flips = "called"
    run_again: RunAgain = "all"
    proof: Literal["beside", "first"] = "beside"
    self_comparison: bool = True
    task_size: int | None = Field(default=None, ge=1)
    attempts: int = Field(default=ATTEMPTS, ge=1)
    fail_on: tuple[str, ...] = tuple(each.text for each in DEFAULT_RULES)
    constraints: Constraints | None = None

    @field_validator("sides")
    @classmethod
    def _are_different(cls, sides: tuple[Side, ...]) -> tuple[Side, ...]:
        if len(set(sides)) < len(sides) or len(sides) < 2:
            raise ValueError("name two sides or more, each once")
        return sides

    @field_validator("fail_on")
    @classmethod
    def _are_rules(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        rules = parse(",".join(texts))
        if of_versions(rules):
            raise ValueError(
                "version-change is a rule of `run --jax`; a campaign holds each version by itself"
            )
        return tuple(dict.fromkeys(each.text for each in rules))

    @model_validator(mode="after")
    def _can_be_proved_first(self) -> CampaignSpec:
        if self.proof == "first" and not set(PROVED_ON) <= set(self.sides):
            raise ValueError(
                f'proof = "first" compares {" with ".join(PROVED_ON)}: name both in sides'
            )
        if self.proof == "first" and self.rounds:
            raise ValueError(
                'proof = "first" leaves out most programs, and rounds take times of all: leave out '
                "one of them"
            )
        return self

    @property
    def largest_task(self) -> int:
        """How many programs a task has at most where no `task_size` is named."""
        return LARGEST_PROVED if self.proof == "first" else LARGEST_TASK

    def size_of_task(self, number: int) -> int:
        """Return how many programs a task has at most, by the number of tasks before it.

        Example::

            [CampaignSpec().size_of_task(each) for each in range(5)] == [10, 20, 40, 80, 100]
        """
        return self.task_size or min(FIRST_TASK * 2 ** min(number, 10), self.largest_task)

    @property
    def rules(self) -> tuple[FailRule, ...]:
        """The rules that programs are held to."""
        return parse(",".join(self.fail_on))


class Spec(Row):
    """A whole spec."""

    campaign: CampaignSpec = CampaignSpec()
    corpus: tuple[CorpusSpec, ...] = ()
    library: tuple[LibrarySpec, ...] = ()
    environment: tuple[EnvironmentSpec, ...] = (EnvironmentSpec(),)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Spec:
        names = [each.name for each in self.corpus] + [each.name for each in self.library]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two corpora have the name {twice[0]!r}")
        if len(set(self.environment)) < len(self.environment):
            raise ValueError("two [[environment]] are the same: name each once")
        if not names or not self.environment:
            raise ValueError("a campaign has one [[corpus]] or [[library]] at least")
        return self

    @property
    def digest(self) -> str:
        """Identifies the campaign: the same spec goes on where it was interrupted.

        With other rules it is the same campaign, whose programs are held to them. A setting that a
        newer constparity adds changes nothing where the spec does not name it.
        """
        campaign = self.campaign.model_copy(update={"fail_on": CampaignSpec().fail_on})
        text = self.model_copy(update={"campaign": campaign}).model_dump_json(exclude_defaults=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_spec(path: Path) -> Spec:
    """Read a spec file. Raises `SpecError`.

    Example::

        read_spec(Path("nightly.toml")).campaign.sides
    """
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SpecError(f"cannot read {str(path)!r}: {error.strerror}; check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SpecError(f"{str(path)!r} is no TOML: {error}") from error
    try:
        spec = Spec.model_validate(
            _with_tuples(found), strict=True, context={"folder": path.parent}
        )
    except ValidationError as error:
        raise SpecError(f"{str(path)!r} is no spec of a campaign: {said(error, _KEYS)}") from error
    return _with_constraints(spec)


def _with_tuples(value: Any) -> Any:
    """Return what a TOML file has, with tuples as its lists: a record that is strict takes these.

    A record that is not strict would take "60" as a number, and "yes" as true.
    """
    if isinstance(value, dict):
        return {key: _with_tuples(each) for key, each in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list) else value


def target_from_here(target: str, folder: Path) -> str:
    """Write a target of a spec in `folder` so that it is one of the working directory.

    Example::

        target_from_here("models.py:step", Path("specs")) == "specs/models.py:step"
    """
    file, colon, name = target.partition(":")
    is_path = _is_path(file) or (folder / file).is_dir()
    return f"{os.path.relpath(folder / file)}{colon}{name}" if is_path else target


def target_from(target: str, folder: Path) -> str:
    """Write a target of the working directory so that it is one of a spec in `folder`.

    Example::

        target_from("specs/models.py:step", Path("specs")) == "models.py:step"
    """
    file, colon, name = target.partition(":")
    return f"{os.path.relpath(file, folder)}{colon}{name}" if _is_path(file) else target


def _is_path(file: str) -> bool:
    return file.endswith(".py") or os.sep in file


def _with_constraints(spec: Spec) -> Spec:
    """Give the constraints of the campaign to all that is made without any of its own."""
    given = {"constraints": spec.campaign.constraints}
    update = {
        "library": tuple(
            each if each.constraints else each.model_copy(update=given) for each in spec.library
        ),
        "environment": tuple(
            each if each.constraints or not each.jax else each.model_copy(update=given)
            for each in spec.environment
        ),
    }
    return spec.model_copy(update=update)


_RECORDS: dict[str, type[BaseModel]] = {
    "at the top": Spec,
    "of [campaign]": CampaignSpec,
    "of [[corpus]]": CorpusSpec,
    "of [[library]]": LibrarySpec,
    "of known in [[library]]": KnownFailures,
    "of [[environment]]": EnvironmentSpec,
}
# Each key, and the tables that have it.
_KEYS: dict[str, list[str]] = {}
for _table, _record in _RECORDS.items():
    for _name, _field in _record.model_fields.items():
        _KEYS.setdefault(_field.alias or _name, []).append(_table)


# -- what is wrong with a spec, in words of TOML ---------------------------------------------------

# What is written in brackets, where a table of a list is wanted.
_TABLES = ("corpus", "library", "environment")
_KNOWN = '{ tests = ["*::test_name"], why = "..." }'


def said(error: ValidationError, keys: Mapping[str, Sequence[str]]) -> str:
    """Say where a spec is wrong and how, one part for each place.

    `keys` has the keys of a spec, each with the tables that have it.

    Example::

        said(error, keys) == "campaign timeout: write a number, without quotes"
    """
    return "; ".join(
        f"{_place(each['loc'])}: {_what(each, keys)}" for each in error.errors(include_url=False)
    )


def _place(where: tuple[int | str, ...]) -> str:
    words = [f"{part + 1}" if isinstance(part, int) else part for part in where]
    return " ".join(words) or "the file"


def _what(error: ErrorDetails, keys: Mapping[str, Sequence[str]]) -> str:
    kind, given, where = error["type"], error["input"], error["loc"]
    bounds: Mapping[str, Any] = error.get("ctx", {})
    key = next((part for part in reversed(where) if isinstance(part, str)), "")
    unquoted = ", without quotes" if isinstance(given, str) else ""
    match kind:
        case "extra_forbidden":
            if key in keys:
                return f"it is a key {' and '.join(keys[key])}"
            return f"there is no such key{close(key, sorted(keys))}"
        case "missing":
            return "it is missing"
        case "string_type":
            return "write a text, in quotes" + _as_text(given, '"{}"')
        case "float_type":
            return f"write a number{unquoted}"
        case "int_type":
            return f"write a whole number{unquoted}"
        case "finite_number":
            return "write a finite number"
        case "bool_type":
            return f"write true or false{unquoted}"
        case "literal_error":
            return f"write {bounds['expected']}"
        case "greater_than":
            return f"write a number greater than {bounds['gt']:g}"
        case "greater_than_equal":
            return f"write {bounds['ge']:g} or more"
        case "less_than_equal":
            return f"write {bounds['le']:g} or less"
        case "tuple_type" | "model_type" if key in _TABLES:
            return f"write a table under [[{key}]], in two pairs of brackets"
        case "tuple_type" | "model_type" if key == "known":
            return f"write a list of tables, as [{_KNOWN}]"
        case "tuple_type":
            return "write a list, in brackets" + _as_text(given, '["{}"]')
        case "model_type":
            return f"write a table under [{key}], in one pair of brackets"
    return error["msg"].removeprefix("Value error, ")


def _as_text(given: object, form: str) -> str:
    """Show how a value is written in the right way, where it is one word of TOML.

    A number is no longer as it was written: 0.10 is 0.1 here.
    """
    if isinstance(given, (dict, tuple, float)):
        return ""
    text = str(given).lower() if isinstance(given, bool) else str(given)
    return f", as {form.format(text)}"
