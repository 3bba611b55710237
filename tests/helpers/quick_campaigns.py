"""Campaigns whose tasks are those of `quick_tasks`, described and, as a process, run."""

import sys
from functools import partial
from pathlib import Path

from parity_tests.planned import task_process
from parity_tests.planned.going import go_on
from parity_tests.planned.local import run_here
from parity_tests.planned.plan import PlannedProgram
from parity_tests.planned.spec import CampaignSpec
from parity_tests.planned.tasks import Cutter
from reports.store.plan_records import PlanBegin, PlannedText
from reports.store.plans import opened_plan
from tests.helpers.built_grids import ENVIRONMENT


def planned(names, corpus="models", environment="here"):
    """Make planned programs of some names."""
    return [
        PlannedProgram(place=place, environment=environment, corpus=corpus, name=name)
        for place, name in enumerate(names)
    ]


def tasks(names, **changes):
    """Cut programs of some names into tasks of two."""
    return Cutter(CampaignSpec(**{"task_size": 2, **changes})).tasks(planned(names))


def begin(names, **changes):
    """Describe a plan of programs of some names."""
    fields = {
        "name": "nightly",
        "digest": "d",
        "whole": "w",
        "total": len(names),
        "spec": "{}",
        "sides": ("legacy", "jax-legacy"),
        "environments": (ENVIRONMENT,),
        "settings": {},
        "programs": [
            PlannedText(each.place, 0, each.name, each.model_dump_json()) for each in planned(names)
        ],
    }
    return PlanBegin(**{**fields, **changes})


def main(store, digest, folder, *names):
    task_process.ENTRY = "tests.helpers.quick_tasks"
    with opened_plan(Path(store), begin(names, digest=digest)) as plan:
        go_on(plan, tasks(names), partial(run_here, folder=Path(folder), jobs=2))
        plan.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
