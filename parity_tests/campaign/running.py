"""The process of a task, `python -m parity_tests.campaign.running FOLDER`.

Its first side is compared with itself, then its programs are compared on all sides.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import resource
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from parity_tests.campaign.generated import recipe_of, without_file, write_module, write_recipe
from parity_tests.campaign.plan import PlannedProgram
from parity_tests.campaign.tasks import Task, TaskResult
from parity_tests.evidence.folder_layout import TaskFiles
from parity_tests.fuzz.recipe import Recipe
from parity_tests.judge.proofs import contradiction
from parity_tests.judge.verdict import is_refused
from parity_tests.processes.kept_files import refusals
from parity_tests.processes.protocol import Progress, write
from parity_tests.processes.signs_of_life import signs_told, staging_seconds
from parity_tests.run import run as campaign
from parity_tests.run.proving import prove_first
from parity_tests.run.self_comparison import AgainstItself
from reports.output import json_file
from reports.rows import Environment, ProgramRow
from reports.store.plan_records import PROVED_ONLY, SAMPLED, Finished, finished, without_row

# Of the programs that are proved first, one of so many runs all the same, and one of so many is
# lowered although its jaxpr tells. Their names decide, so every machine draws the same.
RUN_OF, LOWERED_OF = 100, 10


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
    files = TaskFiles(folder)
    targets = _targets(task, recipes, files.generated)
    options = task.options.model_copy(update={"resume": files.sides})
    apart = AgainstItself(files.again)
    first = apart if task.campaign.self_comparison and not task.rounds else None
    proofs = _Proofs()
    if task.campaign.proof == "first":
        proofs = _proved_first(task, targets, files.proofs, progress)
    due = [each for each in targets.values() if each not in proofs.rows or each in proofs.sampled]
    rows, environment = dict(proofs.rows), proofs.environment
    if due or environment is None:
        result = campaign.run(due, options, progress=progress, first=first)
        # Of the sample, what cannot run here has its proof and nothing else.
        rows |= {
            row.target: row
            for row in result.programs
            if not (row.is_not_here and row.target in proofs.rows)
        }
        environment = result.environment
    if refused := refusals()[noted:]:
        raise refused[0]
    return TaskResult(
        key=task.key,
        machine=machine_of(environment),
        environment=environment,
        programs=tuple(
            _finished(
                task,
                each,
                rows.get(targets[each.place]),
                apart.differing.get(targets[each.place], ""),
                proofs.beside(rows.get(targets[each.place])),
                recipes.get(each.place),
                files.generated,
            )
            for each in task.programs
        ),
        seconds=time.monotonic() - begun,
        processor_seconds=_processor_seconds() - before,
        floor_seconds=staging_seconds() - staged,
    )


@dataclass(frozen=True)
class _Proofs:
    """What is proved of the programs of a task, by target, and of which a sample is run.

    `environment` is None where nothing was to be proved first.
    """

    rows: Mapping[str, ProgramRow] = field(default_factory=dict)
    sampled: frozenset[str] = frozenset()
    environment: Environment | None = None

    def beside(self, row: ProgramRow | None) -> str:
        """Return the `proof` of a program, as a store keeps it, whose row this is."""
        if row is None or row.target not in self.rows:
            return ""
        if row.proved_only:
            return PROVED_ONLY
        return contradiction(self.rows[row.target], row) or SAMPLED


def _proved_first(
    task: Task, targets: Mapping[int, str], folder: Path, progress: Progress
) -> _Proofs:
    names = {targets[each.place]: each.name for each in task.programs}

    def step(done: int, total: int, text: str) -> None:
        progress(done, total * 5 // 4, f"proof: {text}")  # the rest is of what has to run

    found = prove_first(
        list(names),
        task.options,
        folder,
        lowers=lambda target: is_drawn("lowered", names[target], LOWERED_OF),
        progress=step,
    )
    sampled = {each for each in found.rows if is_drawn("run", names[each], RUN_OF)}
    return _Proofs(found.rows, frozenset(sampled), found.environment)


def is_drawn(what: str, name: str, one_of: int) -> bool:
    """Say whether a program is in a sample, by its name: the same on every machine.

    Example::

        is_drawn("run", "seed_7_program_12", RUN_OF)
    """
    digest = hashlib.sha256(f"{what} {name}".encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8]) % one_of == 0


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
    proof: str,
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
        proof=proof,
        rendered=rendered,
    )


def _processor_seconds() -> float:
    """Return what this process and those that it has waited for took of the processors."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


_BEAT_SECONDS = 0.25


@dataclass
class Beats:
    """Writes how far a task is with each sign of life, but not often: a task has thousands."""

    file: Path
    _said: str = ""
    _written: float = 0.0

    def step(self, done: int, total: int, text: str) -> None:
        """Take how many steps are done, of all, and what is done now."""
        self._said = f"{done} {total} {text}"
        self.write()

    def write(self) -> None:
        """Write what was taken last."""
        if time.monotonic() - self._written >= _BEAT_SECONDS:
            self._written = time.monotonic()
            self.file.write_text(self._said, "utf-8", "backslashreplace")


def main(folder: str) -> None:
    """Run the task of a folder, and leave its result there."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    files = TaskFiles(Path(folder))
    task = Task.model_validate_json(files.request.read_bytes())
    beats = Beats(files.beat)
    try:
        with signs_told(beats.write):
            result = run_task(task, files.folder, progress=beats.step)
        write(files.result, result.model_dump_json())
    except OSError as error:
        # The disk, and no program: whoever runs the tasks has to stop.
        with contextlib.suppress(OSError):  # the log may be on the disk that is full
            print(error, file=sys.stderr, flush=True)
        os._exit(os.EX_IOERR)


def _end_with_parent() -> None:
    """End this process when the one that started it does: its end of the pipe is closed then."""
    os.read(sys.stdin.fileno(), 1)  # not sys.stdin, whose lock a thread may not hold at the end
    os._exit(os.EX_SOFTWARE)


if __name__ == "__main__":
    main(sys.argv[1])
