"""A spec says where it is wrong, and how."""

import pytest

from parity_tests.campaign.spec import CampaignSpec, SpecError, read_spec, target_from_here
from parity_tests.campaign.tasks import ShardError, Task, read_shard
from tests.helpers.quick_campaigns import tasks


def read(tmp_path, text):
    file = tmp_path / "spec.toml"
    file.write_text(text)
    return read_spec(file)


@pytest.mark.parametrize(
    ("size", "sizes"), [(None, [10, 20, 30]), (50, [50, 10]), (25, [25, 25, 10])]
)
def test_the_first_task_is_small_unless_the_spec_names_a_size(size, sizes):
    cut = tasks([f"program {number}" for number in range(60)], task_size=size)
    assert [len(each.programs) for each in cut] == sizes


def test_the_largest_task_has_a_hundred_programs():
    assert {CampaignSpec().size_of_task(number) for number in (4, 5, 10_000)} == {100}


def test_a_spec_is_read(tmp_path):
    spec = read(
        tmp_path,
        """
        [campaign]
        name = "nightly"
        sides = ["jax-legacy", "jax-simplified"]
        [[corpus]]
        name = "models"
        targets = ["models.py"]
        [[corpus]]
        name = "generated"
        generated = 1000
        seed = 7
        [[environment]]
        jax = "0.12.0.1"
        with = ["flax"]
        """,
    )
    assert [each.name for each in spec.corpus] == ["models", "generated"]
    assert spec.environment[0].with_ == ("flax",)
    assert spec.digest == read(tmp_path, (tmp_path / "spec.toml").read_text()).digest


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[campaign", "is no TOML"),
        ("", "a campaign has one [[corpus]] or [[library]] at least"),
        ("[[corpus]]\nname = 'a'\n[[corpus]]\nname = 'a'", "two corpora have the name 'a'"),
        ("[[corpus]]\nname = 'a/b'", "corpus 1 name: a name has no slash"),
        ("[[corpus]]\nname = 'a'\ngenerated = -1", "corpus 1 generated: write 0 or more"),
        ("[[corpus]]\nname = 'a'\ngenerated = 1\ntargets = ['m.py']", "have no targets"),
        ("[[corpus]]\nname = 'a'\ndepth = 1", "depth is of generated programs"),
        ("[[corpus]]\nname = 'a'\ngenerated = 1\ndepth = 4", "corpus 1 depth: write 3 or less"),
        ("[[corpus]]\nname = 'a'\n[campaign]\nsides = ['legacy']", "name two sides or more"),
        (
            "[[corpus]]\nname = 'a'\n[campaign]\nround = 5",
            "campaign round: there is no such key; did you mean rounds?",
        ),
        ("[[corpus]]\nname = 'a'\nsides = ['legacy']", "corpus 1 sides: it is a key of [campaign]"),
        ("[[corpus]]\nname = 'a'\n[[environment]]\nwith = ['flax']", "name jax"),
        (
            "[[corpus]]\nname = 'a'\n[campaign]\nfail_on = 'drift'",
            'write a list, in brackets, as ["drift"]',
        ),
        ("[[corpus]]\nname = 'a'\ngenerated = 0", "it has no programs"),
        ("[[corpus]]\nname = 'a'\ntargets = []", "it has no programs"),
        ("[[corpus]]\nname = 'a'\nseed = 7", "seed is of generated programs"),
        ("[[corpus]]\nname = 'a'\nexpression = 'and or'", "corpus 1 expression: "),
        (
            "[[corpus]]\nname = 'a'\n[[environment]]\njax = '0.12'\n[[environment]]\njax = '0.12'",
            "two [[environment]] are the same",
        ),
        ("[[corpus]]\nname = 'a'\n[campaign]\nfail_on = ['drfit']", "did you mean drift?"),
        ("[[corpus]]\nname = 'a'\n[campaign]\nfail_on = ['version-change']", "of `run --jax`"),
    ],
)
def test_a_wrong_spec_names_the_place_and_what_is_wrong(tmp_path, text, said):
    with pytest.raises(SpecError, match=r"spec\.toml") as raised:
        read(tmp_path, text)
    assert said in str(raised.value)


def test_a_rule_that_is_named_twice_is_one_rule(tmp_path):
    spec = read(tmp_path, "[[corpus]]\nname = 'a'\n[campaign]\nfail_on = ['drift', 'drift']")
    assert spec.campaign.fail_on == ("drift",)


def test_other_rules_are_no_other_campaign(tmp_path):
    text = "[[corpus]]\nname = 'a'\n[campaign]\n"
    plain, held = read(tmp_path, text), read(tmp_path, f"{text}fail_on = ['drift', 'slower:20%']")
    assert [each.text for each in held.campaign.rules] == ["drift", "slower:20%"]
    assert plain.digest == read(tmp_path, f"{text}attempts = 3").digest  # as many as by default
    assert plain.digest == held.digest != read(tmp_path, f"{text}timeout = 7").digest


