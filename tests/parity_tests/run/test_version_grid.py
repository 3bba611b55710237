"""Saved campaigns become a grid: in the order of versions, each with a label of its own."""

import built_grids as built
import numpy as np
import pytest

from parity_tests.evidence import values
from parity_tests.evidence.saved import Members, Saved, save
from parity_tests.evidence.values import Value
from parity_tests.processes.protocol import Listing
from parity_tests.run import each_version
from parity_tests.run import run as campaign
from parity_tests.run.collection import Collected, Context
from parity_tests.run.each_version import (
    Interpreter,
    RanOn,
    file_of,
    grid_of,
    labels_of,
    run_each,
)
from parity_tests.run.options import CampaignOptions
from parity_tests.targets import TargetError
from reports.rows import OutputLeaf, TimeSamples
from reports.rows.fail_rules import broken_across, parse
from reports.views.grid_cells import lines

OPTIONS = CampaignOptions(sides=built.STOCK)


def campaign_on(jax, value=1.0, *, names=("steady",), outcome="safe", **flip):
    """A campaign whose programs have one output, and its arrays by program."""
    array = Value("", np.float32([value, 2.0]))
    leaf = OutputLeaf(
        path="", shape=(2,), dtype="float32", weak_type=False, sha256=values.digest(array)
    )
    rows = []
    for name in names:
        row = built.program(name, outcome, **flip)
        seen = [o.model_copy(update={"outputs": (leaf,), "tree": "*"}) for o in row.observations]
        rows.append(row.model_copy(update={"observations": tuple(seen)}))
    return built.version(jax, *rows).campaign, array


def save_with(path, result, array):
    """Save a campaign, with one array as the outputs of each side."""
    outputs, jaxpr, members = path.with_suffix(".npz"), path.with_suffix(".txt"), {}
    values.save(outputs, (array,))
    jaxpr.touch()
    for place, row in enumerate(result.programs):
        own = Members(place)
        for each in row.observations:
            members |= {own.outputs(each.side): outputs, own.jaxpr(each.side): jaxpr}
    save(path, result, members)


def saved_on(folder, jax, value=1.0, **changes):
    path = folder / f"{jax}.json"
    save_with(path, *campaign_on(jax, value, **changes))
    return Saved.read(path)


def ran_on(folder, jax, value=1.0, **changes):
    return RanOn(jax, jax, saved_on(folder, jax, value, **changes))


def test_versions_stand_in_the_order_of_their_releases(tmp_path):
    found = [
        ran_on(tmp_path, "0.12.0.1"),
        RanOn("unknown", "", missing="its JAX cannot be asked"),
        ran_on(tmp_path, "0.9.2"),
        ran_on(tmp_path, "0.10.2"),
        RanOn("0.10.2.dev1", "0.10.2.dev1", missing="interrupted"),
    ]
    labels = [each.label for each in grid_of(found).versions]
    assert labels == ["0.9.2", "0.10.2.dev1", "0.10.2", "0.12.0.1", "unknown"]


@pytest.mark.parametrize(
    ("versions", "labels"),
    [
        ([("0.9.2", "3.11.7"), ("0.10.2", "3.11.7")], ["0.9.2", "0.10.2"]),
        (
            [("0.12.0.1", "3.12.1"), ("0.12.0.1", "3.13.0")],
            ["0.12.0.1 py3.12", "0.12.0.1 py3.13"],
        ),
        (
            [("0.10.2", "3.11.7"), ("0.10.2", "3.11.9")],
            ["0.10.2 py3.11 (1)", "0.10.2 py3.11 (2)"],
        ),
        ([("", "3.11.7"), ("", "3.12.1")], ["unknown py3.11", "unknown py3.12"]),
    ],
)
def test_each_environment_has_a_label_of_its_own(versions, labels):
    assert labels_of(versions) == labels


def outcomes(grid):
    return [(e.program, e.side, e.before, e.after, e.outcome) for e in grid.changes]


def test_outputs_are_judged_across_versions(tmp_path):
    grid = grid_of([ran_on(tmp_path, "0.9.2"), ran_on(tmp_path, "0.10.2", 1.5)])
    assert outcomes(grid) == [
        ("steady", side, "0.9.2", "0.10.2", "different") for side in built.STOCK
    ]
    [first, _] = grid.changes
    assert "max abs 0.5" in first.detail


def test_a_program_of_one_version_is_compared_with_none(tmp_path):
    grid = grid_of([ran_on(tmp_path, "0.9.2", names=("old",)), ran_on(tmp_path, "0.10.2")])
    assert grid.changes == ()
    assert [[cell.state for cell in row.cells] for row in grid.programs] == [
        ["judged", "not there"],
        ["not there", "judged"],
    ]


