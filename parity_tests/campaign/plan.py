"""The plan of a campaign: every program that it is to run, in every environment, by its place."""

from __future__ import annotations

import importlib.util
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parity_tests.campaign.generated import Interesting, name_of, read_kept, variation_of
from parity_tests.campaign.spec import (
    CorpusSpec,
    EnvironmentSpec,
    Spec,
    SpecError,
    target_from,
    target_from_here,
)
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import Listed
from parity_tests.run.collection import collect
from parity_tests.run.selection import Selection
from parity_tests.targets import MissingModuleError, TargetError
from reports.rows import Environment, Row
from reports.views.texts import counted


class PlannedProgram(Row):
    """One program in one environment; `place` is its number in the plan.

    A generated program has a seed and its number in place of a target, and a depth where one was
    asked for; a variation has its `recipe`, as JSON. `unavailable` says why it cannot be run, and
    `is_missing` whether because a module is not installed. In a store it has the `directory` that
    its target is of, from the folder of the spec.
    """

    place: int
    environment: str
    corpus: str
    name: str
    target: str = ""
    seed: int = 0
    number: int | None = None
    depth: int | None = None
    recipe: str = ""
    source: str = ""
    digest: str = ""  # of the file that it is written in
    summary: str = ""
    tags: tuple[str, ...] = ()
    unavailable: str = ""
    is_missing: bool = False
    directory: str = ""


@dataclass(frozen=True)
class NamedEnvironment:
    """An environment of a spec, and its Python; None is the interpreter of constparity."""

    label: str
    spec: EnvironmentSpec = field(default_factory=EnvironmentSpec)
    python: Path | None = None

    @property
    def as_options(self) -> tuple[str, ...]:
        """The options of `constparity run` that run a program in it; none for constparity's own."""
        if not self.spec.jax:
            return ("--python", str(self.python)) if self.python else ()
        constraints = [f"-c {self.spec.constraints.file}"] if self.spec.constraints else []
        packages = [word for each in (*self.spec.with_, *constraints) for word in ("--with", each)]
        return "--jax", self.spec.jax, *packages


class PlannedEnvironment(Row):
    """An environment as a plan has it, with what its Python says of itself.

    `imported` are the digests of the user's files that its programs are made of, in order.
    """

    label: str
    spec: EnvironmentSpec
    python: Path | None
    found: Environment
    imported: tuple[str, ...] = ()


class Plan(Row):
    """All of it. Names are unique in an environment."""

    spec: Spec
    environments: tuple[PlannedEnvironment, ...]
    programs: tuple[PlannedProgram, ...]


def plan_of(
    spec: Spec,
    folder: Path,
    environments: Sequence[NamedEnvironment],
    *,
    say: Callable[[str], object] = lambda text: None,
) -> Plan:
    """List the programs of a spec that is in `folder`, in each of its environments.

    A corpus that one environment cannot import, for a module is not installed there, has the
    programs there that another one lists, and they are unavailable. Raises `SpecError` where
    targets are wrong, or name nothing, or where no environment can import a corpus.

    Example::

        plan_of(read_spec(file), file.parent, [NamedEnvironment("here")]).programs
    """
    corpora: list[list[_Listed]] = []  # of each environment
    for environment in environments:
        where = environment.label if environment.python else "this environment"
        say(f"listing the programs of {where}")
        corpora.append([_listed(spec, each, folder, environment) for each in spec.corpus])
    everywhere = [each for own in corpora for each in own]

    found: list[PlannedEnvironment] = []
    programs: list[PlannedProgram] = []
    for environment, listed in zip(environments, corpora, strict=True):
        label, python = environment.label, environment.python
        own = [_with_unavailable(each, everywhere, say) for each in listed]
        known = [each.environment for each in own if each.environment]
        found.append(
            PlannedEnvironment(
                label=label,
                spec=environment.spec,
                python=python,
                found=known[-1] if known else _environment_of(python, spec.campaign.timeout),
                imported=tuple(sorted({file for each in own for file in each.imported})),
            )
        )
        for each in _named([program for corpus in own for program in corpus.programs], spec):
            programs.append(each.model_copy(update={"place": len(programs)}))
    return Plan(spec=spec, environments=tuple(found), programs=tuple(programs))


@dataclass(frozen=True)
class _Listed:
    """A corpus as an environment lists it; `missing` says why it cannot be imported there."""

    corpus: str
    label: str
    programs: Sequence[PlannedProgram] = ()
    environment: Environment | None = None  # None where no module had to be imported
    imported: Sequence[str] = ()
    missing: MissingModuleError | None = None


