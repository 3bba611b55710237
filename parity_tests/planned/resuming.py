"""Whether a campaign goes on: the one that a store has begun, and what its programs are known by.

Programs are known by what they are, wherever the command is called and whatever the store is named:
a shard runs in another directory, into another store. Variations of a search are those that the
store has, since the file that they came from grows while the campaign runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from parity_tests.planned.plan import Plan, PlannedProgram
from parity_tests.planned.spec import Spec, target_from
from reports.store.plan_reading import first_program
from reports.store.plan_records import StoredPlan


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
    """Identify all programs and what they are run with, whichever machine runs them.

    Variations have an identity of their own behind it. A campaign that goes on keeps that of
    `last`, its identity when it began. Targets are of the working directory.

    Example::

        whole_of(plan, plan.programs, {"models": Path("specs")})
    """
    what = [
        " ".join((each.label, each.found.python, each.found.jax, each.found.constparity))
        for each in plan.environments
    ]
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
    return known.model_dump_json(exclude={"source", "recipe", "directory"})


def _digest(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