def test_a_program_that_does_not_repeat_itself_on_a_version_is_not_compared(tmp_path):
    fitful = {"outcome": "not repeatable", "what": "its noise has no seed"}
    grid = grid_of([ran_on(tmp_path, "0.9.2", **fitful), ran_on(tmp_path, "0.10.2", 1.5)])
    assert {(each.outcome, each.detail) for each in grid.changes} == {
        ("not compared", "it does not repeat itself: its noise has no seed")
    }


def test_a_campaign_whose_arrays_are_lost_has_its_verdicts_alone(tmp_path):
    lost, _ = campaign_on("0.10.2")
    grid = grid_of([ran_on(tmp_path, "0.9.2"), RanOn("0.10.2", "0.10.2", without_arrays=lost)])
    assert grid.changes == ()
    assert [cell.flip for cell in grid.programs[0].cells] == ["safe", "safe"]


# -- campaigns one after the other -----------------------------------------------------------------


@pytest.fixture
def campaigns(monkeypatch, tmp_path):
    """Campaigns by the name of their interpreter: a saved campaign, or what running one raises."""
    planned, ran = {}, []

    def run(targets, options, **_):
        ran.append(options)
        found = planned[options.python.name]
        if isinstance(found, BaseException):
            raise found
        result, array = campaign_on(*found)
        save_with(options.save, result, array)
        return result

    monkeypatch.setattr(campaign, "run", run)
    assert each_version.campaign is campaign
    return planned, ran


def interpreters(tmp_path, *versions):
    return [Interpreter(tmp_path / version, version, version) for version in versions]


def test_each_version_has_files_and_folders_of_its_own(campaigns, tmp_path):
    planned, ran = campaigns
    planned |= {"0.9.2": ("0.9.2",), "0.10.2": ("0.10.2",)}
    options = OPTIONS.model_copy(update={"save": tmp_path / "A.json", "resume": tmp_path / "kept"})
    run_each([], options, interpreters(tmp_path, "0.9.2", "0.10.2"))
    assert [each.save.name for each in ran] == ["A-0.9.2.json", "A-0.10.2.json"]
    assert [each.resume for each in ran] == [tmp_path / "kept" / v for v in ("0.9.2", "0.10.2")]
    assert Saved.read(tmp_path / "A-0.9.2.json").campaign.environment.jax == "0.9.2"
    assert file_of(tmp_path / "A.json", "0.10.2 py3.11 (2)").name == "A-0.10.2-py3.11-2.json"


def test_targets_that_one_version_cannot_import_leave_it_without_a_campaign(campaigns, tmp_path):
    planned, _ = campaigns
    planned |= {"0.9.2": TargetError("no module named flax"), "0.10.2": ("0.10.2",)}
    found = run_each([], OPTIONS, interpreters(tmp_path, "0.9.2", "0.10.2"))
    assert found.refused == ("no module named flax",)
    assert [each.missing for each in found.grid.versions] == ["no module named flax", ""]


def test_what_is_interrupted_is_not_run_and_what_was_finished_is_there(campaigns, tmp_path):
    planned, ran = campaigns
    planned |= {"0.9.2": ("0.9.2",), "0.10.2": KeyboardInterrupt(), "0.11.2": ("0.11.2",)}
    found = run_each([], OPTIONS, interpreters(tmp_path, "0.9.2", "0.10.2", "0.11.2"))
    assert found.was_interrupted
    assert len(ran) == 2
    assert [each.missing for each in found.grid.versions] == ["", "interrupted", "interrupted"]
    assert found.grid.headline.question == "flip: yes on 0.9.2; not known on 0.10.2 and 0.11.2"


def test_after_the_first_finding_no_other_version_runs(campaigns, tmp_path):
    planned, ran = campaigns
    planned |= {"0.9.2": ("0.9.2",), "0.10.2": ("0.10.2",)}
    found = run_each(
        [], OPTIONS, interpreters(tmp_path, "0.9.2", "0.10.2"), stops_after=lambda row: True
    )
    assert len(ran) == 1
    assert found.grid.versions[1].missing == (
        "the campaign on 0.9.2 stopped at its first finding (-x)"
    )


def test_a_campaign_that_cannot_be_saved_is_told_and_kept(campaigns, tmp_path):
    planned, _ = campaigns
    result, _ = campaign_on("0.9.2")
    planned |= {"0.9.2": campaign.NotSavedError("no room", result), "0.10.2": ("0.10.2",)}
    found = run_each([], OPTIONS, interpreters(tmp_path, "0.9.2", "0.10.2"))
    assert found.not_saved == ("no room",)
    assert [cell.flip for cell in found.grid.programs[0].cells] == ["safe", "safe"]


