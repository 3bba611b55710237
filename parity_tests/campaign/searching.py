"""What a search leaves: coverage, the programs to go on from, and small programs by cause."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from parity_tests.campaign.generated import keep, read_kept, read_recipe
from parity_tests.campaign.plan import NamedEnvironment, PlannedProgram
from parity_tests.campaign.spec import CampaignSpec, Spec
from parity_tests.campaign.tasks import options_of
from parity_tests.fuzz import campaign as fuzzing
from parity_tests.fuzz import coverage, rendering
from parity_tests.fuzz.recipe import Recipe
from parity_tests.processes.protocol import write
from reports.rows.plan import CauseGroup, PlanReport, State
from reports.store.database import opened_for_writing
from reports.store.plan_report import plan_report, recipes_of
from reports.store.plans import PlanWriter
from reports.store.reading import load_program

_NAME = "program"  # of the smaller program, in the file of its cause
# States whose programs are made smaller; those that are lost are no rows to be like.
_MADE_SMALLER: tuple[State, ...] = (
    "disagree", "breaks", "placed otherwise", "could not compare", "not repeatable"
)  # fmt: skip


def leave(
    writer: PlanWriter, spec: Spec, programs: Sequence[PlannedProgram], folder: Path | None
) -> None:
    """Keep the generated programs of a plan that cover something new, for a search to go on from.

    `folder` is that of the spec; with None no program is kept, and what they cover is counted
    alone. Raises `SpecError` where what was kept before is damaged.

    Example::

        leave(writer, spec, plan.programs, Path("specs"))
    """
    ran = {place: read_recipe(text) for place, text, state in writer.generated()}
    for corpus in spec.corpus:
        if corpus.kept and folder is not None:
            file = folder / corpus.kept
            own = (
                ran[each.place]
                for each in programs
                if each.corpus == corpus.name and each.place in ran
            )
            keep(read_kept(file).with_new(own), file)
    if ran:
        writer.put_coverage(_covered(ran.values()))


def count_coverage(store: Path, plan: int) -> None:
    """Write what the generated programs of a plan cover, as of one that was merged.

    Raises `StoreError`.

    Example::

        count_coverage(Path("all.db"), plan=1)
    """
    if texts := recipes_of(store, plan):
        with opened_for_writing(store) as connection:
            covered = _covered(map(read_recipe, texts.values()))
            PlanWriter(store, connection, plan).put_coverage(covered)


def _covered(recipes: Iterable[Recipe]) -> dict[str, int]:
    found = frozenset[str]().union(*map(coverage.features, recipes))
    return {**coverage.counted(found), "possible transformation": coverage.count_possible()}


def smaller_programs(
    store: Path,
    plan: int,
    campaign: CampaignSpec,
    environments: Sequence[NamedEnvironment],
    *,
    say: Callable[[str], object] = lambda text: None,
) -> Iterator[Path]:
    """Make the example of each cause smaller that is a generated program, and write it to a file.

    It runs in the one of the campaign's `environments` that it was seen in. A cause whose file is
    there is passed over. Raises `StoreError`.

    Example::

        list(smaller_programs(Path("runs.db"), plan, spec.campaign, [NamedEnvironment("here")]))
    """
    report = plan_report(store, plan)
    runs = [each.run for each in report.environments]
    by_run = dict(zip(runs, environments, strict=True))
    with_recipe = recipes_of(store, plan)
    for cause in report.causes:
        file = file_of(store, cause)
        if cause.state not in _MADE_SMALLER or cause.place not in with_recipe or file.exists():
            continue
        say(f"making {cause.example} smaller: {cause.symptom}")
        row = load_program(store, cause.run, cause.place)
        seen_in = by_run[cause.run]
        how = {"steady_calls": 0, "attribute": False}
        options = options_of(campaign, seen_in.python).model_copy(update=how)
        recipe = fuzzing.reduced(read_recipe(with_recipe[cause.place]), row, options)
        file.parent.mkdir(parents=True, exist_ok=True)
        named = row.model_copy(update={"name": _NAME})
        header = fuzzing.header(named, file, seen_in.as_options)
        write(file, rendering.module({_NAME: recipe}, header))
        say(f"kept: {file}")
        yield file


def file_of(store: Path, cause: CauseGroup) -> Path:
    """Return the file that the small program of a cause is written to.

    Example::

        file_of(Path("runs.db"), cause).parent.name == "runs.db.found"
    """
    what = "\n".join((cause.state, cause.symptom, cause.line, cause.equation))
    name = f"cause_{hashlib.sha256(what.encode()).hexdigest()[:12]}.py"
    return store.with_name(f"{store.name}.found") / name


def with_files(report: PlanReport, stores: Sequence[Path]) -> PlanReport:
    """Return a report whose causes name the small programs that were written of them.

    They lie beside the `stores`, the first one first, as beside those of shards.

    Example::

        with_files(plan_report(store), [store]).causes[0].target
    """
    causes = [
        each.model_copy(update={"target": f"{files[0]}:{_NAME}"})
        if (files := [file for store in stores if (file := file_of(store, each)).exists()])
        else each
        for each in report.causes
    ]
    return report.model_copy(update={"causes": tuple(causes)})
