"""What a campaign says when it begins, goes on, and times its programs."""

from pathlib import Path

import pytest

from parity_tests.campaign.campaign import Asked, run_campaign
from parity_tests.campaign.plan import NamedEnvironment
from parity_tests.campaign.spec import (
    CampaignSpec,
    CorpusSpec,
    EnvironmentSpec,
    LibrarySpec,
    Spec,
    SpecError,
)
from parity_tests.campaign.task_process import FolderError
from parity_tests.campaign.tasks import Shard, TaskLost
from parity_tests.cli.campaign import _exit_code
from parity_tests.cli.exit_codes import Exit
from reports.documents.plan import causes
from reports.store.plan_records import finished, without_row
from reports.store.plan_report import plan_report, planned_names
from tests.helpers.built_grids import STOCK, program
from tests.helpers.quick_tasks import result, row

pytestmark = pytest.mark.usefixtures("lists")
CORPUS = CorpusSpec(name="models", targets=("models.py",))


def no_rows(task):
    """Make the result of a task of whose programs nothing is known."""
    return result(task, kept=lambda each: without_row(each.place, "it has no row"))


def lost_with_rounds(task):
    """Make the result of a task; one that takes times is lost."""
    return TaskLost(key=task.key, why="killed") if task.rounds else result(task)


def without_times(task):
    """Make the result of a task whose programs have no times, though they were asked for."""
    return result(task, kept=lambda each: finished(each.place, row(each.name)))


@pytest.fixture
def campaign(tmp_path):
    """Run a campaign in `runs.db`; return what it says behind the listing of programs."""

    def run_one(spec=None, outcome=result, corpus=(CORPUS,), library=(), **changes):
        said = []
        asked = Asked(
            Spec(campaign=CampaignSpec(**(spec or {})), corpus=corpus, library=library),
            tmp_path,
            tmp_path / "runs.db",
            **{"environments": (NamedEnvironment("here"),), **changes},
        )
        run_campaign(
            asked,
            lambda folder, campaign, alone: lambda tasks: ((each, outcome(each)) for each in tasks),
            say=lambda text: said.append(text.replace(f"{tmp_path}/", "")),
        )
        return said[1:]

    return run_one


@pytest.fixture
def of_libraries(campaign, suites):
    """Run a campaign of two libraries, the second of which cannot be fetched at first."""
    suites.unfetched.add("second")
    both = tuple(LibrarySpec(name=each, version="1") for each in ("first", "second"))
    return lambda **changes: campaign(corpus=(), library=both, **changes)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"spec": {"timeout": 7.0}}, " (its spec is another than that of campaign 1)"),
        ({"spec": {"name": "other"}}, " (its spec is another than that of campaign 1)"),
        ({"expression": "step or loss"}, " (its -k is another than that of campaign 1)"),
        ({"shard": Shard(1, 1)}, " (its shard is another than that of campaign 1)"),
        ({"anew": True}, ""),
    ],
)
def test_it_says_why_another_campaign_begins(campaign, changes, why):
    assert campaign() == ["campaign 1 in runs.db: 2 programs to run"]
    assert campaign() == ["campaign 1 in runs.db: 0 programs to run"]
    assert campaign(**changes) == [f"campaign 2 in runs.db{why}: 2 programs to run"]
    if not changes.get("anew"):
        assert campaign(**changes) == ["campaign 2 in runs.db: 0 programs to run"]


def test_it_says_what_is_run_again(campaign):
    campaign(expression="step")
    assert campaign(expression="step", retry=("safe",)) == [
        "to run again: 1 program",
        "campaign 1 in runs.db: 1 program to run",
    ]


def test_rounds_are_said_where_there_is_something_to_time(campaign):
    rounds = "3 rounds of times, one task at a time on each machine"
    assert campaign({"rounds": 3})[1:] == [rounds]
    assert campaign({"rounds": 3, "name": "fails"}, no_rows)[1:] == []


@pytest.mark.parametrize("outcome", [lost_with_rounds, without_times])
def test_programs_that_were_to_be_timed_and_have_no_times_are_named(campaign, tmp_path, outcome):
    spec = {"rounds": 3, "fail_on": ("slower:20%",)}
    campaign(spec, outcome)
    report = plan_report(tmp_path / "runs.db")
    assert report.not_timed == ("step", "loss")
    assert (report.states, report.planned, bool(report.finished)) == ({"safe": 2}, 2, True)

    campaign(spec)  # goes on with them
    assert plan_report(tmp_path / "runs.db").not_timed == ()


def test_programs_of_a_campaign_without_rounds_are_not_to_be_timed(campaign, tmp_path):
    campaign()
    assert plan_report(tmp_path / "runs.db").not_timed == ()


def fails_on_a_side(task):
    """Make the result of a task whose programs break, for the flip makes them fail."""

    def kept(each):
        return finished(each.place, program(each.name, "different", fails=STOCK[1:]))

    return result(task, kept=kept)


@pytest.mark.parametrize(
    ("outcome", "state"), [(no_rows, "could not compare"), (fails_on_a_side, "breaks")]
)
def test_a_program_that_has_nothing_to_time_is_not_to_be_timed(campaign, tmp_path, outcome, state):
    said = campaign({"rounds": 3}, outcome)
    report = plan_report(tmp_path / "runs.db")
    assert (report.not_timed, report.states) == ((), {state: 2})
    assert said == ["campaign 1 in runs.db: 2 programs to run"]


def test_a_folder_of_tasks_that_cannot_be_made_is_named_and_its_campaign_goes_on(
    campaign, tmp_path
):
    in_its_place = tmp_path / "runs.db.work"
    in_its_place.write_text("a file")
    with pytest.raises(FolderError, match=r"campaign-1' takes no more files \(Not a directory\)"):
        campaign()
    in_its_place.unlink()
    assert campaign() == ["campaign 1 in runs.db: 2 programs to run"]


def test_examples_are_run_in_the_environment_that_they_were_seen_in(campaign, tmp_path):
    other = EnvironmentSpec(python="other/python")
    campaign(
        {"sides": STOCK}, fails_on_a_side,
        environments=(NamedEnvironment("it", other, Path("other/my python")),),
    )  # fmt: skip
    [cause] = causes(plan_report(tmp_path / "runs.db"))
    facts = {line.strong: line.text for line in cause.parts[0].lines}
    assert facts["Run it:"].endswith("models.py:step --python 'other/my python'")


def test_a_library_that_failed_stays_out_of_its_campaign_and_is_reported(
    of_libraries, suites, tmp_path
):
    store = tmp_path / "runs.db"
    for _ in range(2):
        of_libraries()
        report = plan_report(store)
        assert [each.left_out for each in report.libraries] == [
            "", "it cannot be fetched; check its name"
        ]  # fmt: skip
        assert report.libraries[0].failures == ("t::fails",)
        assert (report.states, bool(report.finished)) == ({"safe": 2}, True)
        assert _exit_code(report) == Exit.COULD_NOT_COMPARE
        suites.unfetched.clear()
    assert suites.started == ["first"]
    found = [name for name, _ in planned_names(store, 1, ["safe"])]
    assert found == ["first/step", "first/loss"]  # as beside another
    of_libraries(anew=True)
    report = plan_report(store)
    assert [each.left_out for each in report.libraries] == ["", ""]
    assert (report.planned, _exit_code(report)) == (4, Exit.PARITY)


def test_an_expression_that_takes_nothing_names_the_libraries_that_are_left_out(of_libraries):
    with pytest.raises(SpecError, match=r"'train'; the libraries that left no programs are second"):
        of_libraries(expression="train")
