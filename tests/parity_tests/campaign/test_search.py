"""A search counts what it covers, keeps what is new and goes on from it; failures get smaller."""

from pathlib import Path

import pytest

from parity_tests.campaign.generated import Interesting, keep, read_kept, read_recipe, write_recipe
from parity_tests.campaign.plan import NamedEnvironment
from parity_tests.campaign.scheduling import run_tasks
from parity_tests.campaign.searching import leave, smaller_programs, with_files
from parity_tests.campaign.spec import CampaignSpec, CorpusSpec, EnvironmentSpec, Spec, SpecError
from parity_tests.fuzz import campaign as fuzzing
from parity_tests.fuzz import coverage
from parity_tests.fuzz.catalogue import OPERATIONS, WITH_BODIES
from parity_tests.fuzz.coverage import is_valid, varied
from parity_tests.fuzz.recipe import Piece, Recipe, RecipeArray
from reports.store.plan_records import finished
from reports.store.plan_report import plan_report
from tests.helpers.built_grids import program
from tests.helpers.quick_tasks import row, run_with

SCALE, COND = OPERATIONS[0], WITH_BODIES[0]


def recipe(*constructs, outside="nothing", **array):
    """Make a program of operations, each with one captured array."""
    pieces = tuple(Piece(each.name, (0,) * each.captured) for each in constructs)
    return Recipe(pieces, (RecipeArray(**array),) * 4, outside=outside)


ONE, OTHER = recipe(OPERATIONS[0]), recipe(OPERATIONS[1], outside="grad")


def test_the_features_of_a_program_are_its_combinations():
    inner = Piece(SCALE.name, (0,) * SCALE.captured)
    bodies = ((inner,),) * COND.bodies
    found = coverage.features(
        Recipe((Piece(COND.name, (0,) * COND.captured, bodies),), (RecipeArray("int8"),) * 4)
    )
    assert f"nesting: {SCALE.name} in {COND.name}" in found
    assert f"transformation: {COND.name} under nothing" in found
    assert coverage.counted(found)["nesting"] == 1
    if SCALE.captured:
        assert f"constant: int8 matrix in jax for {SCALE.name}" in found


def test_a_program_that_covers_nothing_new_is_not_kept(tmp_path):
    found = Interesting().with_new([ONE, ONE, OTHER])
    assert found.recipes == (ONE, OTHER)
    assert found.with_new([ONE]) == found
    keep(found, tmp_path / "kept.json")
    assert read_kept(tmp_path / "kept.json") == found


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"format": 9, "recipes": []}', '{"format": 1, "recipes": [{"pieces": 3}]}',
     '{"format": 1, "recipes": [{"pieces": [{"construct": "__import__"}]}]}'],
)  # fmt: skip
def test_a_damaged_file_of_a_search_is_named(tmp_path, text):
    file = tmp_path / "kept.json"
    file.write_text(text)
    with pytest.raises(SpecError, match=r"kept\.json' has no programs of a search .*remove it"):
        read_kept(file)
    assert file.read_text() == text


def test_variations_are_programs_of_jax_that_cover_something_new():
    kept = Interesting().with_new([ONE, OTHER])
    found = [varied(kept.recipes, kept.covered, 7, number) for number in range(40)]
    assert all(map(is_valid, found))
    assert sum(not coverage.features(each) <= kept.covered for each in found) > 30
    assert found == [varied(kept.recipes, kept.covered, 7, number) for number in range(40)]
    assert all(read_recipe(write_recipe(each)) == each for each in found)


@pytest.fixture
def searched(writer, tasks, planned, tmp_path):
    """A plan of three generated programs, of which two break for one cause."""
    recipes = {"first": ONE, "second": OTHER, "third": OTHER}

    def kept(each):
        found = row(each.name, "safe" if each.name == "first" else "different")
        return finished(each.place, found, recipe=write_recipe(recipes[each.name]))

    spec = Spec(corpus=(CorpusSpec(name="models", generated=3, kept="kept.json"),))
    with writer(list(recipes)) as found:
        run_tasks(found, tasks(list(recipes)), run_with(kept))
        found.finish()
        leave(found, spec, planned(recipes), tmp_path)
    return found


def test_what_a_search_covers_is_in_its_report_and_kept_for_the_next(searched, tmp_path):
    report = plan_report(searched.path)
    assert report.states == {"breaks": 2, "safe": 1}
    assert report.coverage["transformation"] == 2
    assert report.coverage["possible transformation"] == coverage.count_possible()
    assert read_kept(tmp_path / "kept.json").recipes == (ONE, OTHER)


def test_smaller_programs_break_as_the_larger_one_does_though_no_sides_differ():
    def broken(what, kind="placement"):
        outcome = "placed otherwise" if kind == "placement" else "different"
        return fuzzing.signature(program("step", outcome, kind=kind, what=what))

    committed = broken("output committed: False against True")
    assert committed == broken("output committed: True against False")
    safe = fuzzing.signature(program("step", "safe"))
    assert len({committed, broken("output sharding: P against Q"), safe}) == 3
    assert broken("TypeError in x", "failure") == broken("TypeError in y", "failure") != committed


def test_one_program_of_each_cause_is_made_smaller(searched, monkeypatch):
    tried = []
    monkeypatch.setattr(
        fuzzing, "reduced", lambda recipe, row, options: tried.append(options) or ONE
    )
    campaign = CampaignSpec(timeout=7, memory_limit=900)
    there = NamedEnvironment("other", EnvironmentSpec(python="other/python"), Path("other/python"))
    [file] = smaller_programs(searched.path, searched.plan, campaign, [there])
    # It is made smaller as it ran: in the environment that it was seen in, within the same limits.
    [how] = tried
    assert (how.python, how.timeout, how.memory_limit) == (Path("other/python"), 7, 900 * 2**20)
    assert "A generated program, made smaller" in file.read_text()
    report = with_files(plan_report(searched.path), [searched.path])
    assert [(len(each.programs), each.target) for each in report.causes] == [(2, f"{file}:program")]
    assert f"constparity run {file}:program --python other/python" in file.read_text()
    assert "made smaller: different" in file.read_text()
    assert list(smaller_programs(searched.path, searched.plan, campaign, [there])) == []


@pytest.mark.parametrize(
    ("spec", "python", "options"),
    [
        ({}, None, ()),
        ({"python": "bin/python"}, "specs/bin/python", ("--python", "specs/bin/python")),
        ({"jax": "0.12", "with": ["flax"]}, "made/python", ("--jax", "0.12", "--with", "flax")),
    ],
)
def test_a_smaller_program_says_how_it_runs_in_its_environment(spec, python, options):
    environment = EnvironmentSpec.model_validate(spec)
    assert NamedEnvironment("it", environment, python and Path(python)).as_options == options