# -- times from version to version -----------------------------------------------------------------


def timed_on(folder, jax, factor, *, seed):
    """A campaign whose calls take so many times 10 ms on the second side, ten processes each."""
    result, array = campaign_on(jax)
    rng = np.random.default_rng(seed)
    rows = []
    for row in result.programs:
        samples = tuple(
            TimeSamples(
                side=side,
                metric="call",
                seconds=tuple(0.01 * times * np.exp(0.05 * rng.standard_normal(10))),
            )
            for side, times in zip(built.STOCK, (1, factor), strict=True)
        )
        rows.append(row.model_copy(update={"time_samples": samples}))
    path = folder / f"{jax}.json"
    save_with(path, result.model_copy(update={"programs": tuple(rows)}), array)
    return RanOn(jax, jax, Saved.read(path))


def test_times_taken_in_turns_are_judged_and_others_are_not(tmp_path):
    found = [
        timed_on(tmp_path, "0.9.2", 1, seed=1),
        timed_on(tmp_path, "0.10.2", 1.05, seed=2),
        timed_on(tmp_path, "0.11.2", 5, seed=3),
    ]
    grid = grid_of(found, timed_in_turns=True)
    before, after = built.STOCK
    assert [(each.side, each.after, each.outcome, each.news) for each in grid.changes] == [
        (before, "0.10.2", "equal", ""),
        (before, "0.11.2", "equal", ""),
        (after, "0.10.2", "equal", ""),
        (after, "0.11.2", "equal", "slower"),
    ]
    assert "slower: 1 (steady)" in grid.headline.left_alone
    line = lines(grid, grid.programs[0])[2]
    assert [cell.text for cell in line.cells] == ["first", "equal", "slower"]
    assert "call takes " in line.cells[-1].title
    assert [each.programs for each in broken_across(grid, parse("version-change"))] == [("steady",)]
    assert not any(each.is_news or each.times for each in grid_of(found).changes)


def test_times_are_judged_against_the_last_version_that_has_run_the_program(tmp_path):
    found = [
        timed_on(tmp_path, "0.9.2", 1, seed=1),
        ran_on(tmp_path, "0.10.2", names=("another",)),
        timed_on(tmp_path, "0.11.2", 5, seed=3),
    ]
    grid = grid_of(found, timed_in_turns=True)
    assert [(each.before, each.after, each.news) for each in grid.changes] == [
        ("0.9.2", "0.11.2", ""),
        ("0.9.2", "0.11.2", "slower"),
    ]


def test_rounds_of_all_versions_are_taken_in_turns(campaigns, tmp_path, monkeypatch):
    """Each version runs once, then all take turns in its folder: A B B A, and so their sides."""
    planned, ran = campaigns
    planned |= {each: (each,) for each in ("0.9.2", "0.10.2")}
    planned["0.11.2"] = TargetError("no module named flax")
    turns = []

    def prepared(targets, options, folder, progress, announce):
        if isinstance(planned[options.python.name], TargetError):
            raise planned[options.python.name]
        return Context(Collected(Listing()), options, folder)

    def run_once(context):
        turns.append(f"once {context.options.python.name}")
        return context

    def take_turn(jobs, context, turn, side):
        turns.append(f"{turn} {context.options.python.name} {side}")
        assert context.folder.name == context.options.python.name

    monkeypatch.setattr(campaign, "prepared", prepared)
    monkeypatch.setattr(each_version, "run_once", run_once)
    monkeypatch.setattr(each_version, "take_turn", take_turn)
    options = OPTIONS.model_copy(update={"rounds": 1})
    run_each([], options, interpreters(tmp_path, "0.9.2", "0.10.2", "0.11.2"))
    a, b = built.STOCK
    assert turns == [
        *("once 0.9.2", "once 0.10.2"),
        *(f"0 0.9.2 {a}", f"0 0.9.2 {b}", f"0 0.10.2 {a}", f"0 0.10.2 {b}"),
        *(f"1 0.10.2 {b}", f"1 0.10.2 {a}", f"1 0.9.2 {b}", f"1 0.9.2 {a}"),
    ]
    assert [each.resume.name for each in ran] == ["0.9.2", "0.10.2", "0.11.2"]
    turns.clear()
    stops = run_each([], options, interpreters(tmp_path, "0.9.2"), stops_after=lambda row: False)
    assert not turns
    assert stops.grid.versions[0].campaign