def test_a_missing_spec_is_named(tmp_path):
    with pytest.raises(SpecError, match=r"cannot read .*No such file.*check the path"):
        read_spec(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[campaign]\ntimeout = '60'", "campaign timeout: write a number, without quotes"),
        ("[campaign]\ntimeout = true", "campaign timeout: write a number"),
        ("[campaign]\ntimeout = inf", "campaign timeout: write a finite number"),
        ("[campaign]\ntimeout = 0", "campaign timeout: write a number greater than 0"),
        ("[campaign]\nrounds = '3'", "campaign rounds: write a whole number, without quotes"),
        ("[campaign]\nrounds = 3.0", "campaign rounds: write a whole number"),
        ("[campaign]\nself_comparison = 'yes'", "write true or false, without quotes"),
        ("[campaign]\nself_comparison = 1", "campaign self_comparison: write true or false"),
        ("[campaign]\nflips = 'all'", "campaign flips: write 'called', 'lowered' or 'first'"),
        ("[campaign]\nproof = 'yes'", "campaign proof: write 'beside' or 'first'"),
        (
            "[campaign]\nproof = 'first'\nsides = ['legacy', 'jax-legacy']",
            'proof = "first" compares jax-legacy with jax-simplified: name both in sides',
        ),
        (
            "[campaign]\nproof = 'first'\nrounds = 5",
            'campaign: proof = "first" leaves out most programs, and rounds take times of all',
        ),
        ("[campaign]\nname = 12", 'campaign name: write a text, in quotes, as "12"'),
        ("[campaign]\nname = 2026-11-24", 'write a text, in quotes, as "2026-11-24"'),
        ("[campaign]\nconstraints = 1", "constraints: write the path of a file, in quotes"),
        ("[[environment]]\njax = 12", 'environment 1 jax: write a text, in quotes, as "12"'),
        ("[[environment]]\nwith = ['a', 1]", "environment 1 with 2: write a text, in quotes"),
        ("[[environment]]\nwith = {a = 1}", "environment 1 with: write a list, in brackets"),
        ("[[campaign]]\n", "campaign: write a table under [campaign], in one pair of brackets"),
        ("[environment]\n", "write a table under [[environment]], in two pairs of brackets"),
        (
            "[[library]]\nname = 'a'\nversion = '1'\nknown = ['b']",
            "library 1 known 1: write a list of tables, as [{ tests = [",
        ),
        ("[[library]]\nname = 'a'", "library 1 version: it is missing"),
    ],
)
def test_a_value_of_another_type_is_refused_in_words_of_toml(tmp_path, text, said):
    with pytest.raises(SpecError) as raised:
        read(tmp_path, f"{text}\n[[corpus]]\nname = 'a'")
    assert said in str(raised.value)
    assert "Input" not in str(raised.value)


def test_a_release_that_was_written_as_a_number_is_not_guessed(tmp_path):
    """TOML reads 0.10 as 0.1, which is another release."""
    with pytest.raises(SpecError, match=r"environment 1 jax: write a text, in quotes$"):
        read(tmp_path, "[[environment]]\njax = 0.10\n[[corpus]]\nname = 'a'")


def test_a_whole_number_is_a_number_and_a_list_is_a_list(tmp_path):
    spec = read(
        tmp_path, "[[corpus]]\nname = 'a'\ntags = ['b']\n[campaign]\ntimeout = 60\nrounds = 3"
    )
    assert (spec.campaign.timeout, spec.campaign.rounds) == (60.0, 3)
    assert spec.corpus[0].tags == ("b",)


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2"])
def test_a_wrong_shard_says_how_one_is_written(text):
    with pytest.raises(ShardError, match="write 3/8"):
        read_shard(text)


def test_paths_of_a_spec_are_relative_to_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs" / "models").mkdir(parents=True)
    folder = tmp_path / "specs"
    assert target_from_here("models.py:step", folder) == "specs/models.py:step"
    assert target_from_here("models", folder) == "specs/models"
    assert target_from_here("package.module:step", folder) == "package.module:step"


def test_a_task_has_programs_of_one_corpus(planned):
    programs = [
        each.model_copy(update={"corpus": corpus})
        for each, corpus in zip(
            planned(["a", "b", "c", "d"]), ("one", "one", "two", "one"), strict=True
        )
    ]
    cut = Task(campaign=CampaignSpec(task_size=9)).cut(programs)
    assert [[each.name for each in task.programs] for task in cut] == [["a", "b"], ["c"], ["d"]]


def test_a_task_is_larger_where_most_of_its_programs_are_not_run():
    sizes = [CampaignSpec(proof="first").size_of_task(each) for each in range(8)]
    assert sizes == [10, 20, 40, 80, 160, 320, 500, 500]
    assert CampaignSpec(proof="first", task_size=7).size_of_task(8) == 7


def test_a_task_runs_its_programs_as_the_spec_says():
    asked = {
        "sides": ("jax-legacy", "jax-simplified"),
        "timeout": 7.0,
        "steady_calls": 3,
        "attribute": False,
        "flips": "lowered",
        "run_again": "unconfirmed",
    }
    spec = CampaignSpec(**asked, memory_limit=5)
    options = Task(campaign=spec).options
    assert {name: getattr(options, name) for name in asked} == asked
    assert options.memory_limit == 5 * 2**20
