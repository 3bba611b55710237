"""The shards of a campaign: divided, balanced, and merged into one store."""

import contextlib
import sqlite3

import pytest

from parity_tests.campaign.scheduling import run_tasks
from parity_tests.campaign.tasks import Shard, programs_of_shard
from reports.rows.plan import PlanLibrary
from reports.store import plans
from reports.store.database import StoreError
from reports.store.plan_merge import merge
from reports.store.plan_records import PlannedText
from reports.store.plan_report import find_plan, list_plans, plan_report, seconds_by_name
from reports.store.plans import opened_plan
from reports.store.reading import list_runs, load_run
from tests.helpers.quick_tasks import run

NAMES = ("first", "second", "third", "fourth", "fifth")


@pytest.fixture
def shard(begin, planned, tasks, tmp_path):
    """Run a shard of a campaign in a store of its own."""

    def run_one(number, of=2, *, store=None, **changes):
        programs = programs_of_shard(planned(NAMES), 2, Shard(number, of), {})
        texts = [PlannedText(each.place, 0, each.name, each.model_dump_json()) for each in programs]
        described = begin(NAMES, programs=texts, shard=f"{number}/{of}", **changes)
        own = {each.place for each in programs}
        with opened_plan(tmp_path / (store or f"{number}.db"), described) as plan:
            run_tasks(
                plan, [t for t in tasks(NAMES, task_size=1) if t.programs[0].place in own], run
            )
            plan.finish()
        return plan.path

    return run_one


def test_shards_have_each_program_once_and_are_balanced_by_seconds(planned):
    programs = planned([f"p{number}" for number in range(1000)])
    seconds = {each.name: 1.0 + (each.place % 7) for each in programs}
    shards = [programs_of_shard(programs, 100, Shard(number, 8), seconds) for number in range(1, 9)]
    assert sorted(each.place for own in shards for each in own) == list(range(1000))
    loads = [sum(seconds[each.name] for each in own) for own in shards]
    assert max(loads) <= 1.05 * min(loads)
    assert shards[2] == programs_of_shard(programs, 100, Shard(3, 8), seconds)


def test_merged_shards_are_the_whole_campaign(shard, tmp_path):
    options = ("--jax 0.12.0.1",)
    parts = [shard(number, options=options) for number in (1, 2)]
    whole = tmp_path / "whole.db"
    merge(parts, whole)
    report = plan_report(whole)
    assert [each.options for each in report.environments] == [*options]
    assert (report.states, report.shard, bool(report.finished)) == ({"safe": 5}, "", True)
    assert [row.name for row in load_run(whole, "last").programs] == list(NAMES)
    assert set(seconds_by_name(whole)) == set(NAMES)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"number": 1}, "shard 1/2 is named twice"),
        ({"digest": "other"}, "its shard is of another campaign"),
        ({"whole": "other"}, "its shard is of another campaign"),
        ({"rules": ("drift",)}, r"its rules are drift, .* give all shards the same fail_on"),
        ({"number": 2, "of": 3}, "it has shard 2/3, and"),
    ],
)
def test_shards_that_do_not_belong_together_are_refused(shard, tmp_path, second, said):
    one = shard(1)
    two = shard(**{"number": 2, "store": "2.db", **second})
    whole = tmp_path / "whole.db"
    with pytest.raises(StoreError, match=said):
        merge([one, two], whole)
    assert not whole.exists()


def test_shards_are_not_merged_into_one_of_them(shard):
    parts = [shard(1), shard(2)]
    with pytest.raises(StoreError, match="it is one of the shards; put them together in another"):
        merge(parts, parts[0])
    assert [each.shard for each in list_plans(parts[0])] == ["1/2"]
    assert find_plan(parts[1], digest="d", shard="2/2").shard == "2/2"
    with pytest.raises(StoreError, match="with shard 1/2"):
        find_plan(parts[1], digest="d", shard="1/2")


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (2, "shard 2 of 2 is missing beside it"),
        (3, "shards 2 and 3 of 3 are missing beside it"),
        (4, "shards 2, 3 and 4 of 4 are missing beside it"),
    ],
)
def test_shards_that_are_missing_are_named(shard, tmp_path, of, said):
    one = shard(1, of)
    with pytest.raises(StoreError, match=f"{said}; name the stores of all shards"):
        merge([one], tmp_path / "whole.db")


def test_shards_that_were_merged_are_not_merged_there_again(shard, tmp_path):
    parts = [shard(1), shard(2)]
    others = [shard(number, store=f"other {number}.db", digest="other") for number in (1, 2)]
    whole = tmp_path / "whole.db"
    merge(others, whole)
    assert merge(parts, whole) == 2
    with pytest.raises(StoreError, match="has this campaign already, as campaign 2; put the shard"):
        merge(parts, whole)
    assert [each.digest for each in list_plans(whole)] == ["other", "d"]


def test_shards_of_the_next_night_are_merged_beside_those_of_the_last(shard, tmp_path, monkeypatch):
    for night in (1, 2):
        monkeypatch.setattr(plans, "now", lambda night=night: f"2026-11-0{night}T03:00:00+00:00")
        parts = [shard(number, store=f"{night}-{number}.db") for number in (1, 2)]
        assert merge(parts, tmp_path / "whole.db") == night


def test_a_merged_campaign_ended_with_the_last_of_its_shards(shard, tmp_path, monkeypatch):
    ends = {1: "2026-11-24T12:00:00+00:00", 2: "2026-11-24T10:00:00+00:00"}
    parts = []
    for number, end in ends.items():
        monkeypatch.setattr(plans, "now", lambda end=end: end)
        parts.append(shard(number))
    monkeypatch.setattr(plans, "now", lambda: "2026-11-25T00:00:00+00:00")
    whole = tmp_path / "whole.db"
    merge(parts, whole)
    assert plan_report(whole).finished == list_runs(whole)[0].finished == ends[1]


@pytest.mark.parametrize("is_interrupted", [True, False])
def test_a_shard_that_was_interrupted_before_its_times_leaves_the_whole_open(
    shard, tmp_path, is_interrupted
):
    parts = [shard(number, settings={"rounds": "5"}) for number in (1, 2)]
    if is_interrupted:
        with contextlib.closing(sqlite3.connect(parts[1])) as store, store:
            store.execute("UPDATE plans SET finished = NULL")
    whole = tmp_path / "whole.db"
    merge(parts, whole)
    report = plan_report(whole)
    assert (report.states, report.not_timed) == ({"safe": 5}, NAMES)
    assert bool(report.finished) == bool(list_runs(whole)[0].finished) == (not is_interrupted)


def of_libraries(failures=(), left_out=""):
    library = PlanLibrary(name="rlax", version="1", failures=failures, left_out=left_out)
    return {"libraries": (library,)}


def test_a_merged_campaign_has_the_libraries_of_its_shards(shard, tmp_path):
    failures = {1: ("t::a", "t::b"), 2: ("t::b", "t::c")}
    parts = [shard(number, **of_libraries(tests)) for number, tests in failures.items()]
    merge(parts, tmp_path / "whole.db")
    [library] = plan_report(tmp_path / "whole.db").libraries
    assert (library.name, library.failures) == ("rlax", ("t::a", "t::b", "t::c"))


def test_a_shard_that_leaves_out_a_library_is_no_part_of_one_with_it(shard, tmp_path):
    without = shard(2, whole="other", **of_libraries(left_out="no wheel"))
    parts = [shard(1, **of_libraries()), without]
    with pytest.raises(StoreError, match=r"of another campaign .*; 2\.db leaves out rlax; run the"):
        merge(parts, tmp_path / "whole.db")
