"""A campaign goes on with the programs that it planned: later, from elsewhere, in another store."""

import json
import os
from pathlib import Path

import pytest

from parity_tests.campaign import plan
from parity_tests.campaign.campaign import Asked, run_campaign, whole_of
from parity_tests.campaign.generated import read_kept, recipe_of, write_recipe
from parity_tests.campaign.plan import (
    NamedEnvironment,
    Plan,
    PlannedEnvironment,
    PlannedProgram,
)
from parity_tests.campaign.spec import CampaignSpec, CorpusSpec, EnvironmentSpec, Spec
from parity_tests.campaign.tasks import Shard
from parity_tests.processes.protocol import Listed, Listing
from parity_tests.run.collection import Collected
from reports.store.database import StoreError
from reports.store.plan_merge import merge
from reports.store.plan_records import finished
from reports.store.plan_report import list_plans, planned_names
from tests.helpers.built_grids import ENVIRONMENT
from tests.helpers.quick_tasks import result, row

HERE = (NamedEnvironment("here"),)
SEARCH = CorpusSpec(name="search", generated=4, seed=7, kept="kept.json")
MODELS = CorpusSpec(name="models", targets=("models.py",))


@pytest.fixture
def campaign(tmp_path, lists):
    """Run a campaign of some corpora; return its tasks."""

    def run_one(*corpora, store="runs.db", folder=tmp_path, outcome=ran, **changes):
        spec = Spec(campaign=CampaignSpec(task_size=1), corpus=corpora)
        given = []

        def run(tasks):
            for task in tasks:
                given.append(task)
                yield task, outcome(task)

        asked = Asked(spec, folder, tmp_path / store, HERE, **changes)
        run_campaign(asked, lambda folder, campaign, alone: run)
        return given

    return run_one


def ran(task):
    """Make the result of a task, with the recipes of its programs."""

    def kept(each):
        recipe = "" if each.number is None else write_recipe(program_of(each))
        return finished(each.place, row(each.name), recipe=recipe)

    return result(task, kept=kept)


def program_of(planned):
    return recipe_of(planned.seed, planned.number, planned.recipe, planned.depth)


def programs(tasks):
    return [program_of(each) for task in tasks for each in task.programs]


def recipes(tasks):
    return [each.recipe for task in tasks for each in task.programs]


def interrupted(task):
    raise KeyboardInterrupt


@pytest.fixture
def kept(tmp_path, campaign):
    """A file of a search, which a campaign of another store has kept."""
    campaign(SEARCH, store="earlier.db")
    return tmp_path / "kept.json"


def test_a_search_goes_on_with_its_own_programs_whatever_is_kept_since(campaign, kept, monkeypatch):
    before = read_kept(kept)
    own = campaign(SEARCH)
    assert [bool(each) for each in recipes(own)] == [False, True, False, True]
    assert len(read_kept(kept).recipes) > len(before.recipes)
    monkeypatch.delattr(plan, "variation_of")  # nothing varies what is in the store
    assert programs(campaign(SEARCH, retry=("safe",))) == programs(own)
    assert campaign(SEARCH) == []
    kept.unlink()
    assert programs(campaign(SEARCH, retry=("safe",))) == programs(own)


def test_a_search_that_began_without_kept_programs_goes_on_without_them(campaign, kept, tmp_path):
    own = campaign(SEARCH, store="earlier.db", retry=("safe",))
    assert recipes(own) == [""] * 4
    assert len(list_plans(tmp_path / "earlier.db")) == 1


def test_a_search_that_was_interrupted_goes_on_with_its_own_programs(campaign, kept):
    with pytest.raises(KeyboardInterrupt):
        campaign(SEARCH, outcome=interrupted)
    first = kept.read_text()
    campaign(SEARCH.model_copy(update={"seed": 8}), store="other.db")
    assert kept.read_text() != first
    varied = [each for each in recipes(campaign(SEARCH)) if each]
    kept.write_text(first)
    assert varied == [each for each in recipes(campaign(SEARCH, store="again.db")) if each]


def test_a_campaign_anew_goes_on_from_the_newest_programs(campaign, kept):
    own = campaign(SEARCH)
    anew = campaign(SEARCH, anew=True)
    assert programs(anew) != programs(own)
    assert programs(campaign(SEARCH, retry=("safe",))) == programs(anew)


def test_a_part_of_a_search_keeps_nothing_and_the_merged_whole_does(campaign, kept, tmp_path):
    before = kept.read_text()
    stores = [f"{number}.db" for number in (1, 2)]
    for number, store in enumerate(stores, 1):
        campaign(SEARCH, store=store, shard=Shard(number, 2))
    assert kept.read_text() == before
    merge([tmp_path / each for each in stores], tmp_path / "merged.db")
    assert campaign(SEARCH, store="merged.db") == []
    assert len(json.loads(kept.read_text())["recipes"]) > len(json.loads(before)["recipes"])


def test_parts_that_went_on_from_other_kept_programs_are_not_merged(campaign, kept, tmp_path):
    campaign(SEARCH, store="1.db", shard=Shard(1, 2))
    campaign(SEARCH, store="between.db")
    campaign(SEARCH, store="2.db", shard=Shard(2, 2))
    with pytest.raises(StoreError, match="its shard is of another campaign"):
        merge([tmp_path / "1.db", tmp_path / "2.db"], tmp_path / "merged.db")


