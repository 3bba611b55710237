import pytest

from parity_tests.planned import task_process
from reports.store.plans import opened_plan
from tests.helpers import quick_campaigns


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
