import pytest

from parity_tests.cli import last_failed


@pytest.fixture(autouse=True)
def _nothing_is_remembered_in_the_working_directory(monkeypatch, tmp_path):
    monkeypatch.setattr(last_failed, "FOLDER", tmp_path / ".constparity_cache")
