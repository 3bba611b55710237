"""Run one task: its first side compared with itself, then its programs compared on all sides."""

from __future__ import annotations

import platform
import resource
import time
from collections.abc import Mapping
from pathlib import Path

from parity_tests.campaign import run as campaign
from parity_tests.fuzz.recipe import Recipe
from parity_tests.judge.refused import is_refused
from parity_tests.planned.against_itself import AgainstItself
from parity_tests.planned.generated import recipe_of, without_file, write_module, write_recipe
from parity_tests.planned.plan import PlannedProgram
from parity_tests.planned.tasks import Task, TaskResult
from parity_tests.processes.protocol import Progress
from parity_tests.processes.refusing_folder import refusals
from parity_tests.processes.staging import staging_seconds
from reports.output import json_file
from reports.rows import Environment, ProgramRow
from reports.store.finished import finished, without_row
from reports.store.plan_records import Finished


def run_task(
    task: Task, folder: Path, *, progress: Progress = lambda done, total, text: None
) -> TaskResult:
    """Run a task; what it had finished in `folder` when it was interrupted is not run again.

    Raises what `campaign.run` raises, and `OSError` where the folder has refused a file: what is
    missing then would pass for what was run.

    Example::

        run_task(task, folder).programs[0].row
    """
    begun, before, staged = time.monotonic(), _processor_seconds(), staging_seconds()
    noted = len(refusals())
    recipes = {
        each.place: recipe_of(each.seed, each.number, each.recipe, each.depth)
        for each in task.programs
        if each.number is not None
    }
    file = folder / "generated.py"
    targets = _targets(task, recipes, file)
    options = task.options.model_copy(update={"resume": folder / "sides"})
    apart = AgainstItself(folder / "again", progress)
    first = apart if task.campaign.self_comparison and not task.rounds else None
    result = campaign.run(list(targets.values()), options, progress=progress, first=first)
    rows = {row.target: row for row in result.programs}
    if refused := refusals()[noted:]:
        raise refused[0]
    return TaskResult(
        key=task.key,
        machine=machine_of(result.environment),
        environment=result.environment,
        programs=tuple(
            _finished(
                task,
                each,
                rows.get(targets[each.place]),
                apart.differing.get(targets[each.place], ""),
                recipes.get(each.place),
                file,
            )
            for each in task.programs
        ),
        seconds=time.monotonic() - begun,
        processor_seconds=_processor_seconds() - before,
        floor_seconds=staging_seconds() - staged,
    )


def machine_of(environment: Environment) -> str:
    """Name the machine that measured: times of two names are not compared.

    Example::

        machine_of(environment) == "node-7, AMD EPYC 7B13, cpu"
    """
    words = (platform.node(), environment.cpu, environment.device_kind)
    return ", ".join(dict.fromkeys(filter(None, words)))


def _targets(task: Task, generated: Mapping[int, Recipe], file: Path) -> dict[int, str]:
    """Return the target of each program by its place; generated ones are written to a module."""
    names = {each.place: each.name.rpartition("/")[2] for each in task.programs}
    if generated:
        write_module({names[place]: recipe for place, recipe in generated.items()}, file)
    return {
        each.place: f"{file}:{names[each.place]}" if each.place in generated else each.target
        for each in task.programs
    }


def _finished(
    task: Task,
    program: PlannedProgram,
    row: ProgramRow | None,
    differs_from_itself: str,
    recipe: Recipe | None,
    file: Path,
) -> Finished:
    rules = task.campaign.rules
    if row is None:
        return without_row(program.place, "its task has no row of it", rules)
    named = row.model_copy(update={"name": program.name})
    rendered = json_file.render_program(named) if recipe is None else without_file(named, file)
    return finished(
        program.place,
        named if recipe is None else json_file.program_of(rendered),
        rules,
        differs_from_itself=differs_from_itself,
        is_refused=recipe is not None and is_refused(row),
        recipe=write_recipe(recipe) if recipe else "",
        rendered=rendered,
    )


def _processor_seconds() -> float:
    """Return what this process and those that it has waited for took of the processors."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)
