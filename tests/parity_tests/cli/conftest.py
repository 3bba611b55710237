import pytest

from parity_tests.cli import last_failed
from parity_tests.processes import early_starts


@pytest.fixture(autouse=True)
def _nothing_is_remembered_in_the_working_directory(monkeypatch, tmp_path):
    monkeypatch.setattr(last_failed, "FOLDER", tmp_path / ".constparity_cache")


@pytest.fixture(autouse=True)
def _campaigns_that_are_made_up_start_no_processes(monkeypatch):
    for name in ("of_campaign", "of_answers"):
        monkeypatch.setattr(early_starts, name, lambda sides: [])
