"""What a grid works out: the verdict of each cell, where it first changes, and the headline."""

import built_grids as built
import pytest

from reports.rows.grid_row import grid_rows


@pytest.fixture(scope="module")
def grid():
    return built.rich()


def row(grid, name):
    return next(each for each in grid.programs if each.name == name)


def cells(grid, name):
    return [(cell.version, cell.state, cell.flip) for cell in row(grid, name).cells]


def test_a_program_has_a_cell_for_each_version(grid):
    assert cells(grid, "scan") == [
        ("0.8.3", "judged", "different"),
        ("0.9.2", "not run", None),
        ("0.10.2", "judged", "safe"),
        ("0.11.2", "judged", "safe but slower or larger"),
        ("0.12.0.1", "judged", "numerics drift, explained"),
    ]


def test_a_cell_without_a_verdict_says_why(grid):
    found = [(cell.state, cell.why) for cell in row(grid, "flax_layer").cells]
    assert found == [
        ("not loaded", "its module needs flax"),
        ("not run", "interrupted"),
        ("not there", "the targets name no such program on this version"),
        ("judged", "its noise has no seed"),
        ("not run", "the campaign stopped at its first finding (-x)"),
    ]


def test_the_first_change_has_both_verdicts_and_their_reasons(grid):
    first = row(grid, "scan").first_change
    assert (first.before.version, first.before.flip) == ("0.8.3", "different")
    assert first.before.why == f"fails on jax-simplified: AttributeError: {built.BROKEN}"
    assert (first.after.version, first.after.flip, first.after.why) == ("0.10.2", "safe", "")
    assert first.between == ("0.9.2",)


def test_every_change_is_there_in_order(grid):
    assert [each.after.version for each in row(grid, "scan").changes] == [
        "0.10.2",
        "0.11.2",
        "0.12.0.1",
    ]
    assert row(grid, "steady").changes == ()
    assert row(grid, "steady").first_change is None


def test_failing_by_the_flip_is_told_from_other_results_and_from_failing_before_it(grid):
    scan, hostile, old = (row(grid, name) for name in ("scan", built.HOSTILE, "old_api"))
    assert (scan.cells[0].fails, scan.cells[0].fails_before) == (True, False)
    assert (hostile.cells[0].fails, hostile.cells[0].fails_before) == (False, False)
    assert (old.cells[3].fails, old.cells[3].fails_before) == (False, True)


def test_a_campaign_without_a_flip_has_cells_that_say_so():
    alone = built.program("steady").model_copy(update={"flip": None})
    [found] = grid_rows([built.version("0.10.2", alone)])
    assert [(cell.state, cell.flip) for cell in found.cells] == [("not asked", None)]


def test_the_headline_answers_for_each_version_and_overall(grid):
    headline = grid.headline
    assert headline.flip == "no"
    assert headline.question == (
        "flip: no on 0.8.3; not known on 0.9.2; yes on 0.10.2; not known on 0.11.2 and 0.12.0.1"
    )
    assert [each.flip for each in headline.versions] == [
        "no",
        "not known",
        "yes",
        "not known",
        "not known",  # of a program that it did not come to
    ]
    assert headline.versions[0].counts == {"no": 2, "not known": 1, "yes": 2}
    assert headline.versions[1].first == "nothing was run: interrupted"


def test_versions_in_a_row_with_one_answer_are_told_together():
    safe = [built.version(label, built.program("steady")) for label in built.LABELS]
    assert built.of(*safe).headline.question == "flip: yes on 0.8.3 to 0.12.0.1"
    assert built.of(*safe[:2]).headline.question == "flip: yes on 0.8.3 and 0.9.2"


def test_the_headline_counts_programs_by_the_version_that_first_changes_them(grid):
    assert grid.headline.verdicts == (
        "verdicts: a flip comes to something else for 2 of 3 programs: 1 from 0.10.2 on (scan); "
        "1 from 0.11.2 on (old_api); not on all versions are 3 (old_api, flax_layer, "
        f"{built.HOSTILE})"
    )


def test_the_headline_says_what_versions_change_the_worst_first(grid):
    assert grid.headline.left_alone == (
        "flag left alone: 2 of 3 programs change; new failure: 1 (old_api); different: 1 (scan); "
        "fixed failure: 1 (scan)"
    )


def test_a_grid_on_which_nothing_changes_says_so():
    equal = built.change("steady", "0.10.2", "0.11.2", "equal")
    versions = [built.version(label, built.program("steady")) for label in ("0.10.2", "0.11.2")]
    headline = built.of(*versions, changes=(equal,)).headline
    assert headline.verdicts == "verdicts: a flip comes to the same on all versions (programs: 1)"
    assert headline.left_alone == (
        "flag left alone: every program gives equal or close outputs on all versions, or fails "
        "alike (programs: 1)"
    )


def test_what_one_version_alone_judged_comes_to_the_same_on_none():
    versions = [
        built.version("0.10.2", built.program("step")),
        built.GridVersion(label="0.12.0.1", missing="its module raises"),
    ]
    headline = built.of(*versions).headline
    assert headline.verdicts == "verdicts: no program was judged on two versions"
    assert headline.left_alone == "flag left alone: no side ran on two versions"


def test_the_headline_names_the_versions_that_ran():
    ran = [built.version(label, built.program("step")) for label in ("0.10.2", "0.12.0.1")]
    versions = [ran[0], built.GridVersion(label="0.11.2", missing="interrupted"), ran[1]]
    equal = built.change("step", "0.10.2", "0.12.0.1", "equal")
    headline = built.of(*versions, changes=(equal,)).headline
    assert headline.verdicts == (
        "verdicts: a flip comes to the same on 0.10.2 and 0.12.0.1 (programs: 1)"
    )
    assert headline.left_alone == (
        "flag left alone: every program gives equal or close outputs on 0.10.2 and 0.12.0.1, or "
        "fails alike (programs: 1)"
    )


def test_programs_that_a_version_lacks_are_not_said_to_be_alike_on_all():
    labels, names = ("0.10.2", "0.11.2", "0.12.0.1"), ("old", "step")
    versions = [
        built.version(label, *map(built.program, names[label == labels[2] :])) for label in labels
    ]
    changes = [
        built.change(name, *pair, "equal")
        for name, pair in (("old", labels[:2]), ("step", labels[:2]), ("step", labels[1:]))
    ]
    headline = built.of(*versions, changes=changes).headline
    assert headline.verdicts.endswith("; not on all versions are 1 (old)")
    assert "close outputs on the versions that ran it, or" in headline.left_alone


def test_a_program_that_could_not_be_compared_is_not_said_to_change():
    labels = ("0.10.2", "0.12.0.1")
    versions = [built.version(label, built.program("random")) for label in labels]
    lost = built.change("random", *labels, "not compared")
    assert built.of(*versions, changes=(lost,)).headline.left_alone == (
        "flag left alone: 0 of 1 programs change; not compared: 1 (random)"
    )


def test_a_grid_of_one_side_asks_for_no_flip():
    alone = built.program("steady").model_copy(update={"flip": None})
    headline = built.of(built.version("0.10.2", alone)).headline
    assert headline.flip is None
    assert headline.question == "flip: not asked on 0.10.2"
    assert headline.verdicts == "verdicts: no two sides across the flip were compared"
    assert headline.left_alone == "flag left alone: no side ran on two versions"
