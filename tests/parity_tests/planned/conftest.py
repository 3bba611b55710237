import pytest

from parity_tests.planned import task_process
from parity_tests.planned.plan import PlannedProgram
from parity_tests.planned.spec import CampaignSpec
from parity_tests.planned.tasks import Cutter
from reports.store.plan_records import PlanBegin, PlannedText
from reports.store.plans import opened_plan
from tests.helpers.built_grids import ENVIRONMENT


@pytest.fixture
def marks(monkeypatch, tmp_path):
    """Tasks run in processes of `quick_tasks`, which leave a file here for each program."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setattr(task_process, "ENTRY", "tests.helpers.quick_tasks")
    monkeypatch.setenv("QUICK_TASKS", str(folder))
    return folder


@pytest.fixture
def planned():
    """Make planned programs of some names."""

    def make(names, corpus="models", environment="here"):
        return [
            PlannedProgram(place=place, environment=environment, corpus=corpus, name=name)
            for place, name in enumerate(names)
        ]

    return make


@pytest.fixture
def tasks(planned):
    """Cut programs of some names into tasks of two."""

    def make(names, **changes):
        return Cutter(CampaignSpec(**{"task_size": 2, **changes})).tasks(planned(names))

    return make


@pytest.fixture
def begin(planned):
    """Describe a plan of programs of some names."""

    def make(names, **changes):
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
                PlannedText(each.place, 0, each.name, each.model_dump_json())
                for each in planned(names)
            ],
        }
        return PlanBegin(**{**fields, **changes})

    return make


@pytest.fixture
def writer(begin, tmp_path):
    """Begin a plan of programs of some names in `runs.db`."""

    def make(names, **changes):
        return opened_plan(tmp_path / "runs.db", begin(names, **changes))

    return make
