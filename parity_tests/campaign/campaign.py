"""A planned campaign from its spec to its end: planned, begun in a store or resumed, run."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from parity_tests.campaign.libraries import WithLibraries, with_libraries
from parity_tests.campaign.plan import NamedEnvironment, Plan, PlannedProgram, plan_of
from parity_tests.campaign.scheduling import (
    MakesRunner,
    Outcome,
    Runner,
    Tally,
    programs_of,
    run_tasks,
)
from parity_tests.campaign.searching import leave
from parity_tests.campaign.selecting import selected, with_libraries_taken
from parity_tests.campaign.spec import Spec, SpecError, target_from
from parity_tests.campaign.task_process import FolderError
from parity_tests.campaign.tasks import Shard, Task, programs_of_shard
from parity_tests.run.folder import variables_of_figures
from reports.rows.plan import PlanLibrary, State
from reports.store.plan_records import PlanBegin, PlannedText, StoredPlan
from reports.store.plan_report import first_program, list_plans, seconds_by_name
from reports.store.plans import opened_plan
from reports.views.texts import counted


@dataclass(frozen=True)
class Asked:
    """What a user asks of a campaign: its spec in a folder, its store, and what is done again.

    `environments` are those of the spec, each with its Python. `expression`, as
    that of `-k`, is about names of programs, corpora and tags. Of a `shard` its programs alone are
    run; `durations` is a store with an earlier campaign, to balance the shards by. Programs in the
    states `retry` are due once more. At most `jobs` suites of libraries run at once.
    """

    spec: Spec
    folder: Path
    store: Path
    environments: tuple[NamedEnvironment, ...]
    expression: str = ""
    shard: Shard | None = None
    durations: Path | None = None
    anew: bool = False
    retry: tuple[State, ...] = ()
    jobs: int = 1


def run_campaign(
    asked: Asked,
    runner: MakesRunner,
    *,
    say: Callable[[str], None] = lambda text: None,
    on_step: Callable[[Tally], object] = lambda tally: None,
) -> int:
    """Run a campaign, or go on with it, and return the number of its plan in the store.

    Raises `SpecError`, `StoreError` and `FolderError`.

    Example::

        run_campaign(asked, lambda folder, campaign, alone: partial(run_here, folder=folder))
    """
    before = list_plans(asked.store) if asked.store.exists() else []
    found = _planned(asked, before, say)
    begin = _begin(asked, found)
    with opened_plan(asked.store, begin, anew=asked.anew) as writer:
        with _held_folder(asked.store, writer.plan) as folder:
            writer.hold_to(asked.spec.campaign.rules)
            if asked.retry and (again := writer.run_again(asked.retry)):
                say(f"to run again: {counted(again, 'program')}")
            tasks = _tasks(writer.pending(), found)
            left = sum(len(each.programs) for each in tasks)
            is_another = before and found.last is None and not asked.anew
            why = _why_another(before[-1], begin) if is_another else ""
            say(f"campaign {writer.plan} in {asked.store}{why}: {counted(left, 'program')} to run")

            def run(tasks: Sequence[Task], *, alone: bool) -> None:
                made = runner(folder, str(writer.plan), alone=alone)
                run_tasks(writer, tasks, _tidied(made, folder), on_step=on_step)

            run(tasks, alone=False)
            if rounds := asked.spec.campaign.rounds:
                timed = _tasks(writer.untimed(), found, rounds)
                if timed:
                    what = "of times, one task at a time on each machine"
                    say(f"{counted(rounds, 'round')} {what}")
                run(timed, alone=True)
            writer.finish()
            # A shard has a part, and the next one would go on from it.
            leave(writer, found.spec, found.programs, None if asked.shard else asked.folder)
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # another campaign is at work there
            folder.parent.rmdir()
        return writer.plan


def digest_of(spec: Spec, expression: str) -> str:
    """Identify the campaign of a spec and an expression among those of a store.

    Example::

        find_plan(store, digest=digest_of(spec, "")).id
    """
    return hashlib.sha256(f"{spec.digest} {expression}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Planned:
    """The programs of a campaign: all of its spec in a plan, and of these the ones that it takes.

    `spec` has its libraries as corpora, and `libraries` what each came to. Targets are of the
    `directory` that the campaign began in, and `last` is the campaign of the store, where it goes
    on.
    """

    spec: Spec
    plan: Plan
    programs: Sequence[PlannedProgram]
    whole: str
    directory: Path
    last: StoredPlan | None
    libraries: tuple[PlanLibrary, ...]


def _planned(asked: Asked, before: Sequence[StoredPlan], say: Callable[[str], None]) -> _Planned:
    """List the programs of a campaign; `before` are those of its store. Raises `SpecError`."""
    digest = digest_of(asked.spec, asked.expression)
    last = None if asked.anew else last_begun(before, digest, str(asked.shard or ""))
    found = _with_libraries(asked, last, say)
    spec, directory = found.spec, directory_of(last, asked.store, asked.folder)
    folder = asked.folder.absolute()
    with contextlib.chdir(directory):
        listed = without_kept(spec) if last else spec
        plan = plan_of(listed, folder, asked.environments, say=say)
        programs = selected(plan.programs, asked.expression, spec.library)
        homes = homes_of(asked.spec, spec, folder)
        whole = whole_of(plan, programs, homes, last.whole if last else "")
    return _Planned(spec, plan, programs, whole, directory, last, found.libraries)


def _with_libraries(
    asked: Asked, last: StoredPlan | None, say: Callable[[str], None]
) -> WithLibraries:
    """Make corpora of the libraries; a campaign that goes on has those that it had."""
    if not asked.spec.library:
        return WithLibraries(asked.spec, ())
    return with_libraries(
        with_libraries_taken(asked.spec, asked.expression, say),
        asked.store.with_name(f"{asked.store.name}.ecosystem"),
        metadata.version("jax"),
        say,
        jobs=asked.jobs,
        before=last.libraries if last else None,
    )


def _tasks(texts: Sequence[str], found: _Planned, rounds: int = 0) -> list[Task]:
    """Cut programs of a store into tasks; their files are those that were listed."""
    listed = {each.place: each.target for each in found.programs}
    pending = [
        each.model_copy(update={"target": listed[each.place]}) for each in programs_of(texts)
    ]
    return [
        task
        for environment in found.plan.environments
        for task in Task(
            campaign=found.spec.campaign,
            python=environment.python,
            environment=environment.spec,
            working_directory=str(found.directory),
            rounds=rounds,
            jax=environment.found.jax,
            jaxlib=environment.found.jaxlib,
        ).cut([each for each in pending if each.environment == environment.label])
    ]


def _begin(asked: Asked, found: _Planned) -> PlanBegin:
    plan, programs = found.plan, found.programs
    labels = [each.label for each in plan.environments]
    directory = os.path.relpath(found.directory, asked.folder.resolve())
    texts = [
        PlannedText(
            place=each.place,
            environment=labels.index(each.environment),
            name=each.name,
            text=each.model_copy(update={"directory": directory}).model_dump_json(),
            target=each.target,
            unavailable=each.unavailable,
            is_missing=each.is_missing,
        )
        for each in _of_shard(asked, plan, programs)
    ]
    spec = asked.spec
    return PlanBegin(
        name=spec.campaign.name,
        digest=digest_of(spec, asked.expression),
        whole=found.whole,
        total=len(programs),
        spec=spec.model_dump_json(exclude_defaults=True),
        sides=spec.campaign.sides,
        environments=tuple(each.found for each in plan.environments),
        settings={"rounds": str(spec.campaign.rounds)},
        programs=texts,
        machine=platform.node(),
        shard=str(asked.shard or ""),
        rules=spec.campaign.fail_on,
        libraries=found.libraries,
        options=tuple(shlex.join(each.as_options) for each in asked.environments),
    )


def _why_another(last: StoredPlan, begin: PlanBegin) -> str:
    """Say why a campaign begins beside the last one of its store, and does not go on with it."""
    own = "-k" if last.spec == begin.spec else "spec"
    what = "shard" if last.digest == begin.digest else own
    return f" (its {what} is another than that of campaign {last.id})"


def _of_shard(
    asked: Asked, plan: Plan, programs: Sequence[PlannedProgram]
) -> Sequence[PlannedProgram]:
    if not asked.shard:
        return programs
    seconds = seconds_by_name(asked.durations) if asked.durations else {}
    size = plan.spec.campaign.task_size or plan.spec.campaign.largest_task
    return programs_of_shard(programs, size, asked.shard, seconds)


@contextlib.contextmanager
def _held_folder(store: Path, plan: int) -> Iterator[Path]:
    """Hold the folder of a plan on this machine.

    Raises `SpecError` where another one has it, and `FolderError` where it cannot be made.
    """
    folder = store.with_name(f"{store.name}.work") / f"campaign-{plan}"
    with contextlib.ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = held.enter_context(open(folder / "lock", "w"))
        except OSError as error:
            raise FolderError(folder, error.strerror or str(error)) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SpecError(
                f"campaign {plan} of {str(store)!r} is at work in another process; wait for it, or "
                "begin another one with --anew"
            ) from None
        yield folder


def _tidied(runner: Runner, folder: Path) -> Runner:
    """Return a runner that removes what a task wrote, when it is committed."""

    def run(tasks: Iterator[Task]) -> Iterator[Outcome]:
        for task, outcome in runner(tasks):
            yield task, outcome
            shutil.rmtree(folder / task.key, ignore_errors=True)

    return run


# -- whether a campaign goes on --------------------------------------------------------------------
# Programs are known by what they are, wherever the command is called and however the store is
# named: a shard runs in another directory, into another store. Variations of a search are those
# that the store has, since the file that they came from grows while the campaign runs.


def last_begun(plans: Sequence[StoredPlan], digest: str, shard: str) -> StoredPlan | None:
    """Return the last campaign of a spec and a shard, which goes on; None where it begins.

    Example::

        last_begun(list_plans(store), digest_of(spec, ""), "3/8")
    """
    own = [each for each in plans if (each.digest, each.shard) == (digest, shard)]
    return own[-1] if own else None


def directory_of(plan: StoredPlan | None, store: Path, folder: Path) -> Path:
    """Return the directory that a campaign began in; the present one where it is not there.

    `folder` is that of the spec: a checkout may lie elsewhere now.

    Example::

        directory_of(plan, Path("specs/nightly.db"), Path("specs"))
    """
    text = first_program(store, plan.id) if plan else ""
    found = PlannedProgram.model_validate_json(text).directory if text else ""
    directory = (folder.resolve() / found).resolve()
    return directory if found and directory.is_dir() else Path.cwd()


def without_kept(spec: Spec) -> Spec:
    """Return a spec whose generated programs are no variations of programs that were kept.

    Example::

        plan_of(without_kept(spec), folder, environments)
    """
    corpora = (each.model_copy(update={"kept": ""}) for each in spec.corpus)
    return spec.model_copy(update={"corpus": tuple(corpora)})


def homes_of(asked: Spec, spec: Spec, folder: Path) -> dict[str, Path]:
    """Return the folder that the targets of each corpus are known from, by its name.

    It is that of the spec that is `asked` for. The programs of a library, a corpus of `spec`, are
    known from the folder that they were collected in.

    Example::

        homes_of(asked, with_libraries(asked, sources, jax, say), folder)["rlax"]
    """
    collected = {each.name for each in asked.library}
    return {
        each.name: Path(each.targets[0]) if each.name in collected else folder
        for each in spec.corpus
    }


def whole_of(
    plan: Plan, programs: Sequence[PlannedProgram], homes: Mapping[str, Path], last: str = ""
) -> str:
    """Identify all programs and what they are made of and run with, whichever machine runs them.

    Variations have an identity of their own behind it. A campaign that goes on keeps that of
    `last`, its identity when it began. Targets are of the working directory.

    Example::

        whole_of(plan, plan.programs, {"models": Path("specs")})
    """
    what = [
        " ".join((label, each.python, each.jax, each.jaxlib, each.backend, each.constparity))
        for label, each in ((own.label, own.found) for own in plan.environments)
    ]
    what += [file for each in plan.environments for file in each.imported]
    what += [f"{name}={each}" for name, each in sorted(variables_of_figures().items())]
    what += [_identity(each, homes[each.corpus]) for each in programs]
    own = _digest(what)
    if last.partition(" ")[0] == own:
        return last
    recipes = [f"{each.place} {each.recipe}" for each in programs if each.recipe]
    return f"{own} {_digest(recipes)}" if recipes else own


def _identity(program: PlannedProgram, home: Path) -> str:
    """Return the record of a program without what depends on where it is, or on what was kept.

    Its file is known by its digest, and the place in it by the target.
    """
    known = program.model_copy(update={"target": target_from(program.target, home)})
    return known.model_dump_json(exclude={"source", "recipe", "directory", "is_missing"})


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
