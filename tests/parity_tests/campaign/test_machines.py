"""The machine of a run is the one that measured it, also before the run has ended."""

import pytest

from parity_tests.campaign.scheduling import run_tasks
from parity_tests.run.provenance import provenance_of_runs
from reports.store.plan_merge import merge
from reports.store.plan_records import PlannedText
from reports.store.plans import opened_plan
from reports.store.reading import list_runs
from tests.helpers.quick_tasks import result

NAMES = ("first", "second", "third", "fourth", "fifth", "sixth")


def on(*machines):
    """Return what runs a task on each of some machines, in their order."""

    def run(waiting):
        for task, machine in zip(waiting, machines, strict=True):
            yield task, result(task, machine=f"{machine}, a processor")

    return run


@pytest.mark.parametrize(
    ("machines", "name"),
    [
        ((), "client"),  # which is to measure it, as far as anybody knows
        (("client",), "client"),
        (("node 1",), "node 1"),
        (("node 1", "node 1"), "node 1"),
        (("client", "node 1"), "2 machines of run 1"),
        (("node 1", "node 2", "node 1"), "2 machines of run 1"),
    ],
)
def test_a_run_that_goes_on_is_of_the_machines_that_have_measured(
    begin, tasks, tmp_path, machines, name
):
    with opened_plan(tmp_path / "runs.db", begin(NAMES, machine="client")) as plan:
        run_tasks(plan, tasks(NAMES)[: len(machines)], on(*machines))
    [run] = list_runs(plan.path)
    assert (run.machine, run.finished) == (name, "")


def test_what_a_cluster_measured_is_not_compared_as_if_the_client_had(begin, tasks, tmp_path):
    path = tmp_path / "runs.db"
    for machines in (("client",) * 3, ("node 1",)):
        with opened_plan(path, begin(NAMES, machine="client"), anew=True) as plan:
            run_tasks(plan, tasks(NAMES)[: len(machines)], on(*machines))
            plan.finish()
    alike, lines = provenance_of_runs(*list_runs(path))
    assert not alike.machine
    assert "other machines: machine client and node 1" in lines[0]


def test_machines_are_counted_when_the_run_ends(begin, tasks, tmp_path):
    with opened_plan(tmp_path / "runs.db", begin(NAMES, machine="client")) as plan:
        run_tasks(plan, tasks(NAMES), on("node 1", "node 2", "node 3"))
        assert plan.finish()
    assert [each.machine for each in list_runs(plan.path)] == ["3 machines of run 1"]


def test_several_machines_are_of_no_name_that_another_run_has(begin, tasks, tmp_path):
    path = tmp_path / "runs.db"
    for machines in (("node 1",) * 3, ("node 1", "node 2", "node 1")) * 2:
        with opened_plan(path, begin(NAMES), anew=True) as plan:
            run_tasks(plan, tasks(NAMES), on(*machines))
            plan.finish()
    assert [each.machine for each in list_runs(path)] == [
        "node 1",
        "2 machines of run 2",
        "node 1",
        "2 machines of run 4",
    ]


def test_what_is_run_again_elsewhere_is_of_that_machine(begin, tasks, tmp_path):
    with opened_plan(tmp_path / "runs.db", begin(NAMES, machine="client")) as plan:
        run_tasks(plan, tasks(NAMES), on(*["client"] * 3))
        plan.finish()
        plan.run_again(["safe"])
        run_tasks(plan, tasks(NAMES)[:1], on("node 1"))
    assert [each.machine for each in list_runs(plan.path)] == ["node 1"]


def test_shards_of_two_machines_that_have_not_ended_are_of_both(begin, planned, tasks, tmp_path):
    shards = []
    for number, task in enumerate(tasks(NAMES[:2], task_size=1), 1):
        texts = [PlannedText(each.place, 0, each.name, "{}") for each in task.programs]
        machine = f"node {number}"
        described = begin(NAMES[:2], programs=texts, shard=f"{number}/2", machine=machine)
        with opened_plan(tmp_path / f"{number}.db", described) as plan:
            run_tasks(plan, [task], on(machine))
        shards.append(plan.path)
    whole = tmp_path / "whole.db"
    merge(shards, whole)
    [run] = list_runs(whole)
    assert (run.machine, run.finished) == ("2 machines of run 1", "")
