"""A plan has the programs of each environment, those included that cannot be run there."""

from pathlib import Path

import pytest

from parity_tests.campaign.campaign import Asked, run_campaign
from parity_tests.campaign.plan import NamedEnvironment, plan_of
from parity_tests.campaign.spec import CorpusSpec, Spec, SpecError
from parity_tests.campaign.tasks import Shard
from parity_tests.targets import MissingModuleError, TargetError
from reports.store.plan_merge import merge
from reports.store.plan_report import plan_report
from tests.helpers.other_python import other_python
from tests.helpers.quick_tasks import result

PROGRAMS = """
import jax.numpy as jnp
import jinja2

from parity_tests.program import program


@program
def step():
    return jnp.sin, (jnp.float32(1.0),)
"""
LOOP = """
from parity_tests.program import program

for n in range(3):

    @program(name=f"step{n}", args=(1.0,))
    def step(x):
        return x
"""
HERE, OTHER = NamedEnvironment("here"), NamedEnvironment("other", python=Path("other/bin/python"))
MODELS = CorpusSpec(name="models", targets=("models.py",))
EMPTY = CorpusSpec(name="empty", targets=("empty.py",))
NO_JINJA = MissingModuleError("importing models.py raised: no jinja2 (models.py:3)", "jinja2")


def test_a_module_that_one_python_lacks_leaves_its_programs_unavailable_there(tmp_path):
    (tmp_path / "models.py").write_text(PROGRAMS)
    python = other_python(tmp_path / "other")
    said = []
    found = plan_of(
        Spec(corpus=(MODELS,)), tmp_path, [NamedEnvironment("other", python=python), HERE],
        say=said.append,
    )  # fmt: skip
    missing, there = found.programs
    assert (missing.environment, missing.unavailable) == (
        "other",
        "no module named 'jinja2': install it there",
    )
    assert (there.environment, there.unavailable) == ("here", "")
    assert (missing.place, missing.name, missing.target) == (0, there.name, there.target)
    assert said[-1] == (
        "corpus 'models' cannot be imported in other: no module named 'jinja2'; its 1 program is "
        "unavailable there until it is installed"
    )
    assert found.environments[0].found.constparity == found.environments[1].found.constparity


def test_a_module_that_every_environment_lacks_is_an_error(tmp_path, lists):
    lists[OTHER.python] = NO_JINJA
    with pytest.raises(SpecError, match=r"corpus 'models' in other: importing .*models\.py:3"):
        plan_of(Spec(corpus=(MODELS,)), tmp_path, [OTHER, OTHER])


def test_what_is_wrong_in_one_environment_alone_is_an_error(tmp_path, lists):
    lists[OTHER.python] = TargetError("importing models.py raised SyntaxError")
    with pytest.raises(SpecError, match=r"corpus 'models' in other: importing .* SyntaxError"):
        plan_of(Spec(corpus=(MODELS,)), tmp_path, [HERE, OTHER])


def test_what_cannot_be_found_again_was_not_compared_and_breaks_the_rule(tmp_path):
    """Another environment cannot have it, so it is not unavailable."""
    (tmp_path / "models.py").write_text(LOOP)
    asked = Asked(Spec(corpus=(MODELS,)), tmp_path, tmp_path / "runs.db", (HERE,))

    def run(tasks):
        return [(each, result(each)) for each in tasks]

    run_campaign(asked, lambda folder, campaign, alone: run)
    report = plan_report(tmp_path / "runs.db")
    assert report.states == {"safe": 1, "could not compare": 2}
    assert [(each.rule, each.programs) for each in report.broken] == [("not-compared", 2)]
    [cause] = report.causes
    assert (cause.programs, cause.symptom.partition(",")[0]) == (
        ("step0", "step1"),
        "it is marked",
    )


def test_a_corpus_that_is_there_is_run_beside_one_that_is_not(tmp_path, lists):
    lists[OTHER.python] = NO_JINJA
    found = plan_of(Spec(corpus=(MODELS, EMPTY)), tmp_path, [HERE, OTHER])
    unavailable = [(each.environment, each.name) for each in found.programs if each.unavailable]
    assert unavailable == [("other", "models/step"), ("other", "models/loss")]
    assert [each.place for each in found.programs] == list(range(8))
    assert [each.found.jax for each in found.environments] == ["0.10.2", "0.12.0.1"]


def test_what_is_unavailable_has_no_tasks_and_is_in_shards_and_the_report(tmp_path, lists):
    lists[OTHER.python] = NO_JINJA
    given = []

    def run(tasks):
        for task in tasks:
            given.extend((each.environment, each.name) for each in task.programs)
            yield task, result(task)

    def campaign(store, shard=None):
        asked = Asked(
            Spec(corpus=(MODELS,)), tmp_path, tmp_path / store, (HERE, OTHER), shard=shard
        )
        run_campaign(asked, lambda folder, campaign, alone: run)
        return tmp_path / store

    report = plan_report(campaign("whole.db"))
    assert given == [("here", "step"), ("here", "loss")]
    assert (report.states, bool(report.finished)) == ({"unavailable": 2, "safe": 2}, True)
    [cause] = report.causes
    assert (cause.state, cause.symptom) == (
        "unavailable",
        "no module named 'jinja2': install it there",
    )
    campaign("whole.db")  # which goes on, and has nothing left
    assert len(given) == 2
    shards = [campaign(f"{number}.db", Shard(number, 2)) for number in (1, 2)]
    merge(shards, tmp_path / "merged.db")
    assert plan_report(tmp_path / "merged.db").states == report.states