def test_an_expression_keeps_the_programs_that_it_took(campaign, tmp_path):
    other = SEARCH.model_copy(update={"name": "other", "seed": 8, "kept": "other.json"})
    campaign(SEARCH, other, expression="seed_8_program_2")
    assert read_kept(tmp_path / "other.json").recipes == (recipe_of(8, 2),)
    assert not read_kept(tmp_path / "kept.json").recipes


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Go from the folder of the spec into one below it; return a function that does."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    return lambda: monkeypatch.chdir(tmp_path / "sub")


def test_a_campaign_goes_on_from_another_directory_as_from_its_own(campaign, elsewhere, tmp_path):
    [own, _] = campaign(MODELS, folder=tmp_path.relative_to(tmp_path))
    elsewhere()
    [again, _] = campaign(MODELS, folder=tmp_path / "sub" / "..", retry=("safe",))
    assert again == own
    assert (again.working_directory, again.programs[0].target) == (str(tmp_path), "models.py:step")
    assert os.getcwd() == str(tmp_path / "sub")


def test_a_campaign_whose_directory_is_gone_goes_on_from_here(campaign, elsewhere, tmp_path):
    elsewhere()
    [own, _] = campaign(MODELS)
    assert own.programs[0].target == "../models.py:step"
    os.chdir(tmp_path)
    (tmp_path / "sub").rmdir()
    [again, _] = campaign(MODELS, retry=("safe",))
    assert (again.working_directory, again.programs[0].target) == (str(tmp_path), "models.py:step")


def test_parts_that_began_in_two_directories_are_merged(campaign, elsewhere, tmp_path):
    campaign(MODELS, store="1.db", shard=Shard(1, 2))
    elsewhere()
    campaign(MODELS, store="2.db", shard=Shard(2, 2))
    merge([tmp_path / "1.db", tmp_path / "2.db"], tmp_path / "merged.db")
    assert planned_names(tmp_path / "merged.db", 1, ("safe",)) == [("step", ""), ("loss", "")]


def test_programs_of_one_name_have_the_same_names_from_every_directory(
    campaign, elsewhere, tmp_path, monkeypatch
):
    def collect(targets, folder, limits, select):
        programs = [Listed(name=f"{each}:step", target=f"{each}:step") for each in targets]
        return Collected(Listing(programs=programs, environment=ENVIRONMENT))

    monkeypatch.setattr(plan, "collect", collect)
    elsewhere()
    campaign(MODELS.model_copy(update={"targets": ("models.py", "other.py")}))
    names = planned_names(tmp_path / "runs.db", 1, ("safe",))
    assert [name for name, _ in names] == ["models.py:step", "other.py:step"]


@pytest.mark.parametrize(
    ("change", "is_the_same"),
    [
        ({"source": "elsewhere/models.py:7", "directory": ".."}, True),
        ({"target": "./models.py:step"}, True),
        ({"target": "other.py:step"}, False),
        ({"target": "models.py:loss"}, False),
        ({"digest": "another"}, False),
        ({"name": "another"}, False),
        ({"recipe": "{}"}, False),
    ],
)
def test_programs_are_known_by_what_they_are(change, is_the_same):
    none = Plan(spec=Spec(corpus=(MODELS,)), environments=(), programs=())
    program = PlannedProgram(
        place=0, environment="here", corpus="models", name="step", target="models.py:step"
    )
    own, other = (
        whole_of(none, [each], {"models": Path()})
        for each in (program, program.model_copy(update=change))
    )
    assert (own == other) is is_the_same


@pytest.mark.parametrize(
    ("change", "is_the_same"),
    [
        ({"python": "3.99"}, False),
        ({"jax": "0.99"}, False),
        ({"jaxlib": "0.99"}, False),
        ({"backend": "gpu"}, False),
        ({"constparity": "9.9"}, False),
        ({"cpu": "another", "cpu_count": 99}, True),
    ],
)
def test_versions_and_the_backend_belong_to_programs_and_the_machine_does_not(change, is_the_same):
    def whole(found):
        here = PlannedEnvironment(label="here", spec=EnvironmentSpec(), python=None, found=found)
        planned = Plan(spec=Spec(corpus=(MODELS,)), environments=(here,), programs=())
        return whole_of(planned, [], {})

    assert (whole(ENVIRONMENT) == whole(ENVIRONMENT.model_copy(update=change))) is is_the_same


@pytest.mark.parametrize(
    ("changed", "is_the_same"),
    [
        ("models.py", False), ("helper.py", False), ("beside.py", True),
        ("XLA_FLAGS", False), ("JAX_ENABLE_X64", False), ("CONSTPARITY_TEST", True),
        ("JAX_COMPILATION_CACHE_DIR", True), ("CONSTPARITY_CONSTANT_POLICY", False),
    ],
)  # fmt: skip
def test_files_that_are_imported_and_variables_belong_to_programs(
    tmp_path, monkeypatch, changed, is_the_same
):
    (tmp_path / "models.py").write_text(
        "import helper\nfrom parity_tests import program\n"
        "step = program(args=(1.0,))(helper.step)\n"
    )
    for name in ("helper.py", "beside.py"):
        (tmp_path / name).write_text("def step(x):\n    return x + 1\n")

    def whole():
        found = plan.plan_of(Spec(corpus=(MODELS,)), tmp_path, HERE)
        return whole_of(found, found.programs, {"models": tmp_path})

    before = whole()
    if changed.endswith(".py"):
        with (tmp_path / changed).open("a") as file:
            file.write("# changed\n")
    else:
        monkeypatch.setenv(changed, "1" if changed.startswith("JAX") else "")
    assert (whole() == before) is is_the_same
