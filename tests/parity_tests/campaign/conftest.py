from pathlib import Path

import pytest

from parity_tests.campaign import plan, task_process
from parity_tests.processes.protocol import Listed, Listing
from parity_tests.run.collection import Collected
from reports.store.plans import opened_plan
from tests.helpers import quick_campaigns, quick_suites
from tests.helpers.built_grids import ENVIRONMENT
from tests.helpers.clusters import Cluster


@pytest.fixture
def marks(monkeypatch, tmp_path):
    """Tasks run in processes of `quick_tasks`, which leave a file here for each program."""
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setattr(task_process, "ENTRY", "tests.helpers.quick_tasks")
    monkeypatch.setenv("QUICK_TASKS", str(folder))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))  # of `quick_tasks`
    return folder


@pytest.fixture
def lists(monkeypatch):
    """Every corpus has two programs, wherever it is listed; return what to raise, by the Python."""
    raises = {}

    def collect(targets, folder, limits, select):
        if limits.python in raises and "models.py" in targets[0]:
            raise raises[limits.python]
        environment = ENVIRONMENT.model_copy(update={"jax": "0.12.0.1"} if limits.python else {})
        programs = [Listed(name=each, target=f"{targets[0]}:{each}") for each in ("step", "loss")]
        return Collected(Listing(programs=programs, environment=environment))

    monkeypatch.setattr(plan, "collect", collect)
    monkeypatch.setattr(plan, "_environment_of", lambda python, timeout: ENVIRONMENT)
    return raises


@pytest.fixture
def suites(monkeypatch):
    """Suites of libraries are lines of a shell, `lines` by the name of the library."""
    return quick_suites.planted(monkeypatch)


@pytest.fixture
def planned():
    """Make planned programs of some names."""
    return quick_campaigns.planned


@pytest.fixture
def tasks():
    """Cut programs of some names into tasks of two."""
    return quick_campaigns.tasks


@pytest.fixture
def begin():
    """Describe a plan of programs of some names."""
    return quick_campaigns.begin


@pytest.fixture
def writer(begin, tmp_path):
    """Begin a plan of programs of some names in `runs.db`."""

    def make(names, **changes):
        return opened_plan(tmp_path / "runs.db", begin(names, **changes))

    return make


@pytest.fixture
def cluster(tmp_path, marks, monkeypatch):
    """A cluster whose workers the test starts; who is gone is seen soon."""
    monkeypatch.setattr("parity_tests.campaign.cluster._LOOK_SECONDS", 0.2)
    found = Cluster(tmp_path)
    found.start_scheduler()
    yield found
    found.stop()
