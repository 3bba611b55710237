"""Campaigns whose tasks are those of `quick_tasks`, described and, as a process, run."""

import sys
from functools import partial
from pathlib import Path

from parity_tests.campaign import task_process
from parity_tests.campaign.cluster import ClusterRunner
from parity_tests.campaign.plan import PlannedProgram
from parity_tests.campaign.scheduling import programs_of, run_tasks
from parity_tests.campaign.spec import CampaignSpec
from parity_tests.campaign.task_process import run_here
from parity_tests.campaign.tasks import Task
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
    return Task(campaign=CampaignSpec(**{"task_size": 2, **changes})).cut(planned(names))


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


def left_of(plan):
    """Cut the programs that a plan has not run into tasks of two."""
    return Task(campaign=CampaignSpec(task_size=2)).cut(programs_of(plan.pending()))


def main(store, digest, where, *names):
    """Run a campaign, or go on with it: `where` is the address of a scheduler, or a folder."""
    task_process.ENTRY = "tests.helpers.quick_tasks"
    here = partial(run_here, folder=Path(where), jobs=2)
    with opened_plan(Path(store), begin(names, digest=digest)) as plan:
        is_cluster = where.startswith("tcp://")
        run_tasks(plan, left_of(plan), ClusterRunner(where, digest) if is_cluster else here)
        plan.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