def _listed(spec: Spec, corpus: CorpusSpec, folder: Path, environment: NamedEnvironment) -> _Listed:
    label = environment.label
    limits = Limits(spec.campaign.timeout, python=environment.python)
    try:
        found = _of_corpus(corpus, folder, label, limits)
    except MissingModuleError as error:
        return _Listed(corpus.name, label, missing=error)
    except TargetError as error:
        raise SpecError(f"corpus {corpus.name!r} in {label}: {error}") from error
    if not found.programs:
        where = "expression and its tags" if corpus.expression or corpus.tags else "targets"
        raise SpecError(f"corpus {corpus.name!r} has no programs in {label}; see its {where}")
    return found


def _with_unavailable(
    listed: _Listed, others: Sequence[_Listed], say: Callable[[str], object]
) -> _Listed:
    """Give a corpus that an environment cannot import the programs that another one lists.

    The reason names the module alone, and no path: the plan is one on all machines.
    """
    missing = listed.missing
    if missing is None:
        return listed
    elsewhere = [each for each in others if each.corpus == listed.corpus and each.programs]
    if not elsewhere:
        raise SpecError(f"corpus {listed.corpus!r} in {listed.label}: {missing}") from missing
    programs = elsewhere[0].programs
    what = f"no module named {missing.module!r}"
    are = "is" if len(programs) == 1 else "are"
    say(
        f"corpus {listed.corpus!r} cannot be imported in {listed.label}: {what}; its "
        f"{counted(len(programs), 'program')} {are} unavailable there until it is installed"
    )
    why = f"{what}: install it there"
    update = {"environment": listed.label, "unavailable": why, "is_missing": True}
    return replace(listed, programs=[each.model_copy(update=update) for each in programs])


def _named(programs: Sequence[PlannedProgram], spec: Spec) -> list[PlannedProgram]:
    """Name the programs of an environment, with their corpus where there are several.

    A library that was left out counts, or names would be others once it is there.
    """
    if len(spec.corpus) + len(spec.library) > 1:
        return [each.model_copy(update={"name": f"{each.corpus}/{each.name}"}) for each in programs]
    names = Counter(each.name for each in programs)
    if twice := [name for name, count in names.items() if count > 1]:
        raise SpecError(f"corpus {programs[0].corpus!r} has two programs {twice[0]!r}")
    return list(programs)


def _of_corpus(corpus: CorpusSpec, folder: Path, label: str, limits: Limits) -> _Listed:
    """List a corpus. Raises `TargetError`."""
    if corpus.generated:
        return _Listed(corpus.name, label, list(_generated(corpus, label, folder)))
    targets = [target_from_here(each, folder) for each in corpus.targets]
    select = Selection(expression=corpus.expression, tags=corpus.tags)
    with tempfile.TemporaryDirectory(prefix="constparity-") as own:
        collected = collect(targets, Path(own), limits, select)
    programs = [
        PlannedProgram(
            place=0,
            environment=label,
            corpus=corpus.name,
            name=_own_name(each, folder),
            target=each.target,
            source=each.source,
            digest=each.digest,
            summary=each.summary,
            tags=each.tags,
            unavailable=each.unavailable or "",
            is_missing=each.is_missing,
        )
        for each in collected.programs
    ]
    imported = [*collected.listing.imported.values()]
    return _Listed(corpus.name, label, programs, collected.environment, imported)


def _own_name(program: Listed, folder: Path) -> str:
    """Return the name of a program: its target, where another one has its name, is of the spec."""
    target = program.target
    return target_from(target, folder) if program.name == target else program.name


def _generated(corpus: CorpusSpec, label: str, folder: Path) -> Iterator[PlannedProgram]:
    if importlib.util.find_spec("hypothesis") is None:
        raise SpecError(
            f"corpus {corpus.name!r}: generating programs needs hypothesis: install "
            "constparity[fuzz]"
        )
    kept = read_kept(folder / corpus.kept) if corpus.kept else Interesting()
    for number in range(corpus.generated):
        # Others are drawn as if nothing had been kept, or the search would stay where it began.
        is_varied = kept.recipes and number % 2
        recipe = variation_of(kept, corpus.seed, number) if is_varied else ""
        yield PlannedProgram(
            place=0,
            environment=label,
            corpus=corpus.name,
            name=name_of(corpus.seed, number, corpus.depth),
            seed=corpus.seed,
            number=number,
            depth=corpus.depth,
            recipe=recipe,
        )


def _environment_of(python: Path | None, timeout: float) -> Environment:
    """Ask an interpreter what it measures with; listing a module without programs tells it."""
    with tempfile.TemporaryDirectory(prefix="constparity-") as own:
        empty = Path(own) / "no_programs.py"
        empty.write_text("")
        return collect([str(empty)], Path(own), Limits(timeout, python=python)).environment
