"""The plan of a campaign: every program that it is to run, in every environment, by its place."""

from __future__ import annotations

import importlib.util
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parity_tests.campaign.collection import collect
from parity_tests.campaign.selection import Selection
from parity_tests.planned.generated import name_of, variation_of
from parity_tests.planned.interesting import Interesting, read
from parity_tests.planned.spec import CorpusSpec, EnvironmentSpec, Spec, SpecError, target_from_here
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import Record
from parity_tests.targets import TargetError
from reports.rows import Environment


class PlannedProgram(Record):
    """One program in one environment; `place` is its number in the plan.

    A generated program has a seed and its number in place of a target, and a depth where one was
    asked for; a variation has its `recipe`, as JSON. `unavailable` says why it cannot be run.
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


@dataclass(frozen=True)
class NamedEnvironment:
    """An environment of a spec, and its Python; None is the interpreter of constparity."""

    label: str
    spec: EnvironmentSpec = field(default_factory=EnvironmentSpec)
    python: Path | None = None


class PlannedEnvironment(Record):
    """An environment as a plan has it, with what its Python says of itself."""

    label: str
    spec: EnvironmentSpec
    python: Path | None
    found: Environment


class Plan(Record):
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

    Raises `SpecError` where targets are wrong, or name nothing.

    Example::

        plan_of(read_spec(file), file.parent, [NamedEnvironment("here")]).programs
    """
    found: list[PlannedEnvironment] = []
    programs: list[PlannedProgram] = []
    for each_environment in environments:
        label, python = each_environment.label, each_environment.python
        say(f"listing the programs in {label}")
        environment, listed = _listed(spec, folder, label, python)
        found.append(
            PlannedEnvironment(
                label=label, spec=each_environment.spec, python=python, found=environment
            )
        )
        for each in listed:
            programs.append(each.model_copy(update={"place": len(programs)}))
    return Plan(spec=spec, environments=tuple(found), programs=tuple(programs))


def _listed(
    spec: Spec, folder: Path, label: str, python: Path | None
) -> tuple[Environment, list[PlannedProgram]]:
    environment = None
    programs: list[PlannedProgram] = []
    for corpus in spec.corpus:
        limits = Limits(spec.campaign.timeout, python=python)
        found, listed = _of_corpus(corpus, folder, label, limits)
        if not listed:
            where = "expression and its tags" if corpus.expression or corpus.tags else "targets"
            raise SpecError(f"corpus {corpus.name!r} has no programs in {label}; see its {where}")
        environment = found or environment
        programs += listed
    if environment is None:
        environment = _environment_of(python, spec.campaign.timeout)
    names = Counter(each.name for each in programs)
    several = len(spec.corpus) > 1
    named = [
        each.model_copy(update={"name": f"{each.corpus}/{each.name}"}) if several else each
        for each in programs
    ]
    if twice := [name for name, count in names.items() if count > 1 and not several]:
        raise SpecError(f"corpus {programs[0].corpus!r} has two programs {twice[0]!r}")
    return environment, named


def _of_corpus(
    corpus: CorpusSpec, folder: Path, label: str, limits: Limits
) -> tuple[Environment | None, list[PlannedProgram]]:
    if corpus.generated:
        return None, list(_generated(corpus, label, folder))
    targets = [target_from_here(each, folder) for each in corpus.targets]
    select = Selection(expression=corpus.expression, tags=corpus.tags)
    with tempfile.TemporaryDirectory(prefix="constparity-") as own:
        try:
            collected = collect(targets, Path(own), limits, select)
        except TargetError as error:
            raise SpecError(f"corpus {corpus.name!r} in {label}: {error}") from error
    return collected.environment, [
        PlannedProgram(
            place=0,
            environment=label,
            corpus=corpus.name,
            name=each.name,
            target=each.target,
            source=each.source,
            digest=each.digest,
            summary=each.summary,
            tags=each.tags,
            unavailable=each.unavailable or "",
        )
        for each in collected.programs
    ]


def _generated(corpus: CorpusSpec, label: str, folder: Path) -> Iterator[PlannedProgram]:
    if importlib.util.find_spec("hypothesis") is None:
        raise SpecError(
            f"corpus {corpus.name!r}: generating programs needs hypothesis: install "
            "constparity[fuzz]"
        )
    kept = read(folder / corpus.kept) if corpus.kept else Interesting()
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
